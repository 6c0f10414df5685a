import { KeyFolder, makeApiKey, type Scope } from '@toolscript/server';
import { newFolder } from '@toolscript/testkit/folder';
import { filePlace } from '@toolscript/core/internal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

/* Each request that changes something leaves an audit entry that names who sent it. */

const keys = new KeyFolder(newFolder());

async function newKey(principal: string, scopes: Scope[]) {
  const { key, token } = makeApiKey({ name: principal, principal, scopes });
  await keys.add(key);
  return { keyId: key.keyId, headers: { authorization: `Bearer ${token}` } };
}

let server: TestServer;
let admin: Awaited<ReturnType<typeof newKey>>;

beforeAll(async () => {
  server = await openTestServer({
    auth: { token: TOKEN, keys },
    rules: { list: async () => [], suggest: () => undefined, delete: async () => true },
    undo: { preview: async () => undefined, undo: async ({ scriptId, direction }) => report(scriptId, direction) },
    models: {
      list: async () => [{ provider: 'p', name: 'P', key: 'none' }],
      connect: async () => ['m'],
      remove: async () => true,
    },
    mcp: { fetch: async () => Response.json({}), close: async () => {} },
  });
  admin = await newKey('root', ['admin']);
});

afterAll(() => server.close());

function report(scriptId: string, direction: 'undo' | 'redo') {
  return { scriptId, direction, isDone: true, files: [], conflicts: [], notUndoable: [], calls: [], notUndone: [] };
}

const ask = (method: string, path: string, body?: unknown) => server.call(method, path, body, admin.headers);

async function submitted(prompt = 'hello'): Promise<{ runId: string; threadId: string }> {
  return (await ask('POST', '/api/v2/submit', { prompt })).body;
}

async function waiting(): Promise<{ approvalId: string; scriptId: string }> {
  const { runId } = await submitted('please approve');
  return until(async () => (await ask('GET', `/api/v2/approvals?runId=${runId}`)).body.data[0]);
}

async function parkedRun(): Promise<string> {
  const input = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];
  const claim = { owner: 'a worker', leaseMs: 60_000 };
  const { run } = await server.stores.runs.create({ principal: 'root', thread: { create: {} }, input, claim });
  await server.stores.runs.park({ runId: run.runId, epoch: run.epoch }, 'Workers ended.');
  return run.runId;
}

async function threadWithFile(): Promise<string> {
  const { threadId } = await submitted();
  await server.stores.documents.save({ ...filePlace(threadId, 'notes'), text: 'notes', about: { title: 'notes' } });
  return threadId;
}

async function response(): Promise<string> {
  return (await ask('POST', '/v1/responses', { model: 'demo', input: 'hello' })).body.id;
}

const TOOL_CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run_script' } };

/** It ends a session of its caller, and changes nothing else. */
const UNRECORDED = ['DELETE /mcp'];

/** For each operation that changes something: a request that succeeds. */
const REQUESTS: Readonly<Record<string, () => Promise<{ status: number }>>> = {
  'POST /api/v2/submit': () => ask('POST', '/api/v2/submit', { prompt: 'hello' }),
  'POST /api/v2/runs/{runId}/cancel': async () => ask('POST', `/api/v2/runs/${(await submitted()).runId}/cancel`),
  'POST /api/v2/stuck-runs/{runId}/resume': async () => ask('POST', `/api/v2/stuck-runs/${await parkedRun()}/resume`),
  'PATCH /api/v2/threads/{threadId}': async () =>
    ask('PATCH', `/api/v2/threads/${(await submitted()).threadId}`, { title: 'new' }),
  'DELETE /api/v2/threads/{threadId}': async () => ask('DELETE', `/api/v2/threads/${(await submitted()).threadId}`),
  'DELETE /api/v2/threads/{threadId}/files/{fileKey}': async () =>
    ask('DELETE', `/api/v2/threads/${await threadWithFile()}/files/notes`),
  'DELETE /api/v2/saved/{kind}/{name}': async () => {
    const scope = { kind: 'principal', id: 'root' } as const;
    await server.stores.documents.save({ scope, kind: 'prompt', name: 'report', text: 'Report.' });
    return ask('DELETE', '/api/v2/saved/prompt/report');
  },
  'POST /api/v2/approvals/{approvalId}': async () =>
    ask('POST', `/api/v2/approvals/${(await waiting()).approvalId}`, 'deny'),
  'POST /api/v2/scripts/{scriptId}/cancel': async () =>
    ask('POST', `/api/v2/scripts/${(await waiting()).scriptId}/cancel`),
  'POST /api/v2/scripts/{scriptId}/undo': () => ask('POST', '/api/v2/scripts/scr_1/undo', {}),
  'POST /api/v2/keys': () => ask('POST', '/api/v2/keys', { name: 'ci', scopes: ['read'] }),
  'DELETE /api/v2/keys/{keyId}': async () => ask('DELETE', `/api/v2/keys/${(await newKey('old', ['read'])).keyId}`),
  'DELETE /api/v2/rules/{ruleId}': () => ask('DELETE', '/api/v2/rules/r1'),
  'PUT /api/v2/providers/{provider}': () => ask('PUT', '/api/v2/providers/p', { key: 'k' }),
  'DELETE /api/v2/providers/{provider}': () => ask('DELETE', '/api/v2/providers/p'),
  'POST /mcp': () => ask('POST', '/mcp', TOOL_CALL),
  'POST /v1/responses': () => ask('POST', '/v1/responses', { model: 'demo', input: 'hello' }),
  'POST /v1/responses/{responseId}/cancel': async () => ask('POST', `/v1/responses/${await response()}/cancel`),
  'DELETE /v1/responses/{responseId}': async () => ask('DELETE', `/v1/responses/${await response()}`),
};

/** The entries of the audit log after `act`, without those before it. */
async function entriesOf(act: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const all = async () => (await ask('GET', '/api/v2/audit?limit=500')).body.data as Record<string, unknown>[];
  const before = (await all()).length;
  await act();
  const after = await all();
  return after.slice(0, after.length - before);
}

describe('a request that changes something', () => {
  it('has an entry with principal, key and address, for each operation of /openapi.json', async () => {
    const { body } = await server.call('GET', '/openapi.json');
    const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [`${method.toUpperCase()} ${path}`])),
    );
    expect([...Object.keys(REQUESTS), ...UNRECORDED].toSorted()).toEqual(described.toSorted());
    const actor = { principal: 'root', keyId: admin.keyId, address: '127.0.0.1' };
    for (const [operation, request] of Object.entries(REQUESTS)) {
      const entries = await entriesOf(async () => expect((await request()).status, operation).toBeLessThan(300));
      expect(entries.filter(({ type }) => !/^(?:call|approval)/u.test(String(type)))[0], operation).toMatchObject({
        actor,
      });
    }
  });

  it('has an entry for the tools that a client of MCP calls', async () => {
    const entries = await entriesOf(() => ask('POST', '/mcp', TOOL_CALL));
    expect(entries).toMatchObject([
      { type: 'mcp_call', tools: ['run_script'], actor: { principal: 'root', keyId: admin.keyId } },
    ]);
    expect(await entriesOf(() => ask('POST', '/mcp', { ...TOOL_CALL, method: 'tools/list' }))).toEqual([]);
  });

  it('names the administrator who made and revoked the key of another principal', async () => {
    const draft = { name: 'ci', principal: 'ada', scopes: ['read'] };
    const entries = await entriesOf(async () => {
      const { body } = await ask('POST', '/api/v2/keys', draft);
      await ask('DELETE', `/api/v2/keys/${body.keyId}`);
    });
    const actor = { principal: 'root', keyId: admin.keyId, address: '127.0.0.1' };
    expect(entries).toMatchObject([
      { type: 'key_revoked', ...draft, actor },
      { type: 'key_added', ...draft, actor },
    ]);
    const ada = await newKey('ada', ['read']);
    expect((await server.call('GET', '/api/v2/audit', undefined, ada.headers)).body.data).toHaveLength(2);
  });

  it('names the thread and the run, and leaves no entry if it fails', async () => {
    let ids = { runId: '', threadId: '' };
    expect(await entriesOf(async () => (ids = await submitted()))).toMatchObject([{ type: 'run_submitted', ...ids }]);
    const deleted = await entriesOf(() => ask('DELETE', `/api/v2/threads/${ids.threadId}`));
    expect(deleted).toMatchObject([{ type: 'thread_deleted', threadId: ids.threadId, principal: 'root' }]);
    expect(await entriesOf(() => ask('DELETE', `/api/v2/threads/${ids.threadId}`))).toEqual([]);
  });
});
