import type { Harness } from '@toolscript/core';
import { describe, expect, it } from 'vitest';
import { attachedHarness, hostileServer, openServers } from './support/open.js';
import { referenceServer } from './support/reference-servers.js';

/** The result of a call of each tool if the harness denies every question. */
async function outcomes(configuration: object): Promise<Record<string, string>> {
  const mcp = await openServers({ server: { ...hostileServer('hints'), ...configuration } });
  const harness = attachedHarness(mcp, { approvals: 'deny' });
  const entries = await Promise.all(
    ['reads', 'reads_and_destroys', 'adds', 'destroys', 'good'].map(async (name): Promise<[string, string]> => [
      name,
      await outcome(harness, name),
    ]),
  );
  return Object.fromEntries(entries);
}

async function outcome(harness: Harness, name: string): Promise<string> {
  const { status, error, effect } = await harness.callTool(`mcp.server.${name}`, {});
  return error?.code === 'ToolNotFoundError' ? 'hidden' : `${effect} ${status}`;
}

describe('what a server says of its tools', () => {
  it('decides about effect and approval', async () => {
    expect(await outcomes({})).toEqual({
      reads: 'read completed',
      reads_and_destroys: 'read completed',
      adds: 'write denied',
      destroys: 'external denied',
      good: 'external denied',
    });
  });

  it('decides nothing where its hints are not trusted', async () => {
    expect(new Set(Object.values(await outcomes({ trustAnnotations: false })))).toEqual(new Set(['external denied']));
  });
});

it('results of tools with openWorldHint are untrusted text, and those of other tools are not', async () => {
  const mcp = await openServers({ server: hostileServer('hints') });
  const harness = attachedHarness(mcp, { approvals: 'auto' });
  const read = async (name: string) =>
    (await harness.runScript(`return await tools.mcp.server.${name}({});`)).untrusted === true;
  expect(await read('searches')).toBe(true);
  expect(await read('reads')).toBe(false);
});

describe('the configuration', () => {
  it('allows, asks and blocks by tool, and by * for all others', async () => {
    const tools = { '*': 'block', reads: 'ask', destroys: 'allow', good: 'allow' };
    expect(await outcomes({ tools })).toEqual({
      reads: 'read denied',
      reads_and_destroys: 'hidden',
      adds: 'hidden',
      destroys: 'external completed',
      good: 'external completed',
    });
  });

  it('a rule of the host matches the permission of a tool', async () => {
    const mcp = await openServers({ server: hostileServer('hints') });
    const rules = [{ permission: 'mcp:server.destroys', action: 'approve' as const }];
    const harness = attachedHarness(mcp, { approvals: rules });
    expect(await outcome(harness, 'destroys')).toBe('external completed');
    expect(await outcome(harness, 'good')).toBe('external denied');
  });

  it.each([
    ['where a server has some', { everything: referenceServer('everything') }, {}, 4],
    ['not where none has', { server: hostileServer('hints') }, {}, 0],
    ['not where the host wants none', { everything: referenceServer('everything') }, { resources: false }, 0],
  ])('tools for resources are there %s', async (_where, servers, options, count) => {
    const harness = attachedHarness(await openServers(servers, options));
    expect(harness.tools().filter(({ name }) => /McpResource/u.test(name))).toHaveLength(count);
  });

  it('one harness has the tools of several, and gives them back', async () => {
    const mcp = await openServers({ 'my-server': hostileServer('hints'), my_server: hostileServer('hints') });
    const harness = attachedHarness(mcp);
    const other = attachedHarness(mcp, { expose: { tools: ['mcp.my_server'], mcp: true } });
    const servers = (tools: Harness['tools']) => new Set(tools().map(({ name }) => name.split('.')[1]));
    expect(servers(other.tools)).toEqual(new Set(['my_server']));
    expect(servers(harness.tools).size).toBe(2);
    await mcp.close();
    expect([...harness.tools(), ...other.tools()]).toEqual([]);
  });
});
