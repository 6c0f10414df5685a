import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createHarness, defineTool, fileStore, listScripts, pruneScripts } from '@toolscript/core';
import { alternate, timeRuns } from '../measure.mjs';

const COUNTS = [1_000, 10_000];
const PAGE = 100;
const AT_ONCE = 32;

export const name = 'kept-scripts';

const SOURCE = 'return await tools.ask({})';

/** The cost of a file store with many waiting scripts. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-kept-'));
  try {
    const rows = [];
    for (const count of COUNTS) rows.push(...(await measureStore(fileStore(join(folder, `${count}`)), count, effort)));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStore(store, count, effort) {
  await fill(store, count);
  const many = count.toLocaleString('en-US').replace(',', ' ');
  const row = (what, title, limit, block) =>
    alternate(
      { name: `${what}-${count}`, title, unit: 'ms', better: 'lower', limit },
      [{ name: 'toolscript', role: 'ours', block }],
      effort.rounds,
    );
  const timed = { forMs: effort.blockMs };
  const list = async () => (await listScripts(store, { state: 'suspended', limit: PAGE })).length;
  const prune = async () => (await pruneScripts(store)).scripts.length;
  const harness = open(store);
  const suspend = () => harness.runScript(SOURCE);
  const resume = async ({ scriptId, pendingApprovals: [{ approvalId }] }) =>
    (await harness.resume(scriptId, { [approvalId]: 'approve' })).status;
  const recover = async ({ scriptId }) => (await harness.recover(scriptId)).status;
  try {
    await harness.warm();
    return [
      await row('list', `a page of ${PAGE} of ${many} scripts that wait`, 10, () => timeRuns(list, PAGE, timed)),
      await row('prune', `pruning ${many} scripts, none of them old`, 100, () => timeRuns(prune, 0, timed)),
      await row('suspend', `suspending a script beside ${many} that wait`, 15, () =>
        timeRuns(async () => (await suspend()).status, 'suspended', timed),
      ),
      await row('resume', `resuming one of ${many} by its id`, 15, () => timeEach(suspend, resume, 'completed', timed)),
      await row('recover', `taking over one of ${many} that waits, and suspending it again`, 30, () =>
        timeEach(suspend, recover, 'suspended', timed),
      ),
    ];
  } finally {
    await harness.close();
  }
}

/** The time of `work`, each time with new input from `prepare`, which is not timed. */
async function timeEach(prepare, work, answer, { forMs }) {
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

function open(store) {
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
async function fill({ claim, journal }, count) {
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
