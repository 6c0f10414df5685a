import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  EventOrderError,
  InvalidCursorError,
  MAX_DELIVERIES,
  StaleEpochError,
  ToolscriptUsageError,
  type EventLog,
  type StreamEvent,
} from '../protocol/index.js';
import {
  DONE,
  runEvent,
  runEvents,
  GARBAGE_CURSORS,
  HOSTILE_TEXTS,
  logLaw,
  messagePayload,
  refuses,
  TestClock,
  type EventLogLaw,
} from './service-laws.js';

/** The laws for every `EventLog`. Run each law in the test framework of your choice. */
export function eventLogConformance(): readonly EventLogLaw[] {
  return [...publishLaws, ...subscriptionLaws, ...groupLaws];
}

const RUN = { runId: 'run_a', threadId: 'thr_a', turnId: 'turn_a' };
const OTHER = { runId: 'run_b', threadId: 'thr_b', turnId: 'turn_b' };

const publishLaws: readonly EventLogLaw[] = [
  logLaw('published events are read unchanged and in order', async (log) => {
    const events = [
      runEvent(RUN, 0, messagePayload('i', HOSTILE_TEXTS.join('|'))),
      runEvent(RUN, 1, messagePayload('j', 'é'.repeat(500_000))),
      ...runEvents(RUN, 20, 2),
    ];
    await publish(log, 1, events.slice(0, 2));
    await publish(log, 1, events.slice(2));
    deepStrictEqual(await readAll(log, 'run_a'), events);
    deepStrictEqual(await log.read('run_a', { from: 3, limit: 1 }), { events: [events[3]], next: 4 });
    for (const runId of ['run_b', ...HOSTILE_TEXTS]) deepStrictEqual(await log.read(runId), { events: [] });
  }),
  logLaw('events that are published again are skipped, as a whole batch or in part', async (log) => {
    const events = runEvents(RUN, 6);
    await publish(log, 1, events.slice(0, 4));
    for (const part of [events.slice(0, 4), events.slice(1, 2), events.slice(2)]) await publish(log, 1, part);
    deepStrictEqual(await readAll(log, 'run_a'), events);
  }),
  logLaw('a gap, and another event at the same seq, are rejected with the whole batch', async (log) => {
    const events = runEvents(RUN, 6);
    await refuses(() => publish(log, 1, events.slice(1)), EventOrderError);
    deepStrictEqual(await log.open('run_a', 1), { nextSeq: 0, isEnded: false });
    await publish(log, 1, events.slice(0, 2));
    await refuses(() => publish(log, 1, events.slice(3)), EventOrderError);
    await refuses(() => publish(log, 1, [runEvent(RUN, 1, DONE), events[2]!]), EventOrderError);
    deepStrictEqual(await readAll(log, 'run_a'), events.slice(0, 2));
  }),
  logLaw('a later epoch fences the earlier ones as soon as it is opened', async (log) => {
    await publish(log, 1, runEvents(RUN, 2));
    deepStrictEqual(await log.open('run_a', 2), { nextSeq: 2, isEnded: false });
    await refuses(() => publish(log, 1, runEvents(RUN, 1, 2)), StaleEpochError);
    await refuses(() => publish(log, 1, runEvents(RUN, 2)), StaleEpochError);
    await refuses(() => log.open('run_a', 1), StaleEpochError);
    await publish(log, 2, runEvents(RUN, 1, 2));
    await publish(log, 4, runEvents(RUN, 1, 3));
    await refuses(() => publish(log, 3, runEvents(RUN, 1, 4)), StaleEpochError);
    deepStrictEqual(await log.open('run_a', 4), { nextSeq: 4, isEnded: false });
    await publish(log, 1, runEvents(OTHER, 1));
  }),
  logLaw('a run that the log does not know, or has lost, is published only after it was opened', async (log) => {
    await refuses(() => log.publish(1, runEvents(RUN, 1)), EventOrderError);
    deepStrictEqual(await log.list(), { runs: [] });
    await publish(log, 1, runEvents(RUN, 2));
    await log.open('run_a', 2);
    await log.delete('run_a');
    // The events of a process that has lost the run would become the first ones.
    await refuses(() => log.publish(1, runEvents(RUN, 1)), EventOrderError);
    deepStrictEqual(await log.read('run_a'), { events: [] });
    await log.open('run_a', 2);
    await refuses(() => log.publish(1, runEvents(RUN, 1)), StaleEpochError);
  }),
  logLaw('of a later epoch, nothing is trimmed or deleted under an earlier one', async (log) => {
    const events = runEvents(RUN, 3);
    await publish(log, 1, events);
    await log.open('run_a', 2);
    await log.trim('run_a', 2, 1);
    await log.delete('run_a', 1);
    deepStrictEqual(await log.read('run_a'), { events });
    for (const epoch of [-1, 0.5, Number.NaN]) {
      await refuses(() => log.trim('run_a', 2, epoch), ToolscriptUsageError);
      await refuses(() => log.delete('run_a', epoch), ToolscriptUsageError);
    }
    await log.trim('run_a', 2, 2);
    deepStrictEqual(await log.read('run_a'), { events: events.slice(2) });
    await log.delete('run_a', 3);
    deepStrictEqual(await log.list(), { runs: [] });
  }),
  logLaw('of concurrent claims that open a new run, the latest one owns it', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const epochs = [3, 1, 5, 2, 4];
    await Promise.allSettled(epochs.map((epoch, index) => (index % 2 === 0 ? log : beside).open('run_a', epoch)));
    await refuses(() => log.open('run_a', 4), StaleEpochError);
    deepStrictEqual(await log.open('run_a', 5), { nextSeq: 0, isEnded: false });
  }),
  logLaw('no event follows the last event of a run, but this last event may be repeated', async (log) => {
    await refuses(() => publish(log, 1, [runEvent(RUN, 0, DONE), runEvent(RUN, 1)]), EventOrderError);
    const suspended = runEvent(RUN, 0, { type: 'response_done', status: 'suspended' });
    const error = runEvent(RUN, 1, { type: 'response_error', code: 'E', message: 'm' });
    await publish(log, 1, [suspended, error, runEvent(RUN, 2, DONE)]);
    await publish(log, 1, [runEvent(RUN, 2, DONE)]);
    await refuses(() => publish(log, 2, [runEvent(RUN, 3)]), EventOrderError);
    deepStrictEqual(await log.open('run_a', 2), { nextSeq: 3, isEnded: true });
  }),
  logLaw('events that are not a batch of one run are rejected', async (log) => {
    const [zero, one] = runEvents(RUN, 2) as [StreamEvent, StreamEvent];
    for (const batch of [
      [],
      [one, zero],
      [zero, zero],
      [zero, runEvent(OTHER, 1)],
      [{ ...zero, payload: {} }],
      [null],
      'x',
    ])
      await refuses(() => log.publish(1, batch as never), ToolscriptUsageError);
    for (const epoch of [-1, 0.5, Number.NaN]) await refuses(() => log.publish(epoch, [zero]), ToolscriptUsageError);
    for (const range of [{ from: -1 }, { limit: 0 }, { limit: 1_001 }])
      await refuses(() => log.read('run_a', range), ToolscriptUsageError);
  }),
  logLaw('many concurrent writers, across two handles, store each event once', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const events = runEvents(RUN, 50);
    const write = async (writer: EventLog) => {
      for (let end = 1; end <= events.length; end++) await publish(writer, 1, events.slice(Math.max(0, end - 4), end));
    };
    await Promise.all([write(log), write(beside), write(beside)]);
    deepStrictEqual(await readAll(beside, 'run_a'), events);
  }),
  logLaw('the runs of the log are listed in opening order, page by page, without deleted ones', async (log) => {
    deepStrictEqual(await log.list(), { runs: [] });
    await log.open('run_b', 1);
    await publish(log, 1, runEvents(RUN, 2));
    await publish(log, 1, [runEvent(RUN, 2, DONE)]);
    const first = { runId: 'run_b', nextSeq: 0, isEnded: false };
    const second = { runId: 'run_a', nextSeq: 3, isEnded: true };
    deepStrictEqual(await log.list(), { runs: [first, second] });
    const page = await log.list({ limit: 1 });
    deepStrictEqual(page.runs, [first]);
    deepStrictEqual(await log.list({ limit: 1, after: page.next! }), { runs: [second] });
    for (const after of GARBAGE_CURSORS) await refuses(() => log.list({ after }), InvalidCursorError);
    await log.delete('run_b');
    deepStrictEqual(await log.list(), { runs: [second] });
  }),
  logLaw('warnings are whole sentences, each one once, and reading them changes nothing', async (log) => {
    await publish(log, 1, runEvents(RUN, 2));
    const warnings = await log.warnings();
    for (const warning of warnings) ok(/^[A-Z].+\S\.$/u.test(warning), warning);
    strictEqual(new Set(warnings).size, warnings.length);
    deepStrictEqual(await log.list(), { runs: [{ runId: 'run_a', nextSeq: 2, isEnded: false }] });
    await publish(log, 1, runEvents(RUN, 1, 2));
  }),
  logLaw('trimmed events are read from an earlier source, and all other events stay', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const events = runEvents(RUN, 6);
    const earlier = async (from: number) => ({ events: events.slice(from, from + 2) });
    await log.trim('run_none', 3, 1);
    await publish(log, 1, events);
    for (const seq of [4, 2]) await beside.trim('run_a', seq, 1);
    deepStrictEqual(await readAll(log, 'run_a'), events.slice(4));
    deepStrictEqual((await log.read('run_a', { from: 1, limit: 1 })).events, [events[4]]);
    for (const part of [events, events.slice(0, 2), events.slice(3, 5)]) await publish(log, 1, part);
    deepStrictEqual(await log.open('run_a', 2), { nextSeq: 6, isEnded: false });
    const delivery = await log.receive({ group: 'persistence', consumer: 'c', leaseMs: 60_000 });
    deepStrictEqual(delivery?.events, events.slice(4));
    const seen = [collect(log.subscribe('run_a')), collect(log.subscribe('run_a', { from: 1, earlier }))];
    await beside.trim('run_a', 99, 2);
    deepStrictEqual(await log.read('run_a'), { events: [] });
    const late = collect(beside.subscribe('run_a', { earlier }));
    const end = runEvent(RUN, 6, DONE);
    await publish(log, 2, [end]);
    deepStrictEqual(
      (await seen[1])?.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6],
    );
    deepStrictEqual((await seen[0])?.at(-1), end);
    deepStrictEqual(await late, [...events, end]);
    strictEqual(await log.acknowledge(delivery!), true);
    const next = await log.receive({ group: 'persistence', consumer: 'c', leaseMs: 60_000 });
    deepStrictEqual(next?.events, [end]);
    await refuses(() => log.trim('run_a', -1, 1), ToolscriptUsageError);
  }),
  logLaw('a run whose events are all trimmed has nothing to deliver', async (log) => {
    await publish(log, 1, runEvents(RUN, 3));
    await log.trim('run_a', 3, 1);
    const options = { group: 'persistence', consumer: 'c', leaseMs: 60_000 };
    strictEqual(await log.receive(options), undefined);
    await publish(log, 1, runEvents(RUN, 1, 3));
    await log.trim('run_a', 4, 1);
    strictEqual(await log.receive(options), undefined);
  }),
  logLaw('a deleted run is gone, and can start again', async (log) => {
    await publish(log, 5, [...runEvents(RUN, 3), runEvent(RUN, 3, DONE)]);
    await publish(log, 1, runEvents(OTHER, 1));
    await log.delete('run_a');
    await log.delete('run_a');
    deepStrictEqual(await log.read('run_a'), { events: [] });
    strictEqual((await log.read('run_b')).events.length, 1);
    await publish(log, 1, runEvents(RUN, 1));
  }),
];

/** Publishes events as a worker that has claimed their run. */
async function publish(log: EventLog, epoch: number, events: readonly StreamEvent[]): Promise<void> {
  await log.open(events[0]!.run_id, epoch);
  await log.publish(epoch, events);
}

async function readAll(log: EventLog, runId: string): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = await log.read(runId, { from });
    all.push(...page.events);
    from = page.next;
  }
  return all;
}

const subscriptionLaws: readonly EventLogLaw[] = [
  logLaw('a subscription yields each event once, old and new, and ends with the run', async (log) => {
    const events = [...runEvents(RUN, 30), runEvent(RUN, 30, DONE)];
    await publish(log, 1, events.slice(0, 10));
    const all = collect(log.subscribe('run_a'));
    for (const event of events.slice(10)) await publish(log, 1, [event]);
    deepStrictEqual(await all, events);
  }),
  logLaw('subscriptions that start at any moment of a publication miss and duplicate nothing', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const events = [...runEvents(RUN, 120), runEvent(RUN, 120, DONE)];
    const collected: { from: number; all: Promise<StreamEvent[]> }[] = [];
    for (const [index, event] of events.entries()) {
      if (index % 10 === 3)
        for (const [each, from] of [
          [log, 0],
          [beside, index + 5],
          [beside, Math.max(0, index - 5)],
        ] as const)
          collected.push({ from, all: collect(each.subscribe('run_a', { from })) });
      await publish(log, 1, [event]);
      if (index % 7 === 0) await nextTurn();
    }
    for (const { from, all } of collected) deepStrictEqual(await all, events.slice(from));
  }),
  logLaw('a subscription waits for the first event of a run, through another handle too', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const all = collect(beside.subscribe('run_a'));
    await nextTurn();
    await publish(log, 1, runEvents(OTHER, 1));
    const events = [...runEvents(RUN, 3), runEvent(RUN, 3, DONE)];
    await publish(log, 1, events);
    deepStrictEqual(await all, events);
  }),
  logLaw('a subscription after the end of a run ends at once', async (log) => {
    await publish(log, 1, [runEvent(RUN, 0), runEvent(RUN, 1, DONE)]);
    deepStrictEqual(await collect(log.subscribe('run_a', { from: 2 })), []);
    deepStrictEqual(await collect(log.subscribe('run_a', { from: 99 })), []);
    strictEqual((await collect(log.subscribe('run_a', { from: 1 }))).length, 1);
  }),
  logLaw('an invalid run id or position is rejected, and not waited for', async (log) => {
    for (const runId of HOSTILE_TEXTS.filter((text) => !/^\w+$/u.test(text)))
      await refuses(() => collect(log.subscribe(runId)), ToolscriptUsageError);
    for (const from of [-1, 0.5, Number.NaN])
      await refuses(() => collect(log.subscribe('run_a', { from })), ToolscriptUsageError);
  }),
  logLaw('a suspended run’s subscription stays open', async (log) => {
    const events = [
      runEvent(RUN, 0, { type: 'response_done', status: 'suspended' }),
      runEvent(RUN, 1),
      runEvent(RUN, 2, DONE),
    ];
    await publish(log, 1, events.slice(0, 1));
    const all = collect(log.subscribe('run_a'));
    await nextTurn();
    await publish(log, 2, events.slice(1));
    deepStrictEqual(await all, events);
  }),
  logLaw('an abort ends a subscription that waits, that reads, or that has not started', async (log) => {
    await publish(log, 1, runEvents(RUN, 3));
    const controller = new AbortController();
    const seen: number[] = [];
    const waits = (async () => {
      for await (const { seq } of log.subscribe('run_a', { signal: controller.signal })) seen.push(seq);
    })();
    while (seen.length < 3) await nextTurn();
    controller.abort();
    await waits;
    deepStrictEqual(await collect(log.subscribe('run_a', { signal: controller.signal })), []);
    const second = new AbortController();
    let count = 0;
    for await (const _event of log.subscribe('run_a', { signal: second.signal })) {
      count += 1;
      second.abort();
    }
    strictEqual(count, 1);
  }),
  logLaw('a subscription ends when its run is deleted, and when the log is closed', async (log) => {
    await publish(log, 1, runEvents(RUN, 1));
    const deleted = startCollecting(log, 'run_a');
    await deleted.first;
    await log.delete('run_a');
    strictEqual((await deleted.all).length, 1);
    await publish(log, 1, runEvents(OTHER, 2));
    const closed = startCollecting(log, 'run_b');
    await closed.first;
    await log.close();
    strictEqual((await closed.all).length, 2);
  }),
  logLaw('a slow reader gets everything, and delays no other reader', async (log) => {
    const events = [...runEvents(RUN, 2_500), runEvent(RUN, 2_500, DONE)];
    const slow: StreamEvent[] = [];
    const reading = (async () => {
      for await (const event of log.subscribe('run_a')) {
        slow.push(event);
        if (event.seq % 200 === 0) await nextTurn();
      }
    })();
    for (let first = 0; first < events.length; first += 100) await publish(log, 1, events.slice(first, first + 100));
    strictEqual((await collect(log.subscribe('run_a'))).length, events.length);
    await reading;
    deepStrictEqual(slow, events);
  }),
];

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function startCollecting(log: EventLog, runId: string): { first: Promise<void>; all: Promise<StreamEvent[]> } {
  let begin = (): void => {};
  const first = new Promise<void>((resolve) => (begin = resolve));
  const all = (async () => {
    const seen: StreamEvent[] = [];
    for await (const event of log.subscribe(runId)) {
      seen.push(event);
      begin();
    }
    return seen;
  })();
  return { first, all };
}

const GROUP = { group: 'persistence', consumer: 'c', leaseMs: 1_000 };

const groupLaws: readonly EventLogLaw[] = [
  logLaw('a group gets each run’s events in order, and after an acknowledgement the next ones', async (log) => {
    strictEqual(await log.receive(GROUP), undefined);
    const events = runEvents(RUN, 5);
    await publish(log, 1, events.slice(0, 3));
    const first = (await log.receive({ ...GROUP, limit: 2 }))!;
    deepStrictEqual([first.runId, first.attempt, first.events], ['run_a', 1, events.slice(0, 2)]);
    strictEqual(await log.receive(GROUP), undefined);
    strictEqual(await log.acknowledge(first), true);
    strictEqual(await log.acknowledge(first), false);
    await publish(log, 1, events.slice(3));
    const second = (await log.receive(GROUP))!;
    deepStrictEqual([second.attempt, second.events], [1, events.slice(2)]);
    strictEqual(await log.acknowledge(second, 3), true);
    deepStrictEqual((await log.receive(GROUP))?.events, events.slice(4));
  }),
  logLaw('groups are independent, and each begins with the first event in the log', async (log) => {
    await publish(log, 1, runEvents(RUN, 2));
    await log.acknowledge((await log.receive(GROUP))!);
    const other = (await log.receive({ ...GROUP, group: 'audit' }))!;
    deepStrictEqual(other.events, runEvents(RUN, 2));
    strictEqual(await log.receive(GROUP), undefined);
  }),
  logLaw('runs are served in turn, each by one consumer at a time, across two handles', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    for (const run of [RUN, OTHER]) await publish(log, 1, runEvents(run, 4));
    const received = await Promise.all([log, beside, log, beside].map((each) => each.receive({ ...GROUP, limit: 1 })));
    const served = received.flatMap((delivery) => (delivery === undefined ? [] : [delivery]));
    deepStrictEqual(new Set(served.map(({ runId }) => runId)), new Set(['run_a', 'run_b']));
    strictEqual(served.length, 2);
    for (const delivery of served) strictEqual(await beside.acknowledge(delivery), true);
    const order: string[] = [];
    for (let count = 0; count < 4; count++) {
      const delivery = (await log.receive({ ...GROUP, limit: 1 }))!;
      order.push(delivery.runId);
      await log.acknowledge(delivery);
    }
    strictEqual(order.filter((runId, index) => runId === order[index + 1]).length, 0, order.join());
  }),
  logLaw('a stalled delivery is repeated, and its first consumer loses it', async (_, makeLog) => {
    const clock = new TestClock();
    const log = await makeLog({ now: clock.now });
    await publish(log, 1, runEvents(RUN, 2));
    const first = (await log.receive(GROUP))!;
    clock.nowMs += 999;
    strictEqual(await log.receive(GROUP), undefined);
    clock.nowMs += 1;
    const second = (await log.receive(GROUP))!;
    deepStrictEqual([second.attempt, second.events], [2, first.events]);
    strictEqual(await log.acknowledge(first), false);
    strictEqual(await log.reject(first, 'late'), false);
    strictEqual(await log.acknowledge(second), true);
    strictEqual(await log.receive(GROUP), undefined);
  }),
  logLaw('a stalled delivery that was not repeated can be acknowledged', async (_, makeLog) => {
    const clock = new TestClock();
    const log = await makeLog({ now: clock.now });
    await publish(log, 1, runEvents(RUN, 1));
    const delivery = (await log.receive(GROUP))!;
    clock.nowMs += 5_000;
    strictEqual(await log.acknowledge(delivery), true);
  }),
  logLaw('after five deliveries a run is a dead letter, until it is revived', async (log) => {
    for (const run of [RUN, OTHER]) await publish(log, 1, runEvents(run, 3));
    const attempts = { run_a: 0, run_b: 0 };
    for (let delivery = await log.receive(GROUP); delivery !== undefined; delivery = await log.receive(GROUP)) {
      attempts[delivery.runId as 'run_a'] += 1;
      if (delivery.runId === 'run_a' && delivery.events[0]?.seq === 0 && delivery.attempt === 1)
        await log.acknowledge(delivery, 0);
      else if (delivery.runId === 'run_a') strictEqual(await log.reject(delivery, `cause ${delivery.attempt}`), true);
      else await log.acknowledge(delivery);
    }
    deepStrictEqual(attempts, { run_a: 1 + MAX_DELIVERIES, run_b: 1 });
    const dead = { runId: 'run_a', seq: 1, reason: `cause ${MAX_DELIVERIES}` };
    deepStrictEqual(await log.deadLetters({ group: 'persistence' }), { letters: [dead] });
    deepStrictEqual(await log.deadLetters({ group: 'audit' }), { letters: [] });
    await publish(log, 1, runEvents(RUN, 1, 3));
    strictEqual(await log.receive(GROUP), undefined);
    for (const [group, runId] of [
      ['audit', 'run_a'],
      ['persistence', 'run_b'],
      ["'", "'"],
    ] as const)
      strictEqual(await log.revive(group, runId), false);
    strictEqual(await log.revive('persistence', 'run_a'), true);
    const again = (await log.receive(GROUP))!;
    deepStrictEqual([again.attempt, again.events], [1, runEvents(RUN, 3, 1)]);
    deepStrictEqual(await log.deadLetters({ group: 'persistence' }), { letters: [] });
  }),
  logLaw('a run whose consumers die silently becomes a dead letter too', async (_, makeLog) => {
    const clock = new TestClock();
    const log = await makeLog({ now: clock.now });
    await publish(log, 1, runEvents(RUN, 1));
    for (let attempt = 1; attempt <= MAX_DELIVERIES; attempt++) {
      strictEqual((await log.receive(GROUP))?.attempt, attempt);
      clock.nowMs += 1_000;
    }
    strictEqual(await log.receive(GROUP), undefined);
    deepStrictEqual((await log.deadLetters(GROUP_QUERY)).letters, [{ runId: 'run_a', seq: 0, reason: '' }]);
  }),
  logLaw('dead letters are listed page by page', async (log) => {
    for (let count = 0; count < 5; count++) await publish(log, 1, runEvents({ ...RUN, runId: `run_${count}` }, 1));
    for (let delivery = await log.receive(GROUP); delivery !== undefined; delivery = await log.receive(GROUP))
      await log.reject(delivery, 'no');
    const first = await log.deadLetters({ ...GROUP_QUERY, limit: 3 });
    const second = await log.deadLetters({ ...GROUP_QUERY, limit: 3, after: first.next! });
    const ids = [...first.letters, ...second.letters].map(({ runId }) => runId);
    deepStrictEqual(ids, ['run_0', 'run_1', 'run_2', 'run_3', 'run_4']);
    strictEqual(second.next, undefined);
    for (const after of GARBAGE_CURSORS)
      await refuses(() => log.deadLetters({ ...GROUP_QUERY, after }), InvalidCursorError);
  }),
  logLaw(
    'the lag of a group is the runs that it has not handled, the age of their events, and its dead letters',
    async (log) => {
      const eventTime = (run: typeof RUN, seq: number) => runEvents(run, 1, seq)[0]!.timestamp;
      deepStrictEqual(await log.lag('persistence'), { runs: 0, oldestAt: undefined, deadLetters: 0 });
      await log.open('run_empty', 1);
      for (const run of [RUN, OTHER]) await publish(log, 1, runEvents(run, 3));
      const oldestAt = Math.min(eventTime(RUN, 0), eventTime(OTHER, 0));
      deepStrictEqual(await log.lag('persistence'), { runs: 2, oldestAt, deadLetters: 0 });
      const first = (await log.receive(GROUP))!;
      deepStrictEqual(await log.lag('persistence'), { runs: 2, oldestAt, deadLetters: 0 });
      await log.acknowledge(first, 1);
      const [handled, other] = first.runId === 'run_a' ? [RUN, OTHER] : [OTHER, RUN];
      const stillAt = Math.min(eventTime(handled, 2), eventTime(other, 0));
      deepStrictEqual(await log.lag('persistence'), { runs: 2, oldestAt: stillAt, deadLetters: 0 });
      for (let delivery = await log.receive(GROUP); delivery !== undefined; delivery = await log.receive(GROUP))
        await (delivery.runId === handled.runId ? log.acknowledge(delivery) : log.reject(delivery, 'no'));
      deepStrictEqual(await log.lag('persistence'), { runs: 0, oldestAt: undefined, deadLetters: 1 });
      deepStrictEqual(await log.lag('audit'), { runs: 2, oldestAt, deadLetters: 0 });
      await log.revive('persistence', other.runId);
      deepStrictEqual(await log.lag('persistence'), { runs: 1, oldestAt: eventTime(other, 0), deadLetters: 0 });
      await log.delete(other.runId);
      deepStrictEqual(await log.lag('persistence'), { runs: 0, oldestAt: undefined, deadLetters: 0 });
    },
  ),
  logLaw('a deleted run is no longer delivered', async (log) => {
    await publish(log, 1, runEvents(RUN, 2));
    const delivery = (await log.receive(GROUP))!;
    await log.delete('run_a');
    strictEqual(await log.acknowledge(delivery), false);
    strictEqual(await log.receive(GROUP), undefined);
  }),
  logLaw('a watcher is woken by a publication through another handle', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const controller = new AbortController();
    const wakes = log.watch({ signal: controller.signal })[Symbol.asyncIterator]();
    for (let seq = 0; seq < 3; seq++) {
      const woken = wakes.next();
      await publish(beside, 1, runEvents(RUN, 1, seq));
      strictEqual((await woken).done, false);
    }
    const last = wakes.next();
    controller.abort();
    ok((await last).done === true || (await wakes.next()).done === true);
  }),
  logLaw('a watcher of a run is woken by its publications and acknowledgements', async (log, makeLog) => {
    const beside = await makeLog({ beside: log });
    const controller = new AbortController();
    const wakes = log.watch({ signal: controller.signal, runId: RUN.runId })[Symbol.asyncIterator]();
    const published = wakes.next();
    await publish(beside, 1, runEvents(OTHER, 1));
    await publish(beside, 1, runEvents(RUN, 1));
    strictEqual((await published).done, false);
    for (;;) {
      const delivery = await beside.receive({ ...GROUP_QUERY, consumer: 'c', leaseMs: 60_000 });
      if (delivery === undefined) break;
      const woken = delivery.runId === RUN.runId ? wakes.next() : undefined;
      await beside.acknowledge(delivery);
      if (woken !== undefined) strictEqual((await woken).done, false);
    }
    controller.abort();
  }),
];

const GROUP_QUERY = { group: 'persistence' };
