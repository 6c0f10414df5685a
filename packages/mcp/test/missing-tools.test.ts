import { createHarness, type HarnessOptions } from '@toolscript/core';
import { memoryTrustStore, type McpOptions, type McpServers } from '#mcp/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGateway } from './support/gateway-client.js';
import { listen, OlderServer } from './support/http-servers.js';
import { hostileServer, openServers } from './support/open.js';

const TRUST: McpOptions = { howToTrust: (server) => `toolscript mcp trust ${server}` };
const CONNECTING = 'The MCP server "shop" is still connecting';

interface State {
  readonly name: string;
  open(): Promise<McpServers>;
  /** The tool that is missing, and what a model reads about it. */
  readonly tool: string;
  readonly reason: string;
}

/** A server that never answers. */
const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
const failing = { command: 'no-such-program' };

async function olderServer(): Promise<{ server: OlderServer; url: string }> {
  const server = new OlderServer();
  server.tools.set('look', () => 'tea');
  return { server, ...(await server.listenHttp()) };
}

const STATES: readonly State[] = [
  { name: 'connects', open: () => openServers({ shop: silent }, { waitMs: 0 }), tool: 'look', reason: CONNECTING },
  {
    name: 'connects beside one that is connected',
    open: async () => openServers({ shop: silent, other: hostileServer('hints') }, { waitMs: 5_000 }),
    tool: 'look',
    reason: CONNECTING,
  },
  {
    name: 'connects, with stored tools',
    async open() {
      const mcp = await openStored({ name: 'looks', inputSchema: {} });
      await mcp.ready(0);
      return mcp;
    },
    tool: 'look',
    reason: CONNECTING,
  },
  {
    name: 'waits for trust',
    open: async () => openServers({ shop: { url: (await olderServer()).url } }, { ...TRUST, firstUse: 'ask' }),
    tool: 'look',
    reason: 'cannot be called until the user trusts them (toolscript mcp trust shop)',
  },
  {
    name: 'waits for trust of one tool',
    async open() {
      const { server, url } = await olderServer();
      const trustStore = memoryTrustStore();
      await (await openServers({ shop: { url } }, { trustStore })).close();
      server.tools.set('looks', () => 'new');
      return openServers({ shop: { url } }, { ...TRUST, trustStore });
    },
    tool: 'looks',
    reason: 'cannot be called until the user trusts them (toolscript mcp trust shop)',
  },
  {
    name: 'has failed',
    open: () => openServers({ shop: failing }),
    tool: 'look',
    reason: 'there is no program "no-such-program"',
  },
  {
    name: 'has failed, and is started again later',
    open: () => openServers({ shop: { command: process.execPath, args: ['-e', ''] } }),
    tool: 'look',
    reason: 'ended before it answered',
  },
  {
    name: 'is configured wrongly',
    open: () => openServers({ shop: { url: 'no address' } }),
    tool: 'look',
    reason: 'The MCP server "shop" is not started: "url" must be an address',
  },
  {
    name: 'has a tool that cannot be read',
    open: () => openStored({ name: 'look', inputSchema: {}, description: 'x'.repeat(300_000) }),
    tool: 'look',
    reason: 'could not be read, so scripts cannot call them',
  },
];

/** A server that never answers, with a stored list of one tool. */
async function openStored(tool: object): Promise<McpServers> {
  const catalogue = { read: async () => ({ items: [tool], incomplete: undefined }), write: async () => {} };
  return openServers({ shop: { url: await listen(() => undefined) } }, { catalogue });
}

/** The texts that a model reads about the tool, by the way on which it meets it. */
const ROADS: Readonly<Record<string, { code: string } | { tool: string } | { query: string }>> = {
  'the check of a script': { code: 'return tools.mcp.shop.TOOL({})' },
  'the check of a script with names in brackets': { code: `return tools['mcp']['shop']['TOOL']({})` },
  'the check of a destructured namespace': { code: 'const { shop } = tools.mcp;\nreturn shop.TOOL({})' },
  'a call while a script runs': { code: `const name = 'TOOL'; return (tools as any).mcp.shop[name]({})` },
  'catalog.describe in a script': { code: `return catalog.describe('mcp.shop.TOOL')` },
  describe_tools: { tool: 'mcp.shop.TOOL' },
  search_tools: { query: 'qqqq' },
};

async function textOn(mcp: McpServers, tool: string, road: string, options: Partial<HarnessOptions> = {}) {
  const harness = createHarness({
    ...sharedThreads(),
    tools: [],
    expose: { mcp: true },
    approvals: 'auto',
    ...options,
  });
  onTestFinished(() => harness.close());
  mcp.attach(harness);
  const notices = (asked: object | undefined) => mcp.notices(asked);
  const { call } = await connectGateway({ harness, notices });
  const way = JSON.parse(JSON.stringify(ROADS[road]).replaceAll('TOOL', tool)) as Record<string, string>;
  if ('tool' in way) return (await call('describe_tools', { names: [way['tool']] })).text;
  if ('query' in way) return (await call('search_tools', { query: way['query'] })).text;
  const gateway = await call('run_script', { code: way['code'] });
  const outcome = await harness.runScript(way['code']!);
  return {
    gateway: gateway.text,
    agent: outcome.status === 'failed' ? outcome.error.message + outcome.error.hint : outcome.status,
  };
}

const WRONG = /did you mean|does not provide|not available|There is no tool|does not exist|No tool matches/iu;

describe.each(STATES)('a tool of a server that $name', ({ open, tool, reason }) => {
  it.each(Object.keys(ROADS))('is missing for this reason: %s', async (road) => {
    const mcp = await open();
    const read = await textOn(mcp, tool, road);
    for (const text of typeof read === 'string' ? [read] : Object.values(read)) {
      expect(text).toContain(reason);
      expect(text).not.toMatch(WRONG);
    }
  });
});

describe('a tool that no server has', () => {
  it.each(Object.keys(ROADS))('is unknown, with the names of similar ones: %s', async (road) => {
    const { url } = await olderServer();
    const mcp = await openServers({ shop: { url }, other: failing });
    const read = await textOn(mcp, 'lock', road);
    for (const text of typeof read === 'string' ? [read] : [read.agent])
      expect(text).toMatch(road === 'search_tools' ? /look|no-such-program/u : /look|'lock'|"lock"/u);
  });

  it('is not explained to an agent that may not have it', async () => {
    const mcp = await openServers({ shop: failing, other: failing });
    const of = async (tools: string[]) =>
      JSON.stringify(await textOn(mcp, 'look', 'catalog.describe in a script', { expose: { mcp: true, tools } }));
    expect(await of(['mcp.shop'])).toContain('no-such-program');
    const read = await textOn(mcp, 'look', 'catalog.describe in a script', {
      expose: { mcp: true, tools: ['mcp.other'] },
    });
    expect((read as { agent: string }).agent).toContain('There is no tool');
  });

  it('is known to the next script when its server has connected', async () => {
    const { server, url } = await olderServer();
    const held = memoryTrustStore();
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const trustStore = {
      ...held,
      read: async (name: string) => {
        await gate;
        return held.read(name);
      },
    };
    const mcp = await openServers({ shop: { url } }, { waitMs: 0, trustStore });
    const harness = createHarness({ ...sharedThreads(), tools: [], expose: { mcp: true }, approvals: 'auto' });
    onTestFinished(() => harness.close());
    mcp.attach(harness);
    const code = 'return tools.mcp.shop.look({})';
    const first = await harness.runScript(code);
    expect(first).toMatchObject({ status: 'failed', error: { message: expect.stringContaining(CONNECTING) } });
    release();
    await until(() => harness.tools().length > 0);
    expect(server.lists).toBe(1);
    expect(await harness.runScript(code)).toMatchObject({ status: 'completed', value: 'tea' });
  });
});
