import type { EventLog, HarnessStore, ServiceStores } from '@toolscript/core/protocol';
import type { Projection } from '../projections/projection.js';
import { leaveHeaps } from './heap-retention.js';
import { allRuns } from './run-history.js';

interface DeletingParts {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  readonly scripts: HarnessStore;
  readonly projection?: Projection | undefined;
}

/**
 * Deletes a thread with its runs, their logs and their scripts. `stopDeleted` stops a run that this process executes.
 * If another process executes a run, that process notices the deletion, and then calls `deleteRemains`.
 */
export async function deleteThread(
  parts: DeletingParts,
  threadId: string,
  stopDeleted: (runId: string) => void,
): Promise<void> {
  // The projection comes first: if it does not answer, the thread still exists, and a caller can delete it again.
  if (parts.projection !== undefined)
    for (const { runId } of await allRuns(parts.stores, threadId)) await parts.projection.delete(runId);
  if (parts.scripts.heaps !== undefined) await leaveHeaps({ ...parts, heaps: parts.scripts.heaps }, threadId);
  const runIds = await parts.stores.threads.delete(threadId);
  for (const runId of runIds) stopDeleted(runId);
  await deleteRemains(parts, threadId, runIds);
}

/** Deletes the remaining data of runs whose thread was deleted. */
export async function deleteRemains(
  { log, scripts, projection }: Omit<DeletingParts, 'stores'>,
  threadId: string,
  runIds: readonly string[],
): Promise<void> {
  for (const runId of runIds) {
    await projection?.delete(runId);
    await log.delete(runId);
  }
  const kept = await scripts.journal.list({ threadId });
  await scripts.heaps?.deleteThread(threadId);
  // The deletion also stops a running script, because its claim is no longer valid.
  for (const { scriptId } of kept.scripts) await scripts.journal.delete(scriptId);
}
