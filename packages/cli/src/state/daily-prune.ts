import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pruneScripts } from '@toolscript/core';
import type { PersistentState } from './persistent-state.js';

const DAY_MS = 86_400_000;

/**
 * Once a day, and only after something was kept: forgets scripts that ended a week ago. What waits is only forgotten
 * when the person says so.
 */
export async function pruneDaily({ store, folder }: PersistentState): Promise<void> {
  if (!store.hasKept || store.isLeft) return;
  const mark = join(folder.path, 'pruned');
  try {
    const last = statSync(mark, { throwIfNoEntry: false });
    if (last !== undefined && Date.now() - last.mtimeMs < DAY_MS) return;
    if (last === undefined) writeFileSync(mark, '', { mode: 0o600 });
    else utimesSync(mark, new Date(), new Date());
    await pruneScripts(store);
  } catch {
    // Tidying can wait for another day; `toolscript approvals prune` says what is wrong.
  }
}
