import { memoryStore } from '@toolscript/core';
import type { StreamEvent } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { RunCleaner, streamRun } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const LEASE = { owner: 'the test', leaseMs: 60_000 };

/** A run whose first events are in the thread store. */
async function openRun(stored: number) {
  const [stores, log] = [memoryStores(), memoryEventLog()];
  const input = [{ type: 'message' as const, id: 'item_u', role: 'user' as const, content: 'hello' }];
  const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input, claim: LEASE });
  const { runId, threadId, turnId } = run;
  const events = Array.from({ length: 5 }, (_, seq): StreamEvent => ({
    event_id: `evt_${seq}`,
    run_id: runId,
    thread_id: threadId,
    turn_id: turnId,
    seq,
    timestamp: 175e10 + seq,
    payload: { type: 'item_delta', item_id: 'item_1', delta: `text ${seq}` },
  }));
  await log.open(runId, 1);
  await log.publish(1, events);
  if (stored > 0) await stores.threads.append(events.slice(0, stored));
  const faults: unknown[] = [];
  const cleaner = new RunCleaner({ stores, log, scripts: memoryStore(), onFault: (error) => faults.push(error) });
  return { stores, log, runId, events, cleaner, faults };
}

it('events of a run that has not ended leave the log at the second search, and its readers still get all', async () => {
  const { stores, log, runId, events, cleaner, faults } = await openRun(5);
  await cleaner.clean();
  expect((await log.read(runId)).events).toEqual(events);
  const newer = { ...events[4]!, seq: 5, event_id: 'evt_5' };
  await log.publish(1, [newer]);
  await cleaner.clean();
  expect((await log.read(runId)).events).toEqual([newer]);
  const seen: StreamEvent[] = [];
  for await (const event of streamRun(stores, log, runId, { from: 1, signal: new AbortController().signal })) {
    seen.push(event);
    if (event.seq === 5) break;
  }
  expect(seen).toEqual([...events.slice(1), newer]);
  expect(faults).toEqual([]);
});

it('events that the thread store lacks stay in the log', async () => {
  const { log, runId, events, cleaner, faults } = await openRun(4);
  for (let search = 0; search < 3; search += 1) await cleaner.clean();
  expect((await log.read(runId)).events).toEqual(events);
  expect(faults).toEqual([]);
});
