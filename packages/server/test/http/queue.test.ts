import { afterEach, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

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
const submit = (server: TestServer, principal: string, prompt = 'slow 0.1') =>
  server.call('POST', '/api/v2/submit', { prompt }, as(principal));

describe('the queue', () => {
  it('is limited by principal: one more run gets 429, and another principal has its own limit', async () => {
    const server = await open({ workers: 0, limits: { queuedRunsPerPrincipal: 2 } });
    for (const principal of ['ada', 'ada', 'bob']) expect((await submit(server, principal)).status).toBe(202);
    const refused = await submit(server, 'ada');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect(refused.body.detail).toMatch(/^You have 2 runs in the queue, the maximum\. Try again in 5 seconds\.$/u);
    const ofResponses = await server.call('POST', '/v1/responses', { model: 'demo', input: 'look' }, as('ada'));
    expect([ofResponses.status, ofResponses.headers.get('retry-after')]).toEqual([429, '5']);
    for (const principal of ['bob', TOKEN, TOKEN, TOKEN]) expect((await submit(server, principal)).status).toBe(202);
  });

  it('lets a principal with one run pass one with many', async () => {
    const server = await open({ workers: 2 });
    const noisy: string[] = [];
    for (let count = 0; count < 16; count++) noisy.push((await submit(server, 'ada')).body.runId);
    const { runId } = (await submit(server, 'bob')).body;
    await until(async () => (await server.stores.runs.get(runId))?.state === 'completed');
    expect((await server.stores.runs.get(noisy.at(-1)!))?.state).toBe('queued');
  });

  it('keeps the runs of one principal below its limit, whatever room there is', async () => {
    const server = await open({ workers: 4, limits: { runsPerPrincipal: 1 } });
    const runs = [await submit(server, 'ada', 'slow 0.1'), await submit(server, 'ada', 'slow 0.1')];
    const bob = await submit(server, 'bob', 'slow 0.1');
    let [most, isDone] = [0, false];
    while (!isDone) {
      const all = await Promise.all([...runs, bob].map(({ body }) => server.stores.runs.get(body.runId)));
      const running = all.filter((run) => run?.state === 'running' && run.principal === 'ada').length;
      most = Math.max(most, running);
      isDone = all.every((run) => run?.state === 'completed');
    }
    expect(most).toBe(1);
  });
});
