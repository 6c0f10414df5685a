import { expect, it } from 'vitest';
import { memoryStore } from '@toolscript/core';
import type { OutputItem } from '@toolscript/core/protocol';
import { collectHeaps, leaveHeaps, RunCleaner } from '#service/runs/index.js';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const DAY_MS = 86_400_000;

/** A thread of one turn whose items name the heaps, in a service at a time that the test sets. */
async function openThread(...named: readonly string[]) {
  const clock = { nowMs: Date.now() - 40 * DAY_MS };
  const stores = memoryStores({ now: () => clock.nowMs });
  const heaps = stores.heaps;
  const claim = { owner: 'the test', leaseMs: 60_000 };
  const input = named.map(outputOf);
  const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input, claim });
  const { runId, epoch, threadId, turnId } = run;
  await stores.runs.finish({ runId, epoch }, { state: 'completed' });
  const add = (heapId: string, parentId?: string, of: string | undefined = threadId) =>
    heaps.add({ heapId, parentId, threadId: of, principal: 'ada', head: '{}', state: new Uint8Array(1) });
  const has = async (heapId: string) => (await heaps.read('ada', heapId)).length > 0;
  return { stores, heaps, clock, threadId, turnId, add, has };
}

function outputOf(heap: string): OutputItem {
  const counts = { duration_ms: 0, compute_ms: 0, approval_wait_ms: 0, tool_calls_made: 0, memory_used_mb: 0 };
  const metadata = { ...counts, cache_hit: false, compilation_cache_hit: false };
  const plain = { id: `item_${heap}`, call_id: `call_${heap}`, logs: [], operations: [] };
  return { type: 'script_execution_output', status: 'completed', ...plain, metadata, heap };
}

it('heaps of a thread that its items name stay, and others are deleted after 30 days', async () => {
  const { stores, heaps, clock, threadId, add, has } = await openThread('heap_1');
  for (const [id, parent] of [['heap_1'], ['heap_2', 'heap_1'], ['heap_3', 'heap_2'], ['heap_4', 'heap_3']] as const)
    await add(id, parent);
  clock.nowMs += 20 * DAY_MS;
  await collectHeaps({ stores, heaps }, { changedMs: Infinity, nowMs: clock.nowMs });
  expect(await has('heap_2')).toBe(true);
  clock.nowMs += 11 * DAY_MS;
  await collectHeaps({ stores, heaps }, { changedMs: DAY_MS, nowMs: clock.nowMs });
  expect(await has('heap_2')).toBe(true);
  await stores.threads.rename(threadId, 'changed');
  await collectHeaps({ stores, heaps }, { changedMs: DAY_MS, nowMs: clock.nowMs });
  expect(await Promise.all(['heap_1', 'heap_2', 'heap_3', 'heap_4'].map(has))).toEqual([true, false, false, true]);
});

it('the cleaner of a service collects heaps of threads and of none', async () => {
  const { stores, heaps, add, has } = await openThread('heap_1');
  for (const [id, parent] of [['heap_1'], ['heap_2', 'heap_1'], ['heap_3', 'heap_2']] as const) await add(id, parent);
  await heaps.add({ heapId: 'heap_free', principal: 'ada', head: '{}', state: new Uint8Array(1) });
  const onFault = (error: unknown) => expect.unreachable(String(error));
  await new RunCleaner({ stores, log: memoryEventLog(), scripts: { ...memoryStore(), heaps }, onFault }).clean();
  expect(await Promise.all(['heap_1', 'heap_2', 'heap_3', 'heap_free'].map(has))).toEqual([true, false, true, false]);
});

it('a deleted thread leaves the heaps that a branch names to the branch, and no others', async () => {
  const { stores, heaps, threadId, turnId, add, has } = await openThread('heap_1', 'heap_2');
  for (const [id, parent] of [['heap_1'], ['heap_2', 'heap_1'], ['heap_3', 'heap_2']] as const) await add(id, parent);
  const branchOf = { threadId, turnId, withTurn: true };
  const branch = await stores.threads.create({ principal: 'ada', branchOf });
  await stores.threads.create({ principal: 'bob' });
  await leaveHeaps({ stores, heaps }, threadId);
  await stores.threads.delete(threadId);
  await heaps.collect({ before: Number.MAX_SAFE_INTEGER });
  expect(await Promise.all(['heap_1', 'heap_2', 'heap_3'].map(has))).toEqual([true, true, false]);
  expect(await add('heap_b', 'heap_2', branch.threadId)).toBe('added');
  await stores.threads.delete(branch.threadId);
  expect(await Promise.all(['heap_1', 'heap_2', 'heap_b'].map(has))).toEqual([false, false, false]);
});
