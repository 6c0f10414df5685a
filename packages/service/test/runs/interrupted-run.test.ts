import { memoryStore } from '@toolscript/core';
import { EventEnvelopes, StoreUnavailableError } from '@toolscript/core/ports';
import type { EventLog, EventPayload, HarnessStore, Run, ServiceStores } from '@toolscript/core/protocol';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { expect, it, onTestFinished, vi } from 'vitest';
import { demoAgent, fixedAgents, type ServedAgent } from '#service/agents/index.js';
import { HeldRun } from '#service/runs/held-run.js';
import { allEvents, ownOwner, RunWorker, StoreProbe } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const INPUT = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];
const DONE: EventPayload = { type: 'response_done', status: 'completed' };

interface WorkerParts {
  readonly log?: EventLog;
  readonly scripts?: HarnessStore;
  readonly agents?: readonly ServedAgent[];
}

function openWorker(
  stores: ServiceStores,
  { log = memoryEventLog(), scripts = memoryStore(), agents = [] }: WorkerParts = {},
) {
  const faults: unknown[] = [];
  const worker = new RunWorker({
    stores,
    log,
    scripts,
    probe: new StoreProbe({ stores, log, scripts }),
    agents: fixedAgents(agents),
    owner: ownOwner(),
    size: 1,
    onFault: (error) => faults.push(error),
  });
  onTestFinished(() => worker.drain(0));
  worker.start();
  return faults;
}

function untilLeft(stores: ServiceStores, runId: string): Promise<Run> {
  return until(async () => {
    const run = (await stores.runs.get(runId))!;
    return run.state !== 'queued' && run.state !== 'running' && run;
  });
}

async function submitted(stores: ServiceStores): Promise<Run> {
  return (await stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT })).run;
}

/** The run after 25 workers have died with it, or have released it. Its worker wrote `payloads`. */
async function workedOn(payloads: readonly EventPayload[], isDead = true) {
  const stores = memoryStores();
  const run = await submitted(stores);
  const envelopes = new EventEnvelopes(run);
  const events = payloads.map((payload) => envelopes.next(payload));
  if (events.length > 0) await stores.threads.append(events);
  for (let epoch = 1; epoch <= 25; epoch += 1) {
    await stores.runs.claim({ owner: 'a dead worker', leaseMs: 60_000 });
    await stores.runs.release({ runId: run.runId, epoch }, { isDead });
  }
  const faults = openWorker(stores);
  const { state, epoch, parked } = await untilLeft(stores, run.runId);
  return { state, epoch, parked, faults, events: await allEvents(stores, run.runId), before: events, stores, run };
}

it('a run during which every worker died is parked, and continues when an operator resumes it', async () => {
  const { state, epoch, parked, events, faults, stores, run } = await workedOn([]);
  expect({ state, epoch, events, faults }).toEqual({ state: 'suspended', epoch: 26, events: [], faults: [] });
  expect(parked).toMatch(/^25 workers ended during this run, or could not write it, and it made no progress\./u);
  await stores.runs.resume(run.runId);
  // No agent is there, and the run has begun, so it is not ended.
  expect(await untilLeft(stores, run.runId)).toMatchObject({
    state: 'suspended',
    parked: expect.stringContaining('no longer exists'),
  });
});

it('a parked run that is cancelled ends', async () => {
  const { stores, run, state } = await workedOn([]);
  expect(state).toBe('suspended');
  await stores.runs.requestCancel(run.runId);
  await until(async () => (await stores.runs.get(run.runId))?.state === 'cancelled');
});

it('a run that workers released, because a store failed, is not given up', async () => {
  const { events, parked } = await workedOn([], false);
  expect(events).toEqual([]);
  expect(parked).toContain('no longer exists');
});

it('a run whose events have ended ends as they say, however many workers died before its state was stored', async () => {
  const { state, epoch, events, before, faults } = await workedOn([{ type: 'response_start' }, DONE]);
  expect({ state, epoch, events, faults }).toEqual({ state: 'completed', epoch: 26, events: before, faults: [] });
});

const message = (id: string): EventPayload => ({
  type: 'item_done',
  item_id: id,
  final_item: { type: 'message', id, role: 'assistant', content: 'text' },
});
const call = (id: string): EventPayload => ({
  type: 'tool_call_done',
  call_id: id,
  operation: {
    call_id: id,
    tool: 'read',
    input: {},
    effect: 'read',
    status: 'completed',
    started_at_ms: 0,
    duration_ms: 1,
  },
});
const nested = (event: EventPayload) =>
  ({ type: 'agent_event', agent_run_id: 'run_sub', seq: 0, timestamp: 0, event }) as EventPayload;

/** The deaths of a run after a worker died with an item and a call, and the next one wrote this event. */
async function deathsAfter(payload: EventPayload): Promise<number | undefined> {
  const [stores, log] = [memoryStores(), memoryEventLog()];
  const { runId } = await submitted(stores);
  const open = async () => {
    const { run } = (await stores.runs.claim({ owner: 'w', leaseMs: 60_000 }))!;
    return HeldRun.open({ stores, log, run, leaseMs: 60_000 });
  };
  const first = await open();
  for (const earlier of [{ type: 'response_start' } as const, message('item_1'), call('call_1')]) first.emit(earlier);
  await first.flushEvents();
  first.close();
  await stores.runs.release({ runId, epoch: 1 }, { isDead: true });
  const second = await open();
  second.emit(payload);
  await second.release();
  return (await stores.runs.get(runId))?.deaths;
}

it.each([
  ['a new item', message('item_2')],
  ['a settled call', call('call_2')],
  ['an item of a sub-agent', nested(message('item_2'))],
])('%s ends the count of deaths', async (_what, payload) => {
  expect(await deathsAfter(payload)).toBeUndefined();
});

it.each([
  ['an item that an earlier worker has stored', message('item_1')],
  ['a call that an earlier worker has made', call('call_1')],
  ['a part of a text', { type: 'item_delta', item_id: 'item_2', delta: 'x' } as EventPayload],
])('%s does not end the count of deaths', async (_what, payload) => {
  expect(await deathsAfter(payload)).toBe(1);
});

/** A store of scripts whose disk is full at first. */
function fullScripts() {
  const state = { isFull: true, probes: 0 };
  const scripts: HarnessStore = {
    ...memoryStore(),
    probe: async () => {
      state.probes += 1;
      if (state.isFull) throw new Error('the disk is full');
    },
  };
  return { state, scripts };
}

it('a worker claims nothing while a store cannot be written, and claims when it can', async () => {
  const stores = memoryStores();
  const { runId } = await submitted(stores);
  const { state, scripts } = fullScripts();
  const faults = openWorker(stores, { scripts });
  await until(() => state.probes > 1);
  expect((await stores.runs.get(runId))?.epoch).toBe(0);
  expect(faults).toEqual([new StoreUnavailableError('The store of scripts cannot be written: the disk is full')]);
  state.isFull = false;
  expect((await untilLeft(stores, runId)).epoch).toBe(1);
});

it('a worker that has nothing to claim writes nothing', async () => {
  const stores = memoryStores();
  const { state, scripts } = fullScripts();
  const list = stores.runs.list.bind(stores.runs);
  let looks = 0;
  Object.assign(stores.runs, { list: (...query: Parameters<typeof list>) => ((looks += 1), list(...query)) });
  openWorker(stores, { scripts });
  await until(() => looks > 6);
  expect(state.probes).toBe(0);
});

it('a fault that a run has met counts as a failed probe', async () => {
  const { scripts } = fullScripts();
  const probe = new StoreProbe({
    stores: memoryStores(),
    log: memoryEventLog(),
    scripts: { ...scripts, probe: undefined },
  });
  await probe.check();
  probe.fail(new StoreUnavailableError('gone'));
  await expect(probe.check()).rejects.toThrow('gone');
});

it('many concurrent questions write once', async () => {
  const { state, scripts } = fullScripts();
  state.isFull = false;
  const probe = new StoreProbe({ stores: memoryStores(), log: memoryEventLog(), scripts });
  await Promise.all(Array.from({ length: 100 }, () => probe.check()));
  expect(state.probes).toBe(1);
});

function openDemo(scripts: HarnessStore) {
  const agent = demoAgent({ ...sharedThreads(), store: scripts });
  onTestFinished(() => agent.close());
  return agent;
}

it.each([
  ['events are refused', 'publish'],
  ['log cannot be opened', 'open'],
] as const)(
  'a run whose %s, while the stores can be written, is parked after as many workers',
  async (_what, member) => {
    const [stores, log, scripts] = [memoryStores(), memoryEventLog(), memoryStore()];
    const { runId } = await submitted(stores);
    for (let epoch = 1; epoch <= 20; epoch += 1) {
      await stores.runs.claim({ owner: 'a dead worker', leaseMs: 60_000 });
      await stores.runs.release({ runId, epoch }, { isDead: true });
    }
    vi.spyOn(log, member).mockRejectedValue(new StoreUnavailableError('a row is damaged'));
    openWorker(stores, { log, scripts, agents: [openDemo(scripts)] });
    const { state, parked } = await untilLeft(stores, runId);
    expect({ state, parked }).toEqual({ state: 'suspended', parked: expect.stringMatching(/^21 workers/u) as unknown });
  },
);

it('a run whose events are refused while a store cannot be written is not counted, and continues', async () => {
  const [stores, log] = [memoryStores(), memoryEventLog()];
  const { state, scripts } = fullScripts();
  state.isFull = false;
  const { runId } = await submitted(stores);
  const release = vi.spyOn(stores.runs, 'release');
  const publish = vi.spyOn(log, 'publish').mockImplementation(async () => {
    state.isFull = true;
    throw new StoreUnavailableError('the log is gone');
  });
  openWorker(stores, { log, scripts, agents: [openDemo(scripts)] });
  await until(() => release.mock.calls.length > 0);
  expect(await stores.runs.get(runId)).not.toHaveProperty('deaths');
  publish.mockRestore();
  state.isFull = false;
  expect(await untilLeft(stores, runId)).toMatchObject({ state: 'completed' });
});
