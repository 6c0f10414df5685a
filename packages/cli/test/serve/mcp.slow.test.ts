import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { McpPlace } from '../mcp/mcp-place.js';
import { serve, type Served } from './support/served.js';

const SEND = `return tools.mcp.mail.send({ to: 'Ada' })`;

const place = new McpPlace();
let server: Served;

beforeAll(async () => {
  place.useServers({ mail: place.mail() });
  server = await serve([], { env: place.env });
});

afterAll(async () => {
  expect(await server.end()).toBe(0);
  expect(place.mailIsRunning).toBe(false);
});

/** A client whose user approves everything. `asked`: the questions. */
async function connect(token: string, asked: string[] = []): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { decision: 'approve' } };
  });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

async function keyWith(scopes: string): Promise<string> {
  const { stdout } = await place.toolscript(['keys', 'add', scopes.replaceAll(',', '-'), '--scopes', scopes]);
  return stdout.trim();
}

const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const run = (client: Client, code: string) => client.callTool({ name: 'run_script', arguments: { code } });

describe('an MCP client at /mcp of a server', () => {
  it('runs scripts over the MCP servers with the token of the user', async () => {
    const client = await connect(server.token);
    expect((await run(client, 'return Object.keys(tools)')).structuredContent).toMatchObject({ value: ['mcp'] });
    expect((await run(client, SEND)).structuredContent).toMatchObject({ value: 'sent to Ada' });
  });

  it('only finds tools with a read-only key', async () => {
    const client = await connect(await keyWith('read'));
    expect(await toolsOf(client)).toEqual(['search_tools', 'describe_tools']);
    expect(JSON.stringify(await client.callTool({ name: 'search_tools', arguments: { query: 'mail' } }))).toContain(
      'mcp.mail.send',
    );
  });

  it('decides only with a key that has the scope approve', async () => {
    const asked: string[] = [];
    const runs = await connect(await keyWith('read,run'), asked);
    const { structuredContent } = await run(runs, SEND);
    expect(structuredContent).toMatchObject({ status: 'suspended' });
    expect(asked).toEqual([]);
    const { scriptId } = structuredContent as { scriptId: string };
    expect((await place.toolscript(['approvals', 'show', scriptId])).stdout).toContain('mcp.mail.send');
    expect((await place.toolscript(['approvals', 'approve', scriptId])).status).toBe(0);
    const resumed = await runs.callTool({ name: 'resume_script', arguments: { scriptId } });
    expect(resumed.structuredContent).toMatchObject({ value: 'sent to Ada' });
    const decides = await connect(await keyWith('run,read,approve'));
    expect((await run(decides, SEND)).structuredContent).toMatchObject({ value: 'sent to Ada' });
  });

  it('reads only the scripts of its own key', async () => {
    const client = await connect(await keyWith('admin'));
    const read = async () => JSON.stringify(await client.readResource({ uri: 'toolscript://scripts' }));
    await run(client, 'return 1 + 1');
    expect(await read()).toContain('return 1 + 1');
    expect(await read()).not.toContain('Ada');
  });

  it('has a session that rejects keys with other permissions', async () => {
    const tokens = [await keyWith('read,run,admin'), await keyWith('read,approve')];
    const post = (token: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${server.url}/mcp`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      });
    const clientInfo = { name: 'by hand', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const begun = await post(tokens[0]!, { method: 'initialize', params });
    await begun.text();
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
    expect(session['mcp-session-id']).not.toBe('');
    expect(await (await post(tokens[0]!, { method: 'tools/list' }, session)).text()).toContain('run_script');
    expect((await post(tokens[1]!, { method: 'tools/list' }, session)).status).toBe(404);
    expect((await post(tokens[0]!, { method: 'tools/list' }, { 'mcp-session-id': 'another' })).status).toBe(404);
  });

  it('without a token, or from a page of another origin, is rejected as on every route', async () => {
    const post = (headers: Record<string, string>) =>
      fetch(`${server.url}/mcp`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(401);
    const authorization = `Bearer ${server.token}`;
    expect((await post({ authorization, origin: 'https://evil.example' })).status).toBe(403);
  });
});
