import { memoryStores, openEventLog, openStores } from '@toolscript/service/stores';
import { until } from '@toolscript/testkit/until';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ChangedLists } from '#server/http/changed-lists.js';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const as = (principal: string) => ({ authorization: `Bearer ${principal}` });

/** A server over stores in memory, which no other process changes, and the number of its list queries by principal. */
async function open(): Promise<{ server: TestServer; listsOf: (principal: string) => number }> {
  const [stores, events] = [await openStores('memory:'), await openEventLog('memory:')];
  const lists = [vi.spyOn(stores.threads, 'list'), vi.spyOn(stores.threads, 'listApprovals')];
  const authenticate = (token: string) => ({ principal: token, scopes: ['read', 'run'] as const });
  const server = await openTestServer({ stores, events, workers: 0, auth: { token: TOKEN, authenticate } });
  closers.push(() => server.close());
  const calls = () => lists.flatMap((list) => list.mock.calls as [{ principal?: string }?][]);
  return { server, listsOf: (principal) => calls().filter(([query]) => query?.principal === principal).length };
}

/** Opens streams. Returns the number of events that each has received. */
async function openStreams(server: TestServer, principal: string, count: number): Promise<() => number[]> {
  const received = Array.from({ length: count }, () => 0);
  const stop = new AbortController();
  closers.push(() => stop.abort());
  const follow = async (index: number) => {
    const response = await fetch(`${server.url}/api/v2/changes`, { headers: as(principal), signal: stop.signal });
    for await (const chunk of response.body ?? [])
      received[index]! += new TextDecoder().decode(chunk).split('event: changed').length - 1;
  };
  for (const index of received.keys()) void follow(index).catch(() => {});
  await until(() => received.every((events) => events === 1));
  return () => received;
}

const submit = (server: TestServer, principal: string) =>
  server.call('POST', '/api/v2/submit', { prompt: 'look' }, as(principal));

describe('the work for streams of changes', () => {
  it('is at most one query for each principal and change, however many streams are open', async () => {
    for (const count of [1, 20]) {
      const { server, listsOf } = await open();
      const received = await openStreams(server, 'bob', count);
      const atStart = listsOf('bob');
      expect(atStart).toBe(1);
      await submit(server, 'bob');
      await until(() => received().every((events) => events === 2));
      expect(listsOf('bob') - atStart).toBe(1);
    }
  });

  it('is none for a change of another principal', async () => {
    const { server, listsOf } = await open();
    const ofBob = await openStreams(server, 'bob', 20);
    const ofAda = await openStreams(server, 'ada', 1);
    const before = listsOf('bob');
    await submit(server, 'ada');
    await until(() => ofAda()[0] === 2);
    const { body } = await server.call('GET', '/api/v2/threads', undefined, as('ada'));
    await server.call('PATCH', `/api/v2/threads/${body.data[0].threadId}`, { title: 'renamed' }, as('ada'));
    await until(() => ofAda()[0] === 3);
    expect([listsOf('bob'), Math.max(...ofBob())]).toEqual([before, 1]);
  });

  it('starts again for a stream that follows the last one', async () => {
    const { server } = await open();
    const stop = new AbortController();
    const first = await fetch(`${server.url}/api/v2/changes`, { headers: as('bob'), signal: stop.signal });
    await first.body!.getReader().read();
    stop.abort();
    const received = await openStreams(server, 'bob', 1);
    await submit(server, 'bob');
    await until(() => received()[0] === 2);
  });

  it('wakes few streams in a turn of the event loop, however many are open', async () => {
    const stores = memoryStores();
    const lists = new ChangedLists(stores);
    const stops = Array.from({ length: 45 }, () => new AbortController());
    let events = 0;
    const follow = async ({ signal }: AbortController) => {
      for await (const _change of lists.follow('bob', signal)) events += 1;
    };
    const streams = stops.map(follow);
    await until(() => events === streams.length);
    let most = 0;
    const input = [{ type: 'message' as const, id: 'msg_1', role: 'user' as const, content: 'look' }];
    await stores.runs.create({ principal: 'bob', thread: { create: {} }, input });
    while (events < 2 * streams.length) {
      const before = events;
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, events - before);
    }
    expect(most).toBeLessThanOrEqual(10);
    for (const stop of stops) stop.abort();
    await Promise.all(streams);
  });
});
