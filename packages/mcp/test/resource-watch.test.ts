import { McpServer as NewestServer } from '@modelcontextprotocol/server';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { until } from '@toolscript/testkit/until';
import { listenNewest, OlderServer } from './support/http-servers.js';
import { attachedHarness, failureOf, openServers, valueOf } from './support/open.js';

const URI = 'memo:///one';

/** A server of the older SDK with one resource, which can change. */
class OlderResources extends OlderServer {
  readonly subscribed = new Set<string>();
  text = 'first';

  override make(): Server {
    const capabilities = { tools: {}, resources: { subscribe: true } };
    const server = new Server({ name: 'older', version: '1.0.0' }, { capabilities });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
      contents: [{ uri, text: this.text }],
    }));
    server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
      this.subscribed.add(uri);
      return {};
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      this.subscribed.delete(uri);
      return {};
    });
    this.instances.push(server);
    return server;
  }

  async change(text: string, uri = URI): Promise<void> {
    this.text = text;
    await Promise.all(this.instances.map((server) => server.sendResourceUpdated({ uri })));
  }
}

async function openOlder() {
  const server = new OlderResources();
  const { url, forget } = await server.listenHttp();
  const mcp = await openServers({ memos: { url } });
  return { server, mcp, forget };
}

async function openNewest(subscribe = true) {
  const factory = () => {
    const made = new NewestServer({ name: 'newest', version: '1.0.0' }, { capabilities: { resources: { subscribe } } });
    made.registerResource('one', URI, {}, () => ({ contents: [{ uri: URI, text: 'text' }] }));
    return made;
  };
  const { url, handler } = await listenNewest(factory, { legacy: 'reject' });
  return { handler, mcp: await openServers({ memos: { url } }) };
}

const { signal } = new AbortController();

describe('a resource of a server', () => {
  it('that changes wakes a script that waits for it', async () => {
    const { server, mcp } = await openOlder();
    const harness = attachedHarness(mcp);
    const running = harness.runScript(`
      const memo = { server: 'memos', uri: '${URI}' };
      const first = await tools.watchMcpResource(memo);
      const before = await tools.readMcpResource(memo);
      const { changed } = await tools.watchMcpResource({ ...memo, after: first.version });
      return [before.content, changed, (await tools.readMcpResource(memo)).content];
    `);
    await until(() => server.subscribed.has(URI));
    await server.change('second');
    const value = valueOf(await running) as unknown[];
    expect(value.slice(1)).toEqual([true, 'second']);
  });

  it('that changes between two calls is changed at the second one, once', async () => {
    const { server, mcp } = await openOlder();
    const first = await mcp.watchResource('memos', URI, { signal });
    await server.change('second', `${URI}/part`);
    const second = await mcp.watchResource('memos', URI, { after: first, signal });
    expect(second).not.toBe(first);
    await server.change('other', `${URI}s`);
    const script = `return await tools.watchMcpResource({ server: 'memos', uri: '${URI}', after: ${second}, seconds: 1 })`;
    expect(valueOf(await attachedHarness(mcp).runScript(script))).toMatchObject({ changed: false, version: second });
  });

  it('counts as changed after the connection is lost, and is watched again', async () => {
    const { server, mcp, forget } = await openOlder();
    const first = await mcp.watchResource('memos', URI, { signal });
    server.subscribed.clear();
    const waiting = mcp.watchResource('memos', URI, { after: first, signal });
    forget();
    await attachedHarness(mcp).runScript(`return await tools.readMcpResource({ server: 'memos', uri: '${URI}' })`);
    expect(await waiting).not.toBe(first);
    await mcp.watchResource('memos', URI, { signal });
    expect(server.subscribed).toContain(URI);
  });

  it('is not watched any longer when 100 others are', async () => {
    const { server, mcp } = await openOlder();
    const uris = Array.from({ length: 101 }, (_, index) => `memo:///${index}`);
    for (const uri of uris) await mcp.watchResource('memos', uri, { signal });
    await until(() => server.subscribed.size === 100);
    expect(server.subscribed).not.toContain(uris[0]);
  });

  it('that changes is announced by a server of the newest protocol, with one subscription for all', async () => {
    const { handler, mcp } = await openNewest();
    const first = await mcp.watchResource('memos', URI, { signal });
    const other = await mcp.watchResource('memos', 'memo:///two', { signal });
    handler.notify.resourceUpdated(URI);
    expect(await mcp.watchResource('memos', URI, { after: first, signal })).not.toBe(first);
    const stop = AbortSignal.timeout(100);
    await expect(mcp.watchResource('memos', 'memo:///two', { after: other, signal: stop })).rejects.toThrow();
  });

  it('that its server does not announce is refused with the reason', async () => {
    const { mcp } = await openNewest(false);
    const watch = `return await tools.watchMcpResource({ server: 'memos', uri: '${URI}' })`;
    expect(failureOf(await attachedHarness(mcp).runScript(watch)).message).toContain('does not announce changes');
  });
});

describe('a tool whose arguments cannot be sent as headers', () => {
  const property = (type: string, header: unknown) => ({ type, 'x-mcp-header': header });
  const TOOLS = {
    good: {
      region: property('string', 'Region'),
      nested: { type: 'object', properties: { id: property('integer', 'Id') } },
    },
    named: { 'x-mcp-header': { type: 'string', default: { 'x-mcp-header': '' } } },
    empty: { a: property('string', '') },
    spaced: { a: property('string', 'My Region') },
    on_number: { a: property('number', 'A') },
    on_object: { a: property('object', 'A') },
    twice: { a: property('string', 'Same'), b: property('string', 'same') },
    in_items: { a: { type: 'array', items: property('string', 'A') } },
  };

  it('is left out with the reason, alone', async () => {
    const { url } = await listenNewest(
      () => {
        const made = new NewestServer({ name: 'headers', version: '1.0.0' }, { capabilities: { tools: {} } });
        const tools = Object.entries(TOOLS).map(([name, properties]) => ({
          name,
          inputSchema: { type: 'object' as const, properties },
        }));
        made.server.setRequestHandler('tools/list', () => ({ tools: tools as never }));
        return made;
      },
      { legacy: 'reject' },
    );
    const [status] = (await openServers({ headers: { url } })).status();
    expect(status!.tools).toEqual(['mcp.headers.good', 'mcp.headers.named']);
    expect(Object.fromEntries(status!.skipped.map(({ name, reason }) => [name, reason]))).toMatchObject({
      empty: expect.stringContaining('not the name of a header'),
      spaced: expect.stringContaining('not the name of a header'),
      on_number: expect.stringContaining('not on an argument'),
      on_object: expect.stringContaining('not on an argument'),
      twice: expect.stringContaining('have the same'),
      in_items: expect.stringContaining('not on an argument'),
    });
  });
});
