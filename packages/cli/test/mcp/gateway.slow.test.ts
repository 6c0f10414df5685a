import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OlderHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '@toolscript/testkit/until';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '#cli/configuration/locations.js';
import { cleanEnvironment, PROGRAM, start } from '../support/program.js';
import { McpPlace } from './mcp-place.js';

const SEND = `return tools.mcp.mail.send({ to: 'Ada' })`;

interface ToolClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  listTools(): Promise<{ tools: { name: string; description?: string }[] }>;
  close(): Promise<void>;
}

interface Result {
  content: { text?: string }[];
  structuredContent: { status: string; value?: unknown; scriptId: string };
}

async function run(client: ToolClient, code: string): Promise<Result> {
  return (await client.callTool({ name: 'run_script', arguments: { code } })) as Result;
}

async function descriptionFor(client: ToolClient): Promise<string | undefined> {
  return (await client.listTools()).tools[0]!.description;
}

function textOf({ content }: Result): string {
  return content.map(({ text = '' }) => text).join('\n');
}

function command(place: McpPlace, ...flags: string[]) {
  const env = cleanEnvironment(place.env);
  return {
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...flags],
    env,
    cwd: place.workspace,
    stderr: 'ignore' as const,
  };
}

function placeWithMail(): McpPlace {
  const place = new McpPlace();
  return place.useServers({ mail: place.mail() });
}

/** A gateway over HTTP, ended with the test. */
async function listening(place: McpPlace, ...flags: string[]): Promise<{ url: URL; token: string }> {
  const [first, second] = await firstLines(place, 2, '127.0.0.1:0', ...flags);
  const [, token = ''] = /^Clients send: Authorization: Bearer (\S+)$/u.exec(second!) ?? [];
  return { url: new URL(first!), token };
}

/** The first lines of output of a gateway over HTTP. */
async function firstLines(place: McpPlace, count: number, address: string, ...flags: string[]): Promise<string[]> {
  const options = { cwd: place.workspace, env: place.env };
  const child = start(process.execPath, [PROGRAM, 'mcp', '--http', address, ...flags], options);
  onTestFinished(async () => {
    const closed = once(child, 'close');
    child.kill();
    expect((await closed)[0]).toBe(0);
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read: string[] = [];
  while (read.length < count) read.push((await lines.next()).value as string);
  return read;
}

it('a gateway for other machines prints no token where the output is not a terminal, and names its file', async () => {
  const place = placeWithMail();
  expect((await place.run(['keys', 'add', 'ci'])).status).toBe(0);
  const lines = await firstLines(place, 3, '0.0.0.0:0');
  const file = place.kept('server.token');
  expect(lines[1]).toBe(`The token for requests from this machine is in ${file}.`);
  expect(lines[2]).toContain('toolscript keys add NAME');
  expect(lines.join('\n')).not.toContain(readFileSync(file, 'utf8').trim());
});

const headersOf = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

/** A client of each SDK, over each transport. */
const CLIENTS: [string, (place: McpPlace) => Promise<ToolClient>][] = [
  [
    'of the older SDK over stdio',
    async (place) => {
      const client = new OlderClient({ name: 'older', version: '1.0.0' });
      await client.connect(new OlderStdio(command(place)) as never);
      return client as ToolClient;
    },
  ],
  [
    'of the newer SDK over stdio',
    async (place) => {
      const client = new Client({ name: 'newer', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StdioClientTransport(command(place)));
      return client as ToolClient;
    },
  ],
  [
    'of the older SDK over HTTP',
    async (place) => {
      const { url, token } = await listening(place);
      const client = new OlderClient({ name: 'older', version: '1.0.0' });
      await client.connect(new OlderHttp(url, headersOf(token)) as never);
      return client as ToolClient;
    },
  ],
  [
    'of the newer SDK over HTTP',
    async (place) => {
      const { url, token } = await listening(place);
      const client = new Client({ name: 'newer', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StreamableHTTPClientTransport(url, headersOf(token)));
      return client as ToolClient;
    },
  ],
];

describe.each(CLIENTS)('a client %s', (_which, connect) => {
  it('runs scripts over the MCP servers, and nothing else', async () => {
    const client = await connect(placeWithMail());
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'run_script',
      'wait_script',
      'cancel_script',
      'resume_script',
      'read_value',
      'search_tools',
      'describe_tools',
    ]);
    const { structuredContent } = await run(client, 'return [Object.keys(tools), await tools.mcp.mail.read()]');
    expect(structuredContent).toMatchObject({ status: 'completed', value: [['mcp'], 'no mails'] });
    await expect.poll(() => descriptionFor(client)).toContain('send(args: { to: string })');
  });

  it('without a user to ask waits for the decision that its text names the command of', async () => {
    const place = placeWithMail();
    const client = await connect(place);
    onTestFinished(() => client.close());
    const suspended = await run(client, SEND);
    const { scriptId } = suspended.structuredContent;
    const [, decide] = /`toolscript (approvals approve \S+)`/u.exec(textOf(suspended)) ?? [];
    expect(decide).toBe(`approvals approve ${scriptId}`);
    const waiting = client.callTool({ name: 'resume_script', arguments: { scriptId } });
    expect((await place.shell('toolscript approvals')).stdout).toContain('mcp.mail.send');
    const decided = await place.shell(`toolscript ${decide}`);
    expect(decided.stdout).toContain('Approved: mcp.mail.send');
    expect(((await waiting) as Result).structuredContent).toMatchObject({ status: 'completed', value: 'sent to Ada' });
  });
});

it.each([['mcp', 'test'], ['eval', '-e', 'return 1'], ['run']])(
  'a client sees the tools at once after toolscript %s',
  async (...command) => {
    const place = placeWithMail();
    const rest = command[0] === 'run' ? [place.answer('return 1')] : [];
    expect((await place.run([...command, ...rest])).status).toBe(0);
    const client = await CLIENTS[0]![1](place);
    onTestFinished(() => client.close());
    expect(await descriptionFor(client)).toContain('send(args: { to: string })');
  },
);

async function olderTransport(place: McpPlace, way: string): Promise<never> {
  if (way === 'stdio') return new OlderStdio(command(place)) as never;
  const { url, token } = await listening(place);
  return new OlderHttp(url, headersOf(token)) as never;
}

describe('a client with a user', () => {
  it.each([
    ['stdio', 'approve', 'sent to Ada'],
    ['stdio', 'deny', 'ApprovalDeniedError'],
    ['HTTP', 'approve', 'sent to Ada'],
    ['HTTP', 'deny', 'ApprovalDeniedError'],
  ])('of the older SDK over %s asks it: %s', async (way, decision, value) => {
    const place = placeWithMail();
    const client = new OlderClient({ name: 'older', version: '1.0.0' }, { capabilities: { elicitation: {} } });
    const asked: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: 'accept' as const, content: { decision } };
    });
    await client.connect(await olderTransport(place, way));
    onTestFinished(() => client.close());
    const code = `try { ${SEND.replace('return', 'return await')} } catch (error) { return error.name }`;
    expect((await run(client as ToolClient, code)).structuredContent).toMatchObject({ value });
    expect(asked).toEqual([expect.stringContaining('to: Ada')]);
  });

  it('chooses "always" in the form, and is not asked about later calls, also by another gateway', async () => {
    const place = placeWithMail();
    const asked: string[] = [];
    const connected = async () => {
      const client = new OlderClient({ name: 'older', version: '1.0.0' }, { capabilities: { elicitation: {} } });
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        const { decision } = (params as { requestedSchema: { properties: Record<string, { enum?: string[] }> } })
          .requestedSchema.properties;
        const choice = decision!.enum!.find((one) => one.startsWith('always'))!;
        asked.push(choice);
        return { action: 'accept' as const, content: { decision: choice } };
      });
      await client.connect(await olderTransport(place, 'stdio'));
      onTestFinished(() => client.close());
      return client as ToolClient;
    };
    const first = await connected();
    for (let time = 0; time < 2; time++)
      expect((await run(first, SEND)).structuredContent).toMatchObject({ value: 'sent to Ada' });
    expect((await run(await connected(), SEND)).structuredContent).toMatchObject({ value: 'sent to Ada' });
    expect(asked).toEqual(['always approve every call to mcp.mail.send in this folder']);
  });

  it('is asked over HTTP by the newest protocol', async () => {
    const { url, token } = await listening(placeWithMail());
    const client = new Client(
      { name: 'newer', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision: 'approve' } }));
    await client.connect(new StreamableHTTPClientTransport(url, headersOf(token)));
    onTestFinished(() => client.close());
    expect((await run(client as ToolClient, SEND)).structuredContent).toMatchObject({ value: 'sent to Ada' });
  });
});

describe('the gateway', () => {
  it('speaks the protocol of 2025-06-18, and writes nothing but messages to stdout', async () => {
    const place = placeWithMail();
    const { env, cwd, args } = command(place);
    const child = spawn(process.execPath, args, { env, cwd });
    onTestFinished(() => void child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ask = async (id: number, method: string, params: object) => {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      for (;;) {
        const message = JSON.parse((await lines.next()).value as string) as { id?: number; method?: string };
        if (message.method !== 'notifications/tools/list_changed') return message;
      }
    };
    const client = { name: 'by hand', version: '1' };
    const hello = await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client });
    expect(hello).toMatchObject({ id: 1, result: { protocolVersion: '2025-06-18' } });
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    const called = await ask(2, 'tools/call', { name: 'run_script', arguments: { code: 'return 6 * 7' } });
    expect(called).toMatchObject({ id: 2, result: { structuredContent: { value: 42 } } });
    const closed = once(child, 'close');
    child.stdin.end();
    expect((await closed)[0]).toBe(0);
    expect(place.mailIsRunning).toBe(false);
  });

  it('offers the coding tools in the folders of the client with --tools coding', async () => {
    const place = placeWithMail();
    const client = new OlderClient({ name: 'older', version: '1.0.0' }, { capabilities: { roots: {} } });
    // One folder contains the user's own files, so it is omitted.
    const roots = [place.base, place.mailFolder].map((folder) => ({ uri: `file://${folder}` }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
    await client.connect(new OlderStdio(command(place, '--tools', 'coding')) as never);
    onTestFinished(() => client.close());
    const list = `return (await tools.listDir({ path: '.' })).entries.map(({ path, name }) => name ?? path)`;
    await expect
      .poll(async () => JSON.stringify((await run(client as ToolClient, list)).structuredContent.value), {
        timeout: 60_000,
      })
      .toContain('pid');
    const outside = await run(client as ToolClient, `return tools.listDir({ path: ${JSON.stringify(place.base)} })`);
    expect(outside.structuredContent.status).toBe('failed');
  });

  it.each(['stdio', 'HTTP'])('announces over %s that its tools have changed', async (way) => {
    const place = placeWithMail();
    place.useServers({ mail: place.mail({}, { behaviour: 'shrinks' }) });
    const client = new OlderClient({ name: 'older', version: '1.0.0' });
    let description: string | undefined;
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/tools/list_changed') description = await descriptionFor(client as ToolClient);
    };
    await client.connect(await olderTransport(place, way));
    onTestFinished(() => client.close());
    await client.callTool({ name: 'search_tools', arguments: { query: 'mail' } });
    await expect.poll(() => descriptionFor(client as ToolClient)).toContain('send(');
    await run(client as ToolClient, 'return tools.mcp.mail.read()');
    await expect.poll(() => description ?? 'send(').not.toContain('send(');
    expect(description).toContain('read');
  });

  it('answers before its servers do, and says what is missing where a model looks for tools', async () => {
    const place = new McpPlace();
    place.useServers({ silent: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] } });
    place.useWorkspaceServers({ theirs: { command: 'x' } });
    const client = new OlderClient({ name: 'older', version: '1.0.0' });
    await client.connect(new OlderStdio(command(place)) as never);
    onTestFinished(() => client.close());
    expect(await descriptionFor(client as ToolClient)).toContain('Tools are missing.');
    const search = { name: 'search_tools', arguments: { query: 'mail' } };
    const found = textOf((await (client as ToolClient).callTool(search)) as Result);
    expect(found).toContain('The MCP server "silent" is still connecting');
    expect(found).toContain('is ignored, because you have not trusted it. Read it; to trust it: toolscript trust');
    expect(found).not.toContain('No tool matches');
    const failed = await run(client as ToolClient, 'return tools.mcp.silent.look()');
    expect(textOf(failed)).toContain('The MCP server "silent" is still connecting');
  });

  it('describes the tools of its last start at once, reads no list and starts no server until a tool is needed', async () => {
    const place = placeWithMail();
    const session = async () => {
      const client = new OlderClient({ name: 'older', version: '1.0.0' });
      await client.connect(new OlderStdio(command(place)) as never);
      onTestFinished(() => client.close());
      return client;
    };
    const first = await session();
    await first.callTool({ name: 'describe_tools', arguments: { names: ['mcp.mail.send'] } });
    await first.close();
    await expect.poll(() => place.mailIsRunning).toBe(false);
    rmSync(join(place.mailFolder, 'pid'));
    // Without its list, a server starts at once.
    rmSync(place.kept('mcp-catalogue'), { recursive: true });
    const second = await session();
    expect(await descriptionFor(second as ToolClient)).toContain('send(args: { to: string })');
    const { resources } = await second.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('toolscript://declarations/mcp.mail');
    expect(place.mailWasStarted).toBe(false);
    expect((await run(second as ToolClient, 'return tools.mcp.mail.read()')).structuredContent.value).toBe('no mails');
    expect(place.mailWasStarted).toBe(true);
    await second.close();
    place.useServers({ other: place.mail() });
    expect(await descriptionFor((await session()) as ToolClient)).not.toContain('mail');
  });

  it('works without what it showed last, if the file of that is damaged', async () => {
    const place = placeWithMail();
    expect((await place.run(['mcp', 'test'])).status).toBe(0);
    writeFileSync(place.kept('mcp-offers.json'), '{');
    const client = await CLIENTS[0]![1](place);
    onTestFinished(() => client.close());
    expect(await descriptionFor(client)).toContain('send(args: { to: string })');
    expect((await run(client, 'return tools.mcp.mail.read()')).structuredContent.value).toBe('no mails');
  });

  it('keeps a value of some megabytes, which a client reads in parts', async () => {
    const client = await CLIENTS[0]![1](new McpPlace());
    onTestFinished(() => client.close());
    const made = await run(client, `return Array.from({ length: 100_000 }, (_, index) => '😀' + index)`);
    const { scriptId } = made.structuredContent;
    expect(textOf(made)).toContain(`Call read_value with { "scriptId": "${scriptId}", "offset": 0 }`);
    let json = '';
    for (let more = true; more;) {
      const args = { scriptId, offset: json.length };
      const [part = '', rest] = textOf(
        (await client.callTool({ name: 'read_value', arguments: args })) as Result,
      ).split('\n[');
      expect(part).not.toBe('');
      json += part;
      more = rest !== undefined;
    }
    const value = JSON.parse(json) as string[];
    expect(value).toHaveLength(100_000);
    expect(value.at(-1)).toBe('😀99999');
  });

  it('asks for its token, and knows its own host and origins alone', async () => {
    const place = placeWithMail();
    const { url, token } = await listening(place);
    const post = (headers: Record<string, string>) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    const authorization = `Bearer ${token}`;
    expect((await post({})).status).toBe(401);
    expect((await post({ authorization: 'Bearer wrong-wrong-wrong-wrong' })).status).toBe(401);
    expect((await post({ authorization, origin: 'https://evil.example' })).status).toBe(403);
    expect((await post({ authorization })).status).toBe(200);
    expect((await fetch(new URL('/', url))).status).toBe(404);
    if (process.platform !== 'win32') expect(statSync(place.kept('server.token')).mode & 0o777).toBe(0o600);
    const taken = await place.toolscript(['mcp', '--http', url.host]);
    expect(taken).toMatchObject({ status: 2, stdout: '' });
    expect(taken.stderr).toContain(
      `Another program listens at ${url.host}. End it, or choose another port with --http.`,
    );
  });

  it.each([
    [['--http', 'nowhere'], '--http is "nowhere". Use an address and a port, such as 127.0.0.1:4320.'],
    [['--http', '0.0.0.0:0'], 'there is no API key for them. Create one first: toolscript keys add NAME'],
    [['--config', 'no-such.json'], 'no-such.json. Name one with { "mcpServers": { … } }.'],
  ])('with %j ends with one sentence', async (flags, sentence) => {
    const { status, stdout, stderr } = await placeWithMail().toolscript(['mcp', ...flags]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('that is a server of itself ends, and says why', async () => {
    const place = new McpPlace();
    place.useServers({ self: { command: process.execPath, args: [PROGRAM, 'mcp'], env: place.env } });
    const { stderr } = await place.toolscript(['mcp'], { stdin: '', env: { TOOLSCRIPT_MCP_DEPTH: '2' } });
    expect(stderr).toContain('Remove that server from the file');
    const value = await place.evaluate('return Object.keys(tools.mcp.self)');
    expect(value).toContain('run_script');
  });

  it('works where the current folder holds the files of the user', async () => {
    const place = placeWithMail();
    const client = new OlderClient({ name: 'older', version: '1.0.0' });
    await client.connect(new OlderStdio({ ...command(place), cwd: place.base }) as never);
    onTestFinished(() => client.close());
    expect((await run(client as ToolClient, 'return tools.mcp.mail.read()')).structuredContent.value).toBe('no mails');
  });
});

it('a gateway deletes the variables of its sessions when it ends, and old ones that a killed gateway has left', async () => {
  const place = placeWithMail();
  const { scriptsFolder } = dataFolder(place.env);
  const pruned = join(scriptsFolder, '..', 'pruned');
  const heaps = () =>
    readdirSync(join(scriptsFolder, 'heaps'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.includes('states/'))
      .map((name) => join(scriptsFolder, 'heaps', name));
  const open = async () => {
    const transport = new StdioClientTransport(command(place));
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    onTestFinished(() => client.close());
    const input = { code: 'let n = 1; return n', session: 'data' };
    await client.callTool({ name: 'run_script', arguments: input });
    return { pid: transport.pid! };
  };
  const killed = await open();
  process.kill(killed.pid, 'SIGKILL');
  const [left] = heaps();
  const ended = await open();
  expect(heaps()).toHaveLength(2);
  process.kill(ended.pid, 'SIGTERM');
  await until(() => existsSync(pruned));
  expect(heaps()).toEqual([left]);
  const old = Date.now() - 40 * 86_400_000;
  writeFileSync(left!, readFileSync(left!, 'latin1').replace(/"createdAt":\d+/u, `"createdAt":${old}`), 'latin1');
  rmSync(pruned);
  process.kill((await open()).pid, 'SIGTERM');
  await until(() => heaps().length === 0);
});
