import { afterEach, describe, expect, it, vi } from 'vitest';
import { until } from '@toolscript/testkit/until';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../support/test-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(options: TestServerOptions): Promise<TestServer> {
  const authenticate = (token: string) => ({ principal: token, scopes: ['read', 'run'] as const });
  const server = await openTestServer({ drainMs: 100, auth: { token: TOKEN, authenticate }, ...options });
  closers.push(() => server.close());
  return server;
}

const as = (principal: string) => ({ authorization: `Bearer ${principal}` });
const submit = (server: TestServer, principal: string, body: object) =>
  server.call('POST', '/api/v2/submit', body, as(principal));
const get = (server: TestServer, principal: string, path: string) => server.call('GET', path, undefined, as(principal));

describe('large reads of one principal', () => {
  it('are limited until they end: one more gets 429, and another principal has its own limit', async () => {
    const server = await open({ workers: 0, limits: { largeReadsPerPrincipal: 1 } });
    const threads = { ada: '', bob: '' };
    for (const name of ['ada', 'bob'] as const)
      threads[name] = (await submit(server, name, { prompt: 'look' })).body.threadId;
    const readItems = server.stores.threads.readItems.bind(server.stores.threads);
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const spy = vi.spyOn(server.stores.threads, 'readItems');
    spy.mockImplementationOnce(async (...query) => held.then(() => readItems(...query)));
    const first = get(server, 'ada', `/api/v2/threads/${threads.ada}`);
    await until(() => spy.mock.calls.length === 1);
    for (const path of [`/api/v2/threads/${threads.ada}`, '/api/v2/threads?text=x', '/api/v2/audit']) {
      const refused = await get(server, 'ada', path);
      expect([refused.status, refused.body.detail]).toEqual([
        429,
        expect.stringMatching(/^1 of your requests .* the maximum \(limits\.largeReadsPerPrincipal of the server\)/u),
      ]);
    }
    expect((await get(server, 'ada', '/api/v2/threads')).status).toBe(200);
    expect((await get(server, 'bob', `/api/v2/threads/${threads.bob}`)).status).toBe(200);
    release();
    expect((await first).status).toBe(200);
    await until(async () => (await get(server, 'ada', '/api/v2/audit')).status === 200);
  });
});

describe('runs of one principal', () => {
  it('leave a worker to others by default', async () => {
    const server = await open({ workers: 2 });
    const claim = vi.spyOn(server.stores.runs, 'claim');
    const { runId } = (await submit(server, 'ada', { prompt: 'look' })).body;
    await until(async () => (await server.stores.runs.get(runId))?.state === 'completed');
    expect(new Set(claim.mock.calls.map(([{ maxPerPrincipal }]) => maxPerPrincipal))).toEqual(new Set([1]));
  });
});

describe('the size of the threads of one principal', () => {
  const long = (length: number) => ({ prompt: 'x'.repeat(length) });

  it('is limited, and the error names the limit', async () => {
    const server = await open({ workers: 0, limits: { bytesPerThread: 10_000 } });
    const { threadId } = (await submit(server, 'ada', long(6_000))).body;
    const refused = await submit(server, 'ada', { ...long(6_000), threadId });
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringMatching(/at most 10000 \(limits\.bytesPerThread of the server\)\. Start a new thread\.$/u),
    ]);
    expect((await submit(server, 'ada', long(6_000))).status).toBe(202);
    const api = await server.call('POST', '/v1/responses', { model: 'demo', input: 'x'.repeat(11_000) }, as('ada'));
    expect(api.status).toBe(409);
  });

  it('is limited for all threads together, and a deletion makes room', async () => {
    const server = await open({ workers: 0, limits: { bytesPerPrincipal: 10_000 } });
    const { threadId } = (await submit(server, 'ada', long(6_000))).body;
    const refused = await submit(server, 'ada', long(6_000));
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringMatching(/at most 10000 are allowed \(limits\.bytesPerPrincipal of the server\)/u),
    ]);
    for (const principal of ['bob', TOKEN]) expect((await submit(server, principal, long(6_000))).status).toBe(202);
    await server.call('DELETE', `/api/v2/threads/${threadId}`, undefined, as('ada'));
    expect((await submit(server, 'ada', long(6_000))).status).toBe(202);
  });

  it('counts what branches copy, before they copy it, and for requests at the same time', async () => {
    const server = await open({ workers: 1, limits: { bytesPerPrincipal: 400_000 } });
    const first = (await submit(server, 'ada', long(10_000))).body;
    await until(async () => (await server.stores.runs.get(first.runId))?.state === 'completed');
    const { threadId } = first;
    const { turnId: branchBefore } = (await submit(server, 'ada', { prompt: 'second', threadId })).body;
    const branches = Array.from({ length: 60 }, () => submit(server, 'ada', { prompt: 'x', threadId, branchBefore }));
    const states = (await Promise.all(branches)).map(({ status }) => status);
    const made = states.filter((status) => status === 202).length;
    expect(made, JSON.stringify(states)).toBeGreaterThan(0);
    expect(made).toBeLessThan(40);
    expect(new Set(states)).toEqual(new Set([202, 409]));
    expect((await server.stores.threads.list({ principal: 'ada' })).threads).toHaveLength(made + 1);
  });
});
