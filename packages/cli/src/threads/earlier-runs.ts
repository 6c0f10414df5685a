import type { Run, ServiceStores } from '@toolscript/core/protocol';
import { isOfThisBoot, type HeldRun } from '@toolscript/server/runs';
import { UsageError } from '../usage-error.js';
import { holderOf, ownClaim } from './run-owner.js';

/** Throws a UsageError if another process works on the thread. */
export async function refuseWhereHeld({ runs }: ServiceStores, threadId: string): Promise<void> {
  const [running] = (await runs.list({ threadId, state: 'running' })).runs;
  const holder = running === undefined ? undefined : holderOf(running);
  if (holder !== undefined) throw heldError(threadId, holder.pid);
}

export interface ClaimedRun {
  readonly run: Run;
  /** True if the machine has not restarted since the dead process claimed the run: the journals are then complete. */
  readonly isOfThisBoot: boolean;
}

/**
 * Claims the run of a dead process. Returns undefined if there is none. Throws a UsageError if another process works on
 * the thread, or if a server has queued work for the thread.
 */
export async function claimInterrupted(stores: ServiceStores, threadId: string): Promise<ClaimedRun | undefined> {
  await refuseWhereHeld(stores, threadId);
  const { runs } = stores;
  const { runs: running } = await runs.list({ threadId, state: 'running' });
  for (const { runId, epoch } of running) await runs.release({ runId, epoch });
  const [queued] = (await runs.list({ threadId, state: 'queued' })).runs;
  if (queued === undefined) return undefined;
  if (queued.reason !== 'interrupted')
    throw new UsageError(
      `A server has queued a prompt or a decision of ${threadId}. To let a server finish this work: toolscript serve. Or start a new conversation.`,
    );
  const claimed = await runs.claim({ ...ownClaim(), runId: queued.runId });
  if (claimed === undefined) throw await busyError(stores, threadId);
  const { run } = claimed;
  // `before` is undefined if another process has claimed the run in between.
  const before = running.find(({ runId, epoch }) => runId === run.runId && epoch === run.epoch - 1);
  return { run, isOfThisBoot: before !== undefined && isOfThisBoot(before) };
}

/** Ends an interrupted run and cancels its open items. */
export async function closeInterrupted(held: HeldRun): Promise<void> {
  for (const payload of held.state.missingEnd('incomplete')) held.emit(payload);
  await held.end();
}

/** The error for a thread whose run another process has claimed first. */
export async function busyError({ runs }: ServiceStores, threadId: string): Promise<UsageError> {
  const [running] = (await runs.list({ threadId, state: 'running' })).runs;
  return heldError(threadId, running === undefined ? undefined : holderOf(running)?.pid);
}

function heldError(threadId: string, pid: number | undefined): UsageError {
  const who = pid === undefined ? 'another process' : `another process (${pid})`;
  return new UsageError(`The conversation ${threadId} is open in ${who}. End that process first.`);
}
