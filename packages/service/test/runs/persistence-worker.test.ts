import type { EventLog, Run, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { MAX_DELIVERIES, StoreUnavailableError } from '@toolscript/core/ports';
import { expect, it, onTestFinished } from 'vitest';
import { EventWriter } from '#service/runs/event-writer.js';
import { allEvents, PERSISTENCE_GROUP, PersistenceWorker } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';
import { until } from '@toolscript/testkit/until';

const LEASE = { owner: 'the test', leaseMs: 60_000 };

async function claimedRun({ runs }: ServiceStores): Promise<Run> {
  const input = [{ type: 'message' as const, id: 'item_u', role: 'user' as const, content: 'hello' }];
  const created = await runs.create({ principal: 'ada', thread: { create: {} }, input, claim: LEASE });
  return created.run;
}

async function publish({ log }: Pick<Parts, 'log'>, { runId }: Run, events: readonly StreamEvent[]): Promise<void> {
  await log.open(runId, 1);
  await log.publish(1, events);
}

const eventOf = ({ runId, threadId, turnId }: Run, seq: number, delta = `text ${seq}`): StreamEvent => ({
  event_id: `evt_${seq}`,
  run_id: runId,
  thread_id: threadId,
  turn_id: turnId,
  seq,
  timestamp: 175e10 + seq,
  payload: { type: 'item_delta', item_id: 'item_1', delta },
});
const eventsOf = (run: Run, count: number) => Array.from({ length: count }, (_, seq) => eventOf(run, seq));

interface Parts {
  readonly stores: ServiceStores;
  readonly log: EventLog;
}

function openParts(): Parts {
  return { stores: memoryStores(), log: memoryEventLog() };
}

/** Starts a persistence worker. Returns its faults. */
function persist({ stores, log }: Parts, threads: Partial<ServiceStores['threads']> = {}): unknown[] {
  const faults: unknown[] = [];
  const worker = new PersistenceWorker({
    threads: new Proxy(stores.threads, {
      get: (target, name) => {
        const member: unknown = Reflect.get(name in threads ? threads : target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    }),
    log,
    consumer: 'the test',
    onFault: (error) => faults.push(error),
  });
  worker.start();
  onTestFinished(() => worker.stop());
  return faults;
}

const storedCount = async ({ stores }: Parts, { runId }: Run) => (await allEvents(stores, runId)).length;

it('a persistence worker copies old and new events, and acknowledges them', async () => {
  const parts = openParts();
  const runs = [await claimedRun(parts.stores), await claimedRun(parts.stores)];
  for (const run of runs) await publish(parts, run, eventsOf(run, 700));
  const faults = persist(parts);
  for (const run of runs) await until(async () => (await storedCount(parts, run)) === 700);
  await publish(parts, runs[0]!, [eventOf(runs[0]!, 700)]);
  await until(async () => (await storedCount(parts, runs[0]!)) === 701);
  const options = { group: PERSISTENCE_GROUP, consumer: 'another', leaseMs: 1 };
  await until(async () => (await parts.log.receive(options)) === undefined);
  expect(faults).toEqual([]);
});

it('several persistence workers store each event once', async () => {
  const parts = openParts();
  const runs = await Promise.all(Array.from({ length: 10 }, () => claimedRun(parts.stores)));
  const all = [persist(parts), persist(parts), persist(parts)];
  for (let seq = 0; seq < 30; seq++) for (const run of runs) await publish(parts, run, [eventOf(run, seq)]);
  for (const run of runs) {
    await until(async () => (await storedCount(parts, run)) === 30);
    expect(await allEvents(parts.stores, run.runId)).toEqual(eventsOf(run, 30));
  }
  expect(all.flat()).toEqual([]);
});

it('events that do not fit the thread become a dead letter with the reason, and hold up no other run', async () => {
  const parts = openParts();
  const [bad, good] = [await claimedRun(parts.stores), await claimedRun(parts.stores)];
  await parts.stores.threads.append([eventOf(bad, 0, 'another text')]);
  for (const run of [bad, good]) await publish(parts, run, eventsOf(run, 3));
  const faults = persist(parts);
  const letters = async () => (await parts.log.deadLetters({ group: PERSISTENCE_GROUP })).letters;
  await until(async () => (await letters()).length > 0);
  expect(await letters()).toEqual([
    { runId: bad.runId, seq: 0, reason: expect.stringContaining('has a different event 0') },
  ]);
  await until(async () => (await storedCount(parts, good)) === 3);
  expect(faults).toHaveLength(MAX_DELIVERIES);
});

it('a store that does not answer is awaited, and makes no dead letters', async () => {
  const parts = openParts();
  const run = await claimedRun(parts.stores);
  await publish(parts, run, eventsOf(run, 3));
  let failures = 2;
  const faults = persist(parts, {
    append: async (...parameters) => {
      failures -= 1;
      if (failures >= 0) throw new StoreUnavailableError('The database is away.');
      return parts.stores.threads.append(...parameters);
    },
  });
  await until(async () => (await storedCount(parts, run)) === 3);
  expect(await parts.log.deadLetters({ group: PERSISTENCE_GROUP })).toEqual({ letters: [] });
  expect(faults.map((fault) => (fault as Error).message)).toEqual(['The database is away.']);
});

it('the events of a deleted thread are deleted', async () => {
  const parts = openParts();
  const run = await claimedRun(parts.stores);
  await parts.stores.threads.delete(run.threadId);
  await publish(parts, run, eventsOf(run, 3));
  const faults = persist(parts);
  await until(async () => (await parts.log.list()).runs.length === 0);
  expect(faults).toEqual([]);
});

function writerOf({ stores, log }: Parts, appended: number[] = []): { writer: EventWriter; failures: unknown[] } {
  const failures: unknown[] = [];
  const threads = new Proxy(stores.threads, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name !== 'append') return typeof member === 'function' ? member.bind(target) : member;
      return async (events: readonly StreamEvent[], options: object) => {
        appended.push(events.length);
        return target.append(events, options);
      };
    },
  });
  const onFailure = (error: unknown) => failures.push(error);
  const confirmHeld = async () => {};
  const settings = { log, threads, epoch: 1, confirmHeld, isPersistedElsewhere: true, onFailure };
  return { writer: new EventWriter(settings), failures };
}

it('a worker leaves the threads to the persistence worker, and a flush waits for it', async () => {
  const parts = openParts();
  const run = await claimedRun(parts.stores);
  persist(parts);
  const appended: number[] = [];
  const { writer } = writerOf(parts, appended);
  for (const event of eventsOf(run, 20)) writer.write(event);
  await writer.flush();
  expect(await storedCount(parts, run)).toBe(20);
  expect(appended).toEqual([]);
});

it('without a persistence worker, a flush stores the events itself', async () => {
  const parts = openParts();
  const run = await claimedRun(parts.stores);
  const { writer } = writerOf(parts);
  for (const event of eventsOf(run, 20)) writer.write(event);
  await writer.flush();
  expect(await allEvents(parts.stores, run.runId)).toEqual(eventsOf(run, 20));
});

it('a log that has lost its events gets them again, and the run continues', async () => {
  const parts = openParts();
  const run = await claimedRun(parts.stores);
  const { writer, failures } = writerOf(parts);
  const events = eventsOf(run, 6);
  for (const event of events.slice(0, 4)) writer.write(event);
  await writer.flushLog();
  await parts.log.delete(run.runId);
  for (const event of events.slice(4)) writer.write(event);
  await writer.flush();
  expect(await allEvents(parts.stores, run.runId)).toEqual(events);
  expect((await parts.log.read(run.runId)).events).toEqual(events);
  expect(failures).toEqual([]);
});
