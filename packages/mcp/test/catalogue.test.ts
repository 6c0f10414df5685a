import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileCatalogue, memoryTrustStore, type McpEvent } from '#mcp/index.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OlderServer } from './support/http-servers.js';
import { attachedHarness, nextTools, openServers, valueOf } from './support/open.js';

/** A catalogue in a folder of its own, and a server with the tool `first`. */
async function stored() {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-catalogue-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = new OlderServer();
  server.tools.set('first', () => 'one');
  const { url } = await server.listenHttp();
  const catalogue = fileCatalogue(folder);
  const trustStore = memoryTrustStore();
  const open = (more: object = {}) => openServers({ server: { url } }, { catalogue, trustStore, ...more });
  const file = () =>
    join(
      folder,
      readdirSync(folder).find((name) => name.endsWith('.json'))!,
    );
  await (await open()).close();
  await expect.poll(() => readdirSync(folder).length).toBeGreaterThan(0);
  await expect.poll(() => readFileSync(file(), 'utf8')).toContain('first');
  return { server, open, file };
}

describe('a server whose tools are stored', () => {
  it('offers them without a connection, and is connected when one is called', async () => {
    const { server, open } = await stored();
    const connections = server.instances.length;
    const mcp = await open();
    expect(mcp.status()).toMatchObject([{ state: 'idle', tools: ['mcp.server.first'] }]);
    expect(mcp.notices()).toEqual([]);
    expect(server.instances).toHaveLength(connections);
    const harness = attachedHarness(mcp);
    expect(valueOf(await harness.runScript('return tools.mcp.server.first()'))).toBe('one');
    expect(mcp.status()).toMatchObject([{ state: 'connected' }]);
  });

  it('is connected by ready, which corrects what has changed', async () => {
    const { server, open } = await stored();
    server.tools.delete('first');
    const trusting = await open({ onTrust: () => true });
    const harness = attachedHarness(trusting);
    server.tools.set('second', () => 'two');
    const changed = nextTools(harness);
    await trusting.ready(0);
    await changed;
    await expect.poll(() => trusting.status()[0]!.tools).toEqual(['mcp.server.second']);
    expect(valueOf(await harness.runScript('return tools.mcp.server.second()'))).toBe('two');
  });

  it('may have newer tools while it connects, for a client that has found nothing', async () => {
    const { open } = await stored();
    const mcp = await open();
    const ready = mcp.ready(0);
    expect(mcp.notices()).toEqual([]);
    expect(mcp.notices({ nothingFound: true })).toEqual([expect.stringContaining('"server" is still connecting')]);
    await ready;
    await expect.poll(() => mcp.status()[0]!.state).toBe('connected');
    expect(mcp.notices({ nothingFound: true })).toEqual([]);
  });

  it('offers no stored tool that the user has not trusted', async () => {
    const { open, file } = await stored();
    writeFileSync(file(), readFileSync(file(), 'utf8').replace('"first"', '"forged"'));
    const mcp = await open();
    expect(mcp.status()).toMatchObject([{ state: 'idle', tools: [], untrusted: [{ name: 'forged' }] }]);
  });

  it('is started at once if its file is damaged, which is logged', async () => {
    const { open, file } = await stored();
    if (process.platform !== 'win32') expect(statSync(file()).mode & 0o777).toBe(0o600);
    writeFileSync(file(), '{');
    const events: McpEvent[] = [];
    const mcp = await open({ onEvent: (event: McpEvent) => events.push(event) });
    expect(mcp.status()).toMatchObject([{ state: 'connected', tools: ['mcp.server.first'] }]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'log', text: expect.stringContaining(file()) }));
  });
});
