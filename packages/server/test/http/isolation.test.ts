import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHarness, fileStore, type Harness } from '@toolscript/core';
import { filePlace } from '@toolscript/core/internal';
import { hasScope, type Caller, type McpEndpoint, type Scope } from '@toolscript/server';
import { createGateway } from '../../../mcp/dist/index.js';
import * as tools from '../../../tools/dist/index.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FolderUndo } from '../../../cli/dist/undo/script-undo.js';
import { openTestServer, SUSPENSION_KEY, TOKEN, type TestServer } from '../support/test-server.js';
import { tries } from '@toolscript/testkit/some-cases';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';

/*
 * Every operation that /openapi.json describes is asked with the credentials of one principal for data of another one,
 * with any ids, parameters and bodies.
 */

/** Only Ada's own data contains this text. */
const CANARY = 'canary-of-ada';

const ALL: readonly Scope[] = ['read', 'run', 'approve'];
const CALLERS: Readonly<Record<string, Caller>> = {
  ada: { principal: `${CANARY}-principal`, scopes: ALL },
  bob: { principal: 'bob', scopes: ALL },
  admin: { principal: 'admin', scopes: ['admin'] },
  nobody: { principal: 'nobody', scopes: [] },
};

/** Keys, providers and rules belong to the server, and stuck runs are shown to its operator. */
const ADMINISTRATION = /^\/api\/v2\/(?:keys|providers|rules|stuck-runs)\b/u;

const PUBLIC = ['GET /healthz', 'GET /readyz', 'GET /', 'GET /openapi.json'];

const MCP_HEADERS = { accept: 'application/json, text/event-stream' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

/** The header that names a session of MCP. */
const SESSION = [{ name: 'mcp-session-id', in: 'header' }];

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  /** Names of members of its body; undefined if it has none. */
  readonly body: readonly string[] | undefined;
}

/** Operations that /openapi.json does not describe. */
const HIDDEN: readonly Operation[] = [
  { method: 'GET', path: '/', parameters: [], body: undefined },
  { method: 'GET', path: '/openapi.json', parameters: [], body: undefined },
  ...['GET', 'DELETE'].map((method) => ({ method, path: '/mcp', parameters: SESSION, body: undefined })),
  { method: 'POST', path: '/mcp', parameters: SESSION, body: ['jsonrpc', 'id', 'method', 'params'] },
];

let server: TestServer;
let harness: Harness;
let operations: readonly Operation[];
/** Every id that Ada's data has. */
let ids: readonly string[];

beforeAll(async () => {
  const auth = { token: TOKEN, authenticate: (token: string) => CALLERS[token] };
  const limits = { requestsPerPrincipal: 1_000_000, failuresPerAddress: 1_000_000 };
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-isolation-'));
  harness = createHarness({
    ...sharedThreads(),
    store: fileStore(join(folder, 'scripts')),
    suspensionKey: SUSPENSION_KEY,
    tools: [],
  });
  const workspace = tools.createWorkspace({ roots: folder, undo: { folder: join(folder, 'changes') } });
  const undo = new FolderUndo({ workspace, harness: async () => harness, approvals: 'deny', tools });
  const gateway = createGateway({ harness }).serveHttp();
  const mcp: McpEndpoint = {
    fetch: (request, { caller, body, onSession }) => {
      const rights = { mayRun: hasScope(caller, 'run'), mayDecide: hasScope(caller, 'approve') };
      return gateway.fetch(request, { caller: { principal: caller.principal, ...rights }, body, onSession });
    },
    close: () => gateway.close(),
  };
  server = await openTestServer({ auth, limits, folder, undo, mcp });
  ids = await makeData(server);
  operations = [...(await describedOperations()), ...HIDDEN];
});

afterAll(async () => {
  await server.close();
  await harness.close();
});

/** A thread with a run that has ended, one that waits, and their approvals. */
async function makeData(working: TestServer): Promise<readonly string[]> {
  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    working.call(method, path, body, { authorization: 'Bearer ada', ...headers });
  const found = new Set<string>();
  for (const verdict of ['approve', undefined]) {
    const key = { 'idempotency-key': `${CANARY}-${verdict}` };
    const { body } = await ask('POST', '/api/v2/submit', { prompt: `approve ${CANARY}` }, key);
    const approval = await until(async () => {
      const { body: page } = await ask('GET', `/api/v2/approvals?runId=${body.runId}`);
      return page.data[0] as Record<string, string> | undefined;
    });
    for (const id of [body.runId, body.threadId, body.turnId, approval.approvalId, approval.callId, approval.scriptId])
      found.add(id);
    if (verdict === undefined) continue;
    await ask('POST', `/api/v2/approvals/${approval.approvalId}`, { decision: verdict, note: CANARY });
    await until(async () =>
      (await ask('GET', `/api/v2/runs/${body.runId}`)).body.status === 'completed' ? true : undefined,
    );
  }
  for (const id of [...found].filter((one) => one.startsWith('thr_'))) {
    const { documents } = working.stores;
    await documents.save({ ...filePlace(id, id), text: CANARY, about: { title: CANARY } });
    const own = { kind: 'principal', id: CALLERS['ada']!.principal } as const;
    await documents.save({ scope: own, kind: 'prompt', name: id, text: CANARY, about: { description: CANARY } });
  }
  const request = { model: 'demo', input: `hello ${CANARY}`, metadata: { owner: CANARY } };
  const { body: response } = await ask('POST', '/v1/responses', request);
  const session = await fetch(`${working.url}/mcp`, {
    method: 'POST',
    headers: { authorization: 'Bearer ada', 'content-type': 'application/json', ...MCP_HEADERS },
    body: JSON.stringify(INITIALIZE),
  });
  return [...found, response.id, session.headers.get('mcp-session-id')].filter((id) => id !== undefined);
}

/** Operations on the resources of a principal. */
function aboutOwn(): readonly Operation[] {
  return operations.filter(({ path }) => withKind(path).includes('{') && !path.startsWith('/v1/models'));
}

function validBody(path: string): unknown {
  if (path.includes('approvals')) return 'approve';
  if (path.endsWith('/undo')) return {};
  return path.includes('providers') ? { key: 'x' } : { title: 'x' };
}

/** Kinds are known to everybody; the other parameters of a path name a resource. */
function withKind(path: string): string {
  return path.replace('{kind}', 'prompt');
}

function withIds(path: string, id: string): string {
  return withKind(path).replaceAll(/\{\w+\}/gu, id);
}

/** It ends with a full stop, or with the command that fixes the problem. */
const SENTENCE = /(?:\.|: toolscript .+)$/u;

/** A problem document, or an error in the form of the OpenAI API. */
function expectError(path: string, { status, type, text }: { status: number; type: string; text: string }): void {
  // The MCP endpoint answers after the server's own checks.
  if (path === '/mcp' && text.includes('"jsonrpc"')) return;
  const body = JSON.parse(text);
  if (path.startsWith('/v1/') && body.error !== undefined) {
    expect(body).toEqual({ error: expect.objectContaining({ message: expect.stringMatching(SENTENCE) }) });
    return;
  }
  expect(type).toMatch(/^application\/problem\+json/u);
  expect(body).toMatchObject({ status, title: expect.any(String), detail: expect.stringMatching(SENTENCE) });
}

async function describedOperations(): Promise<readonly Operation[]> {
  const { body } = await server.call('GET', '/openapi.json');
  return Object.entries(body.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      parameters,
      body: requestBody === undefined ? undefined : memberNames(requestBody.content['application/json']?.schema),
    })),
  );
}

interface Described {
  readonly parameters?: Operation['parameters'];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly anyOf?: readonly Schema[];
}

function memberNames({ properties = {}, anyOf = [] }: Schema = {}): string[] {
  return [...Object.keys(properties), ...anyOf.flatMap(memberNames)];
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

function valueOf(): fc.Arbitrary<unknown> {
  const words = [
    '',
    'all',
    'approve',
    'full',
    'jsonl',
    'demo',
    'prompt',
    '1',
    '0',
    '-1',
    '..',
    '%',
    '*',
    `${CANARY}-principal`,
    CANARY,
  ];
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...ids) },
    { weight: 3, arbitrary: fc.constantFrom(...words) },
    { weight: 1, arbitrary: fc.string({ maxLength: 150 }) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

function textOf(): fc.Arbitrary<string> {
  return valueOf().map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

function requestOf({ method, path, parameters, body }: Operation): fc.Arbitrary<Asked> {
  const named = (place: string) => parameters.filter((one) => one.in === place).map(({ name }) => name);
  const texts = (names: readonly string[], options = {}) =>
    fc.record(Object.fromEntries(names.map((name) => [name, textOf()])), options) as fc.Arbitrary<
      Record<string, string>
    >;
  const some = { requiredKeys: [] };
  const bodies = fc.oneof(
    fc.record(Object.fromEntries((body ?? []).map((name) => [name, valueOf()])), some),
    fc.constantFrom<unknown>('approve', 'deny', { decision: 'approve', input: { name: CANARY } }, { title: 'taken' }),
    fc.constantFrom(...ids).map((threadId) => ({ prompt: 'hello', threadId, previous_response_id: threadId })),
    fc.jsonValue(),
  );
  return fc
    .record({
      path: texts(named('path')),
      query: texts(named('query'), some),
      headers: texts(named('header'), some),
      body: body === undefined ? fc.constant(undefined) : bodies,
    })
    .map((made) => ({
      method,
      url: `${Object.entries(made.path).reduce((whole, [name, value]) => whole.replace(`{${name}}`, encodeURIComponent(wellFormed(value)) || '_'), path)}?${new URLSearchParams(made.query)}`,
      headers: Object.fromEntries(
        Object.entries(made.headers).filter(([, value]) => value !== '' && /^[\u0021-\u007e]*$/u.test(value)),
      ),
      body: made.body === undefined ? undefined : JSON.stringify(made.body),
    }));
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '_');
}

async function send(name: string, { method, url, headers, body }: Asked) {
  const stop = new AbortController();
  const response = await fetch(`${server.url}${url}`, {
    method,
    signal: stop.signal,
    headers: {
      ...(url.startsWith('/mcp') ? MCP_HEADERS : {}),
      ...headers,
      ...(name === '' ? {} : { authorization: `Bearer ${name}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const type = response.headers.get('content-type') ?? '';
  // A stream stays open while its run waits.
  const isOpen = type.startsWith('text/event-stream') && response.headers.get('content-length') === null;
  const text = isOpen ? await firstOf(response) : await response.text();
  stop.abort();
  return { status: response.status, type, text };
}

async function firstOf({ body }: Response): Promise<string> {
  const reader = body!.getReader();
  const waited = new Promise<{ value: undefined }>((resolve) => setTimeout(() => resolve({ value: undefined }), 100));
  const { value } = await Promise.race([reader.read(), waited]);
  return value === undefined ? '' : new TextDecoder().decode(value);
}

/** Ada's data in an answer, except the data of its request. */
function leaks({ url, body = '', headers }: Asked, text: string): string[] {
  const said = `${decodeURIComponent(url.replaceAll('+', ' '))}${body}${JSON.stringify(headers)}`;
  return [CANARY, ...ids].filter((secret) => text.includes(secret) && !said.includes(secret));
}

/** All data that Ada can read. */
async function adasData(): Promise<unknown> {
  const ask = async (path: string) => (await server.call('GET', path, undefined, { authorization: 'Bearer ada' })).body;
  const { data: threads } = await ask('/api/v2/threads?limit=100');
  return {
    threads: await Promise.all(
      threads.map(({ threadId }: { threadId: string }) => ask(`/api/v2/threads/${threadId}?operations=full`)),
    ),
    runs: await Promise.all(ids.filter((id) => id.startsWith('run_')).map((id) => ask(`/api/v2/runs/${id}`))),
    prompts: await Promise.all(
      threads.map(({ threadId }: { threadId: string }) => ask(`/api/v2/saved/prompt/${threadId}`)),
    ),
    files: await Promise.all(
      threads.map(({ threadId }: { threadId: string }) => ask(`/api/v2/threads/${threadId}/files/${threadId}`)),
    ),
    approvals: await ask('/api/v2/approvals?state=all&limit=100'),
    audit: await ask('/api/v2/audit?limit=100'),
    session: await pinged(),
  };
}

/** The answer to a ping in Ada's session of MCP. */
async function pinged(): Promise<number> {
  const headers = { authorization: 'Bearer ada', ...MCP_HEADERS, 'mcp-session-id': ids.at(-1)! };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const { status } = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  expect(status).toBe(200);
  return status;
}

describe('over all operations of /openapi.json', () => {
  it('the search for leaks finds the data that Ada herself sees', async () => {
    const shown = new Set<string>();
    // Her runs name no image, and no rule is visible to her.
    const reading = aboutOwn().filter(({ method, path }) => method === 'GET' && !/\/images\/|\/rule$/u.test(path));
    const hidden = () => reading.filter(({ path }) => !shown.has(path));
    // Repeatedly, because the first part of a stream may come late.
    await until(async () => {
      for (const { path, method } of hidden())
        for (const id of ids) {
          const asked = { method, url: withIds(path, id), headers: {}, body: undefined };
          if (leaks(asked, (await send('ada', asked)).text).length > 0) shown.add(path);
        }
      return hidden().length === 0;
    });
  });

  it.each(['bob', 'nobody'])(
    'no data of Ada is visible to %s or changes, and each error is a problem',
    async (name) => {
      const before = await adasData();
      const statuses = new Map<string, Set<number>>();
      const ofOperations = operations.map((one) => requestOf(one).map((asked) => ({ one, asked })));
      await fc.assert(
        fc.asyncProperty(fc.oneof(...ofOperations), async ({ one, asked }) => {
          const { status, type, text } = await send(name, asked);
          expect(leaks(asked, text)).toEqual([]);
          expect(status).toBeLessThan(500);
          if (status >= 400) expectError(one.path, { status, type, text });
          const key = `${one.method} ${one.path}`;
          statuses.set(key, (statuses.get(key) ?? new Set()).add(status));
        }),
        // Enough that every operation is asked.
        { numRuns: tries(1_500, 800), endOnFailure: true },
      );
      expect(await adasData()).toEqual(before);
      for (const { method, path } of operations) {
        const seen = statuses.get(`${method} ${path}`) ?? new Set();
        expect(seen.size, `${method} ${path} was never asked`).toBeGreaterThan(0);
        const isOpen = [...seen].some((status) => status < 400);
        if (name === 'nobody') expect(isOpen, path).toBe(PUBLIC.includes(`${method} ${path}`));
      }
    },
  );

  it("Ada's thread, run, approval and stream are not found for others, including administrators", async () => {
    const before = await adasData();
    for (const name of ['bob', 'admin'])
      for (const { method, path, body } of aboutOwn())
        for (const id of ids) {
          const answer = await send(name, {
            method,
            url: withIds(path, id),
            headers: {},
            body: body === undefined ? undefined : JSON.stringify(validBody(path)),
          });
          const isRefused = name !== 'admin' && ADMINISTRATION.test(path);
          expect(answer.status, `${method} ${path} ${id}`).toBe(isRefused ? 403 : 404);
          expectError(path, answer);
        }
    expect(await adasData()).toEqual(before);
  });

  it('each one needs a token and a scope', async () => {
    for (const { method, path } of operations) {
      const asked = { method, url: withIds(path, 'x'), headers: {}, body: undefined };
      const isPublic = PUBLIC.includes(`${method} ${path}`);
      const without = await send('', asked);
      expect(without.status, `${method} ${path}`).toBe(isPublic ? 200 : 401);
      if (isPublic) continue;
      const { detail, error } = JSON.parse((await send('nobody', asked)).text);
      expect(detail ?? error.message).toMatch(/^The request needs the scope "(?:read|run|approve|admin)"/u);
      expect((await send('wrong', asked)).status).toBe(401);
    }
    expect(operations.length).toBeGreaterThan(12);
  });
});
