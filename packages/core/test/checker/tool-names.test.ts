import { afterAll, describe, expect, it } from 'vitest';
import { createHarness, defineTool } from '#core/index.js';

const tool = (name: string) =>
  defineTool({
    name,
    description: 'Does it.',
    approval: 'never',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    execute: () => null,
  });

const harness = createHarness({ tools: ['get', 'notes.read', 'notes.write'].map(tool), approvals: 'auto' });
afterAll(() => harness.close());

async function saidOf(source: string): Promise<string> {
  const outcome = await harness.runScript(source, { mode: 'dry-run' });
  const told = outcome.diagnostics.filter(({ code }) => !code.startsWith('repair-'));
  return [outcome.status, ...told.map(({ severity, message }) => `${severity}: ${message}`)].join('\n');
}

describe('the message about a tool that is missing', () => {
  it.each([
    ['await tools.gte({ id: "1" })', "Property 'gte' does not exist on type 'Tools'. Did you mean tools.get?"],
    ['await tools.notes.wirte({ id: "1" })', "Property 'wirte' does not exist on type 'Tools' in tools.notes."],
    ['await tools.gte?.({ id: "1" })', "Property 'gte' does not exist"],
    ['const { gte } = tools', "Property 'gte' does not exist"],
  ])('is shown for an unknown name: %s', async (source, message) => {
    expect(await saidOf(source)).toContain(`failed\nerror: ${message}`);
  });

  it.each([
    ['await tools.get()', 'args.id of tools.get'],
    ['await tools.get?.()', 'args.id of tools.get'],
    ['await tools.get({ id: "1" }, 2)', 'Expected 1 arguments, but got 2.'],
    ['await tools.notes()', 'tools.notes is a namespace, not a tool. It contains tools.notes.read, tools.notes.write.'],
    ['await tools()', 'This expression is not callable.'],
  ])('is shown for nothing else: %s', async (source, message) => {
    const said = await saidOf(source);
    expect(said).toContain(`failed\nerror: ${message}`);
    expect(said).not.toContain('does not exist on');
  });
});

describe('a namespace that is not exposed', () => {
  const ABSENT = 'is not available, because the host does not provide it. Use another tool.';

  it.each(['mcp.github.list({})', 'spawn.exec("get", { id: "1" })', 'http({ url: "x" })'])(
    'is rejected where it is used: tools.%s',
    async (use) => {
      const [name] = use.split(/[.(]/u);
      expect(await saidOf(`await tools.${use}`)).toBe(`failed\nerror: tools.${name} ${ABSENT}`);
    },
  );

  it.each(['const { mcp } = tools;', 'const mcp = tools.mcp;'])('is refused in a variable, too: %s', async (taken) => {
    expect(await saidOf(`${taken} await mcp.github.list({})`)).toBe(`failed\nerror: mcp ${ABSENT}`);
  });

  it.each([
    'const { mcp } = tools; if (mcp) await mcp.github.list({})',
    'const { mcp } = tools; await mcp?.github.list({})',
    'if (tools.mcp) await tools.mcp.github.list({})',
    'await tools.mcp?.github.list({})',
    'await tools.http?.({ url: "x" })',
    'return tools.http === undefined ? "none" : await tools.http({ url: "x" })',
    'return Object.keys(tools.mcp ?? {})',
  ])('may be tested for existence: %s', async (source) => {
    expect(await saidOf(source)).toBe('completed');
  });

  it('is reported if the script catches the failure', async () => {
    const said = await saidOf('try { await tools.mcp.github.list({}) } catch (error) { return "none" }');
    expect(said).toBe(`completed\nwarning: tools.mcp ${ABSENT}`);
  });
});
