import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pruneScripts } from '@toolscript/core';
import { ChangesFolder } from './changes-folder.js';
import type { PersistentState } from './persistent-state.js';

const DAY_MS = 86_400_000;

/**
 * Once a day, and only after a script was stored: deletes scripts that ended a week ago. Waiting scripts are only
 * deleted on the user's request.
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
    await new ChangesFolder(folder.changesFolder).deleteOrphans(store);
  } catch {
    // A failed clean-up can wait for another day; `toolscript approvals prune` reports the error.
  }
}
