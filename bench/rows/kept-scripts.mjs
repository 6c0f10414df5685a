import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileStore, listScripts, pruneScripts } from '@toolscript/core';
import { alternate, timeRuns } from '../measure.mjs';
import { fillStore, openAsking, timeEach } from '../service/waiting-scripts.mjs';

const COUNTS = [1_000, 10_000];
const PAGE = 100;

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
  await fillStore(store, count);
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
  const harness = openAsking(store);
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
