import type { Run, RunStore } from '@toolscript/core/protocol';
import type { RunPage } from '@toolscript/core/ports';
import { allPageItems, stuckReason } from '@toolscript/service';
import { EXIT } from '../exit-status.js';
import { openStorage, type StorageFlags } from '../serve/open-storage.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

export interface StuckRunFlags extends StorageFlags {
  json?: boolean | undefined;
}

export function listStuckRuns({ json = false, ...flags }: StuckRunFlags): Promise<number> {
  return withRuns(flags, async (runs) => {
    const screen = openScreen();
    const workers = await runs.workers();
    const stuck = (await allStuck(runs)).map((run) => stuckRun(run, stuckReason(run, workers)));
    if (json) screen.write(`${jsonText(stuck, 2)}\n`);
    else if (stuck.length === 0) screen.line('No run is stuck.');
    else
      for (const { runId, principal, reason } of stuck)
        screen.line(`${runId}  of ${visibleLine(principal)}: ${visibleLine(reason)}`);
  });
}

/** Resumes the named runs. Throws a UsageError, and resumes none, if one of them is not parked. */
export function resumeStuckRuns(named: readonly string[], flags: StuckRunFlags): Promise<number> {
  return withRuns(flags, async (runs) => {
    const screen = openScreen();
    const parked = (await allStuck(runs)).filter((run) => run.parked !== undefined);
    const known = new Set(parked.map(({ runId }) => runId));
    for (const runId of named)
      if (!known.has(runId))
        throw new UsageError(
          `${visibleLine(runId)} is not a parked run. To list the stuck runs and their reasons: toolscript admin run list, with the same --store`,
        );
    for (const runId of new Set(named)) {
      await runs.resume(runId);
      screen.line(`${runId} is queued again.`);
    }
  });
}

function stuckRun({ runId, threadId, principal }: Run, reason: string) {
  return { runId, threadId, principal, reason };
}

function allStuck(runs: RunStore): Promise<Run[]> {
  return allPageItems<RunPage, Run>(
    (after) => runs.list({ stuck: true, ...after }),
    (page) => page.runs,
  );
}

async function withRuns(flags: StorageFlags, work: (runs: RunStore) => Promise<void>): Promise<number> {
  const storage = await openStorage(flags, process.env);
  try {
    await throughStore(work(storage.stores.runs));
  } finally {
    await storage.close();
  }
  return EXIT.completed;
}
