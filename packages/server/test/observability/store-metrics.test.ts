import { MAX_DELIVERIES } from '@toolscript/core/ports';
import type { StreamEvent } from '@toolscript/core/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { PERSISTENCE_GROUP } from '@toolscript/service';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../support/test-server.js';

const OLD_MS = 90_000;

const event = (seq: number): StreamEvent => ({
  event_id: `evt_${seq}`,
  run_id: 'run_a',
  thread_id: 'thr_a',
  turn_id: 'turn_a',
  seq,
  timestamp: Date.now() - OLD_MS,
  payload: { type: 'item_delta', item_id: 'item_1', delta: 'text' },
});

async function opened(options: TestServerOptions): Promise<TestServer> {
  const server = await openTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** The values of the log and the stores. */
async function figures({ url }: TestServer): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const lines = (await response.text()).matchAll(
    /^toolscript_(event_log_up|event_log_warnings|persistence_\w+|dead_letters|store_up) (.+)$/gmu,
  );
  return Object.fromEntries([...lines].map(([, name, value]) => [name!, Number(value)]));
}

it('the metrics show how far the persistence workers are behind, and the runs that they have given up', async () => {
  const server = await opened({ roles: ['api'] });
  const { events: log } = server;
  const idle = { store_up: 1, event_log_up: 1, event_log_warnings: 0 };
  expect(await figures(server)).toEqual({
    ...idle,
    persistence_pending_runs: 0,
    persistence_lag_seconds: 0,
    dead_letters: 0,
  });
  await log.open(event(0).run_id, 1);
  await log.publish(1, [event(0), event(1)]);
  const behind = await figures(server);
  expect(behind).toMatchObject({ persistence_pending_runs: 1, dead_letters: 0 });
  expect(behind.persistence_lag_seconds).toBeGreaterThanOrEqual(OLD_MS / 1000);
  const options = { group: PERSISTENCE_GROUP, consumer: 'the test', leaseMs: 60_000 };
  for (let attempt = 0; attempt < MAX_DELIVERIES; attempt++) await log.reject((await log.receive(options))!, 'no');
  expect(await figures(server)).toMatchObject({
    persistence_pending_runs: 0,
    persistence_lag_seconds: 0,
    dead_letters: 1,
  });
});

it('without persistence workers, nothing is behind', async () => {
  const server = await opened({ workers: 0 });
  await server.events.open(event(0).run_id, 1);
  await server.events.publish(1, [event(0)]);
  expect(await figures(server)).toMatchObject({ persistence_pending_runs: 0, persistence_lag_seconds: 0 });
});

it('a scrape does not wait long for a log and for stores that do not answer, and says so', async () => {
  const server = await opened({ workers: 0 });
  Object.assign(server.stores.runs, { list: () => new Promise(() => {}) });
  Object.assign(server.events, { warnings: () => Promise.reject(new Error('no log')) });
  expect(await figures(server)).toMatchObject({ store_up: 0, event_log_up: 0 });
});
