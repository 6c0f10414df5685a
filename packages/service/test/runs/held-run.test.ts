import { setTimeout as delay } from 'node:timers/promises';
import { foldResponse } from '@toolscript/core/history';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventLog, EventPayload, StreamEvent } from '@toolscript/core/protocol';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { HeldRun, type HeldRunSettings } from '#service/runs/held-run.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const text = fc.array(fc.string({ unit: 'binary', maxLength: 4 }), { maxLength: 12 });

/** Messages of several deltas. The deltas of two messages never interleave. */
const payloads = fc.array(text, { maxLength: 4 }).map((messages): EventPayload[] => [
  { type: 'response_start' },
  ...messages.flatMap((deltas, index): EventPayload[] => {
    const id = `item_${index}`;
    const final_item = { type: 'message' as const, id, role: 'assistant' as const, content: deltas.join('') };
    return [
      { type: 'item_start', item_id: id, item_type: 'message' },
      ...deltas.map((delta): EventPayload => ({ type: 'item_delta', item_id: id, delta })),
      // Without its end, a message is the text of its deltas.
      ...(index % 2 === 0 ? [] : [{ type: 'item_done' as const, item_id: id, final_item }]),
    ];
  }),
  { type: 'response_done', status: 'completed' },
]);

/** A log whose writes take time. */
function slowLog(): EventLog {
  const log = memoryEventLog({});
  return new Proxy(log, {
    get: (target, name: keyof EventLog) =>
      name === 'publish'
        ? async (...parameters: Parameters<EventLog['publish']>) => (await delay(1), target.publish(...parameters))
        : (target[name] as () => unknown).bind(target),
  });
}

async function heldRun(log: EventLog, settings: Partial<HeldRunSettings> = {}) {
  const stores = memoryStores({});
  const input = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];
  await stores.runs.create({ principal: 'ada', thread: { create: {} }, input });
  const { run } = (await stores.runs.claim({ owner: 'test', leaseMs: 60_000 }))!;
  return {
    stores,
    run,
    held: await HeldRun.open({ stores, log, run, leaseMs: 60_000, mergesDeltas: true, ...settings }),
  };
}

it('deltas that arrive faster than they are written become fewer events with the same fold', async () => {
  let merged = 0;
  await fc.assert(
    fc.asyncProperty(payloads, async (given) => {
      const log = slowLog();
      const { stores, run, held } = await heldRun(log);
      const envelopes = new EventEnvelopes(run);
      const events = given.map((payload) => envelopes.next(payload));
      for (const event of events) held.take(event);
      await held.end();
      const stored: readonly StreamEvent[] = (await log.read(run.runId)).events;
      expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_event, seq) => seq));
      expect(new Set(stored.map(({ event_id: id }) => id)).size).toBe(stored.length);
      expect(foldResponse(stored)).toEqual(foldResponse(events));
      expect((await stores.threads.readEvents(run.runId)).events).toEqual(stored);
      expect((await stores.runs.get(run.runId))!.state).toBe('completed');
      merged += events.length - stored.length;
    }),
    { numRuns: 60 },
  );
  expect(merged).toBeGreaterThan(50);
});

it('deltas that arrive slowly keep their events', async () => {
  const log = memoryEventLog({});
  const { run, held } = await heldRun(log);
  const envelopes = new EventEnvelopes(run);
  const deltas = Array.from({ length: 5 }, (_, index) => ({
    type: 'item_delta' as const,
    item_id: 'a',
    delta: `${index}`,
  }));
  const given: EventPayload[] = [
    { type: 'response_start' },
    { type: 'item_start', item_id: 'a', item_type: 'message' },
    ...deltas,
  ];
  const events = given.map((payload) => envelopes.next(payload));
  for (const event of events) {
    held.take(event);
    await delay(5);
  }
  expect((await log.read(run.runId)).events).toEqual(events);
  held.close();
});

it('a run that continues without its stores reports only the first failed write', async () => {
  const faults: unknown[] = [];
  const log = memoryEventLog({});
  const settings = { onWriteFailed: (fault: unknown) => faults.push(fault) };
  const { stores, held } = await heldRun(log, settings);
  const append = vi.spyOn(stores.threads, 'append').mockRejectedValue(new Error('the threads are gone'));
  held.emit({ type: 'response_start' });
  await held.flushEvents();
  vi.spyOn(log, 'publish').mockRejectedValue(new Error('the log is gone'));
  held.emit({ type: 'response_done', status: 'completed' });
  await held.end();
  await expect.poll(() => append).toHaveBeenCalled();
  await delay(0);
  expect(faults).toEqual([new Error('the log is gone')]);
  expect(held.signal.aborted).toBe(false);
});
