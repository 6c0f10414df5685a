import type { EventLog, EventPayload, ServiceStores } from '@toolscript/core/protocol';
import { EventEnvelopes } from '@toolscript/core/ports';
import { describe, expect, it } from 'vitest';
import { HeldRun } from '#service/runs/held-run.js';
import { streamRun } from '#service/runs/run-stream.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const LEASE_MS = 60_000;

const INPUT = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];

const REQUEST = {
  approvalId: 'apr_1',
  callId: 'call_1',
  tool: 'pay',
  effect: 'external' as const,
  input: {},
  inputJson: '{}',
  rendered: 'pay()',
  plan: [],
  covers: [],
  digest: 'd',
  planned: false,
  createdAt: 1,
};

const delta = (text: string): EventPayload => ({ type: 'item_delta', item_id: 'item_1', delta: text });

interface Parts {
  readonly stores: ServiceStores;
  readonly log: EventLog;
}

/** Claims the run, as a worker of the role `worker` does. */
async function claim({ stores, log }: Parts, owner: string): Promise<HeldRun> {
  const { run } = (await stores.runs.claim({ owner, leaseMs: LEASE_MS }))!;
  return HeldRun.open({ stores, log, run, leaseMs: LEASE_MS, isPersistedElsewhere: true });
}

describe('a log that has lost everything', () => {
  it('accepts no event of a worker that has lost its run', async () => {
    const parts = { stores: memoryStores(), log: memoryEventLog() };
    const { run } = await parts.stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT });
    const paused = await claim(parts, 'paused');
    paused.emit({ type: 'response_start' });
    paused.emit(delta('one'));
    await paused.flushEvents();
    await parts.stores.runs.release({ runId: run.runId, epoch: 1 });
    const next = await claim(parts, 'next');
    await parts.log.delete(run.runId);
    paused.emit(delta('of the past'));
    await expect(paused.flushEvents()).rejects.toThrow();
    expect(paused.stopReason).toBe('lost');
    expect((await parts.log.read(run.runId)).events).toEqual([]);
    next.emit(delta('two'));
    await next.flushEvents();
    const { events } = await parts.log.read(run.runId);
    expect(events.map(({ payload }) => (payload as { delta?: string }).delta)).toEqual([undefined, 'one', 'two']);
    for (const held of [paused, next]) held.close();
  });

  it('accepts no first event of a worker that has lost its run', async () => {
    const parts = { stores: memoryStores(), log: memoryEventLog() };
    const { run } = await parts.stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT });
    const claimed = await parts.stores.runs.claim({ owner: 'paused', leaseMs: LEASE_MS });
    const paused = await HeldRun.open({ ...parts, run: claimed!.run, leaseMs: LEASE_MS });
    await parts.stores.runs.release({ runId: run.runId, epoch: 1 });
    const next = await claim(parts, 'next');
    next.emit({ type: 'response_start' });
    await next.flushEvents();
    const { events } = await parts.log.read(run.runId);
    await parts.log.delete(run.runId);
    paused.emit({ type: 'response_start' });
    await expect(paused.flushEvents()).rejects.toThrow();
    expect(paused.stopReason).toBe('lost');
    await expect(HeldRun.open({ ...parts, run: claimed!.run, leaseMs: LEASE_MS })).rejects.toThrow(/has no claim/u);
    expect((await parts.log.read(run.runId)).events).toEqual([]);
    await parts.stores.threads.append(events);
    next.emit(delta('one'));
    await next.flushEvents();
    expect((await parts.log.read(run.runId)).events).toMatchObject([{ seq: 0 }, { seq: 1 }]);
    for (const held of [paused, next]) held.close();
  });

  it.each([0, 2])('hides no event of a suspended run from a client that has %i of them', async (from) => {
    const { stores, log } = { stores: memoryStores(), log: memoryEventLog() };
    const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT });
    await stores.runs.claim({ owner: 'a worker', leaseMs: LEASE_MS });
    const envelopes = new EventEnvelopes(run);
    const payloads: EventPayload[] = [
      { type: 'response_start' },
      delta('one'),
      { type: 'response_done', status: 'suspended', approval_ids: ['apr_1'] },
    ];
    const events = payloads.map((payload) => envelopes.next(payload));
    await stores.threads.append(events);
    await stores.runs.suspend({ runId: run.runId, epoch: 1 }, [{ request: REQUEST }]);
    const seen: unknown[] = [];
    const stop = new AbortController();
    for await (const event of streamRun(stores, log, run.runId, { from, signal: stop.signal })) {
      seen.push(event);
      if (seen.length === events.length - from) stop.abort();
    }
    expect(seen).toEqual(events.slice(from));
  });
});
