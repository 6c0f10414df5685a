import { createHarness, memoryStore } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { expect, it, onTestFinished } from 'vitest';
import { fixedAgents } from '#service/agents/index.js';
import { LongReads, ownOwner, RunWorker, StoreProbe } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const RUNS = { ada: 3, bob: 1 };

/** Stores that note how many conversations are read at the same time, and finish no read before `release`. */
function watchedStores() {
  const stores = memoryStores();
  const { threads } = stores;
  const read = threads.readItems.bind(threads);
  const reading: Record<string, number> = { ada: 0, bob: 0 };
  const most: Record<string, number> = { ada: 0, bob: 0 };
  let begun = 0;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const readItems: typeof threads.readItems = async (threadId, query) => {
    const { principal } = (await threads.get(threadId))!;
    begun += 1;
    reading[principal]! += 1;
    most[principal] = Math.max(most[principal]!, reading[principal]!);
    await released;
    reading[principal]! -= 1;
    return read(threadId, query);
  };
  Object.assign(threads, { readItems });
  return {
    stores,
    most,
    begun: () => begun,
    release: () => release(),
  };
}

it('the conversations of the runs of one principal are read one after the other, beside those of others', async () => {
  const { stores, most, begun, release } = watchedStores();
  const [log, scripts] = [memoryEventLog(), memoryStore()];
  const harness = createHarness({
    ...sharedThreads(),
    typecheck: 'off',
    tools: [],
  });
  const agent = defineAgent({ slug: 'tester', mode: 'disabled' });
  const provider = scriptedModel({
    turns: [{ parts: [{ type: 'text', text: 'Hello.' }] }],
  });
  const opened = { harness, agent, provider };
  const input = [
    {
      type: 'message' as const,
      id: 'item_in',
      role: 'user' as const,
      content: 'hello',
    },
  ];
  const options = { agentId: 'tester' };
  const created = Object.entries(RUNS).flatMap(([principal, count]) =>
    Array.from({ length: count }, () => stores.runs.create({ principal, thread: { create: {} }, input, options })),
  );
  const runs = (await Promise.all(created)).map(({ run }) => run);
  const worker = new RunWorker({
    stores,
    log,
    scripts,
    probe: new StoreProbe({ stores, log, scripts }),
    agents: fixedAgents([{ config: agent, capability: harness.capability, open: async () => opened }]),
    longReads: new LongReads(),
    owner: ownOwner(),
    size: runs.length,
    onFault: (error) => expect.fail(String(error)),
  });
  onTestFinished(async () => {
    release();
    await worker.drain(0);
    await harness.close();
  });
  worker.start();
  await until(() => worker.busy === runs.length && begun() >= Object.keys(RUNS).length);
  release();
  await until(() => worker.busy === 0);
  expect(most).toEqual({ ada: 1, bob: 1 });
});
