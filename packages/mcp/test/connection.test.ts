import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { memoryTrustStore, type ElicitationRequest, type McpEvent, type McpOptions } from '#mcp/index.js';
import { describe, expect, it } from 'vitest';
import { OlderServer } from './support/http-servers.js';
import { until } from '@toolscript/testkit/until';
import { attachedHarness, hostileServer, openServers, valueOf } from './support/open.js';
import { referenceServer } from './support/reference-servers.js';

/** The states that a server goes through, and a way to wait for one. */
function watched(): { options: McpOptions; states: string[]; reached: (state: string) => Promise<void> } {
  const states: string[] = [];
  const waiting: { state: string; resolve: () => void }[] = [];
  const onEvent = (event: McpEvent) => {
    if (event.type !== 'state') return;
    states.push(event.state);
    for (const { state, resolve } of waiting) if (state === event.state) resolve();
  };
  const reached = (state: string) => new Promise<void>((resolve) => waiting.push({ state, resolve }));
  return { options: { onEvent, reconnect: { firstDelayMs: 1, attempts: 3 } }, states, reached };
}

describe('a server that ends', () => {
  it('is started again by itself, and its tools stay', async () => {
    const { options, states, reached } = watched();
    const mcp = await openServers({ server: hostileServer('results') }, options);
    const harness = attachedHarness(mcp);
    const tools = harness.tools().length;
    const again = reached('connected');
    await harness.callTool('mcp.server.dies', {});
    expect(harness.tools()).toHaveLength(tools);
    await again;
    expect(states).toEqual(['connecting', 'connected', 'waiting', 'connecting', 'connected']);
    expect(valueOf(await harness.runScript('return tools.mcp.server.good()'))).toBe('good 1 1');
  });

  it('is given up after so many attempts, and tried again when it is wanted', async () => {
    const { options, states, reached } = watched();
    const failed = reached('failed');
    const server = { command: process.execPath, args: ['-e', 'process.exit(1)'] };
    const mcp = await openServers({ server }, options);
    await failed;
    expect(states.filter((state) => state === 'connecting')).toHaveLength(4);
    expect(mcp.status()[0]).toMatchObject({ state: 'failed', problem: expect.stringContaining('ended before') });
    const before = states.length;
    await mcp.reconnect('server');
    expect(states[before]).toBe('connecting');
    await expect(mcp.reconnect('nobody')).rejects.toThrow('There is no MCP server "nobody"');
  });
});

describe('a server that changes its list while it is being connected', () => {
  it('has its tools from the moment at which it is connected', async () => {
    const server = new OlderServer();
    for (let index = 0; index < 400; index++) server.tools.set(`tool_${index}`, () => 'done');
    const { url } = await server.listenHttp();
    const kept = memoryTrustStore();
    // The first list has been read here, and its tools are not made yet.
    const read = async (name: string) => {
      if (server.lists === 1) {
        await server.announce();
        await until(() => server.lists === 2);
      }
      return kept.read(name);
    };
    const mcp = await openServers({ server: { url } }, { trustStore: { ...kept, read } });
    expect(mcp.status()).toMatchObject([{ state: 'connected', tools: { length: 400 } }]);
  });
});

describe('the notices about missing tools', () => {
  it('name failed servers, tools that could not be read, and tools that wait for trust, with the way to trust', async () => {
    const servers = {
      odd: hostileServer('names'),
      missing: { command: 'no-such-program' },
      good: hostileServer('hints'),
    };
    const options: McpOptions = {
      firstUse: 'ask',
      onTrust: ({ server }) => server !== 'good',
      howToTrust: (name) => `trust ${name}`,
    };
    const mcp = await openServers(servers, options);
    expect(mcp.notices()).toEqual([
      expect.stringMatching(/^8 tools of the MCP server "odd" could not be read, .*twice/u),
      expect.stringContaining('there is no program "no-such-program"'),
      '6 tools of the MCP server "good" cannot be called until the user trusts them (trust good): reads, reads_and_destroys, adds, searches, destroys, good.',
    ]);
  });
});

describe('the folders of the host', () => {
  it('are sent to a server only if its configuration sets roots', async () => {
    const server = new OlderServer();
    server.tools.set('folders', async () => JSON.stringify(await server.instances.at(-1)!.listRoots()));
    const { url } = await server.listenHttp();
    const ask = async (entry: object) => {
      const harness = attachedHarness(await openServers({ server: { url, ...entry } }, { roots: ['/work'] }));
      return harness.runScript('return await tools.mcp.server.folders()');
    };
    expect(valueOf(await ask({ roots: true }))).toEqual({ roots: [{ uri: 'file:///work', name: '/work' }] });
    expect((await ask({})).status).toBe('failed');
  });
});

describe('a call that needs a page of the user', () => {
  it('is made again after the user has opened the page, and fails if not', async () => {
    const server = new OlderServer();
    let calls = 0;
    server.tools.set('pay', () => {
      calls += 1;
      if (calls % 2 === 0) return 'paid';
      const page = { mode: 'url' as const, message: 'Pay', url: 'https://pay.example/1', elicitationId: '1' };
      throw new UrlElicitationRequiredError([page]);
    });
    const { url } = await server.listenHttp();
    const pay = async (action: 'accept' | 'decline') => {
      const hosts: unknown[] = [];
      const onElicitation = async ({ host }: ElicitationRequest) => {
        hosts.push(host);
        return { action };
      };
      const harness = attachedHarness(await openServers({ server: { url } }, { onElicitation }));
      return { outcome: await harness.runScript('return await tools.mcp.server.pay()'), hosts };
    };
    const paid = await pay('accept');
    expect([valueOf(paid.outcome), paid.hosts, calls]).toEqual(['paid', ['pay.example'], 2]);
    expect((await pay('decline')).outcome.status).toBe('failed');
    expect(calls).toBe(3);
  });
});

describe('a tool with an MCP App', () => {
  it('names the resource of the app in its description', async () => {
    const mcp = await openServers({ server: hostileServer('app') });
    const [tool] = attachedHarness(mcp)
      .tools()
      .filter(({ name }) => name === 'mcp.server.chart');
    expect(tool!.description).toContain('the resource ui://chart/view.html of the server server');
  });
});

describe('a server that forgets its sessions', () => {
  it('gets a new one, and the call is made once', async () => {
    const server = new OlderServer();
    let calls = 0;
    server.tools.set('count', () => String(++calls));
    const { url, forget } = await server.listenHttp();
    const harness = attachedHarness(await openServers({ server: { url } }));
    expect(valueOf(await harness.runScript('return tools.mcp.server.count()'))).toBe('1');
    forget();
    expect(valueOf(await harness.runScript('return tools.mcp.server.count()'))).toBe('2');
    expect(calls).toBe(2);
  });
});

describe('close', () => {
  it('ends servers that are connecting, and can be called twice', async () => {
    const { options, states } = watched();
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
    const opening = openServers({ silent }, { ...options, connectTimeoutMs: 1_000 });
    const mcp = await opening;
    await Promise.all([mcp.close(), mcp.close()]);
    expect(states.at(-1)).toBe('closed');
    expect(mcp.status()[0]?.state).toBe('closed');
  });

  it('a call of a script that still runs says that the connection is closed', async () => {
    const mcp = await openServers({ everything: referenceServer('everything') });
    const harness = attachedHarness(mcp);
    const [tool] = harness.tools().filter(({ name }) => name.endsWith('.echo'));
    await mcp.close();
    await expect(
      tool!.execute({ message: 'x' } as never, { signal: new AbortController().signal } as never),
    ).rejects.toThrow('The connection to the MCP server "everything" is closed.');
  });
});
