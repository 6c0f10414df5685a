import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { failureMessage, failureReason, isIncomplete } from '../failure.js';
import type { ChangeRecords } from '../files/change-records.js';
import { changeFiles, commitChanges } from '../files/commit.js';
import type { Workspace } from '../files/workspace.js';
import type { UndoDirection } from './active-records.js';
import { prepareUndo, refusal, type PreparedUndo, type UndoPlan, type UndoRefusal } from './plan-undo.js';

/*
 * Reverts the recorded file changes of a script, all or none.
 *
 * 1. Verify: every file must have exactly the content that the script left. Otherwise nothing is changed, and the files
 *    that differ are listed.
 * 2. Commit: the old files are written like a patch. The commit (commit.ts) verifies the files once more and survives a
 *    kill.
 *
 * The undo is recorded like any other change, so that it can be redone.
 */

export interface UndoOptions {
  /** `undo` reverts the changes of the script, and `redo` reverts the last undo. Default `undo`. */
  readonly direction?: UndoDirection | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plans an undo without changing anything. `diff` adds the changed lines. Never rejects because of the state of a file.
 */
export function planUndo(
  workspace: Workspace,
  scriptId: string,
  { direction = 'undo', signal, diff = false }: UndoOptions & { readonly diff?: boolean | undefined } = {},
): Promise<UndoPlan | UndoRefusal> {
  const records = requireRecords(workspace);
  const places = async (): Promise<string[]> => [records.scriptFolder(scriptId)];
  return orRefused(() =>
    changeFiles(workspace, { signal }, places, async () => {
      const plan = await prepareUndo(workspace, records, scriptId, { direction, withDiff: diff });
      return 'refused' in plan ? plan : publicPlan(plan);
    }),
  );
}

/**
 * Undoes the file changes of a script. `planId`: the id of the plan that a user has seen. The undo is refused if it
 * would now revert changes that are not in that plan.
 */
export function undoChanges(
  workspace: Workspace,
  scriptId: string,
  { direction = 'undo', signal, planId }: UndoOptions & { readonly planId?: string | undefined } = {},
): Promise<UndoPlan | UndoRefusal> {
  const records = requireRecords(workspace);
  const prepare = () => prepareUndo(workspace, records, scriptId, { direction, withDiff: false });
  let expected = planId;
  const findPlaces = async (): Promise<string[]> => {
    const plan = await prepare();
    if ('refused' in plan) return [records.scriptFolder(scriptId)];
    expected ??= plan.planId;
    return [...plan.places, records.scriptFolder(scriptId)];
  };
  return orRefused(() =>
    changeFiles(workspace, { signal }, findPlaces, async () => {
      const plan = await prepare();
      if ('refused' in plan) return plan;
      if (plan.planId !== expected)
        return refusal('changed', `${scriptId} has changed more files since the preview. Review the changes again.`);
      if (plan.conflicts.length > 0) return conflictRefusal(plan);
      await commitUndo(workspace, plan, signal);
      return publicPlan(plan);
    }),
  );
}

export function conflictRefusal({ scriptId, conflicts, direction, gaps }: UndoPlan): UndoRefusal {
  const done = direction === 'undo' ? 'undone' : 'redone';
  const files = conflicts.length === 1 ? 'A file has' : `${conflicts.length} files have`;
  const message = `${files} changed since ${scriptId}, so nothing was ${done}: ${conflicts.map(({ path }) => path).join(', ')}. Restore the files by hand.`;
  return { ...refusal('conflicts', message, conflicts), gaps };
}

async function commitUndo(workspace: Workspace, plan: PreparedUndo, signal: AbortSignal | undefined): Promise<void> {
  const { scriptId, direction, covers, changes, emptiedFolders } = plan;
  const record = { scriptId, kind: direction, covers };
  await commitChanges(workspace, changes, { signal, record, emptiedFolders });
}

function publicPlan(plan: PreparedUndo): UndoPlan {
  const { scriptId, direction, planId, files, conflicts, notUndoable, callIds, gaps } = plan;
  return { scriptId, direction, planId, files, conflicts, notUndoable, callIds, gaps };
}

/**
 * Returns a refusal for each ToolCallError, for example if a file changes during the undo, a record is damaged or the
 * disk is full. A refused undo has changed nothing. Rejects if a failed undo could not be reverted completely.
 */
async function orRefused<T>(work: () => Promise<T | UndoRefusal>): Promise<T | UndoRefusal> {
  try {
    return await work();
  } catch (error) {
    if (failureReason(error) === undefined || isIncomplete(error)) throw error;
    return refusal('changed', failureMessage(error));
  }
}

function requireRecords({ records }: Workspace): ChangeRecords {
  if (records !== undefined) return records;
  throw new ToolscriptUsageError('UNDO_WITHOUT_RECORDS');
}
