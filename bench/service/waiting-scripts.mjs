import assert from 'node:assert/strict';
import { z } from 'zod';
import { createHarness, defineTool } from '@toolscript/core';

const AT_ONCE = 32;

/** The time of `work`, each time with new input from `prepare`, which is not timed. */
export async function timeEach(prepare, work, answer, { forMs }) {
  const samples = [];
  for (const until = performance.now() + forMs; performance.now() < until || samples.length === 0;) {
    const prepared = await prepare();
    const started = performance.now();
    const result = await work(prepared);
    samples.push(performance.now() - started);
    assert.equal(result, answer);
  }
  return samples;
}

/** A harness with one tool that needs an approval. */
export function openAsking(store) {
  return createHarness({
    tools: [
      defineTool({ name: 'ask', description: 'Asks', input: z.object({}), approval: 'always', execute: () => 'yes' }),
    ],
    suspensionKey: 'a key of the benchmark, 32 bytes or more',
    typecheck: 'off',
    store,
  });
}

/** Fills the store as harnesses do, without running anything. */
export async function fillStore({ claim, journal }, count) {
  const holder = { owner: 'the benchmark', leaseMs: 60_000 };
  const approvals = [{ approvalId: 'apr_1', tool: 'ask', line: 1 }];
  const put = async (index) => {
    const scriptId = `scr_bench_${index}`;
    const taken = await claim.take(scriptId, 0, holder);
    assert.equal(taken.epoch, 1);
    const status = { state: 'suspended', threadId: `thr_${index % 50}`, principal: `user ${index % 7}`, approvals };
    await journal.append(scriptId, 1, ['{"t":"started"}', '{"t":"suspended"}'], { slot: 'x'.repeat(2_000), status });
    await claim.release(scriptId, 1);
  };
  for (let start = 0; start < count; start += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - start) }, (_, offset) => put(start + offset)));
}
