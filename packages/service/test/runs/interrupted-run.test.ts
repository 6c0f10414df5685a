import { setTimeout as delay } from 'node:timers/promises';
import { memoryStore } from '@toolscript/core';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload } from '@toolscript/core/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { fixedAgents } from '#service/agents/index.js';
import { allEvents, ownOwner, RunWorker } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const INPUT = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];

/** The run after 25 workers have died with it, or have released it. Its worker wrote `payloads`. */
async function workedOn(payloads: readonly EventPayload[], isDead = true) {
  const [stores, log] = [memoryStores(), memoryEventLog()];
  const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT });
  const envelopes = new EventEnvelopes(run);
  const events = payloads.map((payload) => envelopes.next(payload));
  if (events.length > 0) await stores.threads.append(events);
  for (let epoch = 1; epoch <= 25; epoch += 1) {
    await stores.runs.claim({ owner: 'a dead worker', leaseMs: 60_000 });
    await stores.runs.release({ runId: run.runId, epoch }, { isDead });
  }
  const faults: unknown[] = [];
  const worker = new RunWorker({
    stores,
    log,
    scripts: memoryStore(),
    agents: fixedAgents([]),
    owner: ownOwner(),
    size: 1,
    onFault: (error) => faults.push(error),
  });
  onTestFinished(() => worker.drain(0));
  worker.start();
  let found = (await stores.runs.get(run.runId))!;
  while (found.state === 'queued' || found.state === 'running') {
    await delay(5);
    found = (await stores.runs.get(run.runId))!;
  }
  return { state: found.state, epoch: found.epoch, faults, events: await allEvents(stores, run.runId), before: events };
}

it('a run during which every worker died fails', async () => {
  const { state, epoch, events } = await workedOn([]);
  expect({ state, epoch }).toEqual({ state: 'failed', epoch: 26 });
  expect(JSON.stringify(events)).toMatch(/was interrupted 25 times, so the server does not retry it/u);
});

it('a run that workers released, because a store failed, is not given up', async () => {
  const { events } = await workedOn([], false);
  expect(JSON.stringify(events)).not.toContain('interrupted');
  expect(events.map(({ payload }) => payload)).toContainEqual(
    expect.objectContaining({ type: 'response_error', code: 'AgentUnavailableError' }),
  );
});

it('a run whose events have ended ends as they say, however many workers died before its state was stored', async () => {
  const { state, epoch, events, before, faults } = await workedOn([
    { type: 'response_start' },
    { type: 'response_done', status: 'completed' },
  ]);
  expect({ state, epoch, events, faults }).toEqual({ state: 'completed', epoch: 26, events: before, faults: [] });
});
