import type { EventLog } from '@toolscript/core/protocol';
import type { DeadLetter, DeadLetterPage } from '@toolscript/core/ports';
import { allPageItems, PERSISTENCE_GROUP } from '@toolscript/service';
import { EXIT } from '../exit-status.js';
import { openStorage, type StorageFlags } from '../serve/open-storage.js';
import { openScreen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

export interface DeadLetterFlags extends StorageFlags {
  json?: boolean | undefined;
}

export function listDeadLetters({ json = false, ...flags }: DeadLetterFlags): Promise<number> {
  return withLog(flags, async (log) => {
    const screen = openScreen();
    const letters = await allDeadLetters(log);
    if (json) screen.write(`${jsonText(letters, 2)}\n`);
    else if (letters.length === 0) screen.line('There are no dead letters.');
    else
      for (const { runId, seq, reason } of letters)
        screen.line(`${runId}  from event ${seq}: ${deadLetterReason(reason)}`);
  });
}

/** Retries the named runs. Throws a UsageError, and retries none, if one of them is not a dead letter. */
export function retry(runs: readonly string[], flags: DeadLetterFlags): Promise<number> {
  return change(runs, flags, async (log, runId) => {
    await log.revive(PERSISTENCE_GROUP, runId);
    return 'is delivered again.';
  });
}

/** Drops the named runs. Throws a UsageError, and drops none, if one of them is not a dead letter. */
export function drop(runs: readonly string[], flags: DeadLetterFlags): Promise<number> {
  return change(runs, flags, async (log, runId) => {
    await log.delete(runId);
    return 'is dropped.';
  });
}

function change(
  runs: readonly string[],
  flags: DeadLetterFlags,
  act: (log: EventLog, runId: string) => Promise<string>,
): Promise<number> {
  return withLog(flags, async (log) => {
    const screen = openScreen();
    const known = new Set((await allDeadLetters(log)).map(({ runId }) => runId));
    for (const runId of runs)
      if (!known.has(runId))
        throw new UsageError(
          `${visibleLine(runId)} is not a dead letter. To list the dead letters: toolscript admin dead-letter list, with the same --store and --events`,
        );
    for (const runId of new Set(runs)) screen.line(`${runId} ${await act(log, runId)}`);
  });
}

function allDeadLetters(log: EventLog): Promise<DeadLetter[]> {
  return allPageItems<DeadLetterPage, DeadLetter>(
    (after) => log.deadLetters({ group: PERSISTENCE_GROUP, ...after }),
    ({ letters }) => letters,
  );
}

async function withLog(flags: StorageFlags, work: (log: EventLog) => Promise<void>): Promise<number> {
  const storage = await openStorage(flags, process.env);
  try {
    await throughStore(work(storage.log));
  } finally {
    await storage.close();
  }
  return EXIT.completed;
}

function deadLetterReason(reason: string): string {
  return reason === '' ? 'the persistence worker ended during each attempt' : visibleLine(reason);
}
