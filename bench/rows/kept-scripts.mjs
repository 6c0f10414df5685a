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

/** What a store of files costs that keeps many scripts which wait. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-kept-'));
  try {
    const rows = [];
    for (const count of COUNTS) rows.push(...(await measureStore(fileStore(join(folder, `${count}`)), count, effort)));
    return [...rows, await measureRecovery(fileStore(join(folder, 'cut-off')), effort)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStore(store, count, effort) {
  await fill(store, count);
  const timed = { forMs: effort.blockMs };
  const list = async () => (await listScripts(store, { state: 'suspended', limit: PAGE })).length;
  const prune = async () => (await pruneScripts(store)).scripts.length;
  const many = count.toLocaleString('en-US').replace(',', ' ');
  const row = { unit: 'ms', better: 'lower' };
  const ours = (block) => [{ name: 'toolscript', role: 'ours', block }];
  return [
    await alternate(
      { ...row, name: `list-${count}`, title: `a page of ${PAGE} of ${many} scripts that wait`, limit: 10 },
      ours(() => timeRuns(list, PAGE, timed)),
      effort.rounds,
    ),
    await alternate(
      { ...row, name: `prune-${count}`, title: `pruning ${many} scripts, none of them old`, limit: 100 },
      ours(() => timeRuns(prune, 0, timed)),
      effort.rounds,
    ),
  ];
}

/** Scripts that wait, taken over and put aside again: what a restart costs. */
async function measureRecovery(store, effort) {
  const harness = createHarness({
    tools: [
      defineTool({ name: 'ask', description: 'Asks', input: z.object({}), approval: 'always', execute: () => 'yes' }),
    ],
    suspensionKey: 'a key of the benchmark, 32 bytes or more',
    typecheck: 'off',
    store,
  });
  try {
    const ids = [];
    for (let made = 0; made < COUNTS[0]; made++)
      ids.push((await harness.runScript('return await tools.ask({})')).scriptId);
    let next = 0;
    const recover = async () => (await harness.recover(ids[next++ % ids.length])).status;
    return await alternate(
      {
        name: 'recover',
        title: `recovering one of ${COUNTS[0]} scripts that wait`,
        unit: 'ms',
        better: 'lower',
        limit: 30,
      },
      [{ name: 'toolscript', role: 'ours', block: () => timeRuns(recover, 'suspended', { forMs: effort.blockMs }) }],
      effort.rounds,
    );
  } finally {
    await harness.close();
  }
}

/** As harnesses do it, without running anything. */
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
