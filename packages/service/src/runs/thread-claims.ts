import type { ClaimedRun } from '@toolscript/core/ports';
import type { Run, ServiceStores } from '@toolscript/core/protocol';
import { liveHolder, ownClaim } from './run-owner.js';

/** Another process works on the thread, or a server has queued work for it. The message names the fix. */
export class ThreadHeldError extends Error {
  override readonly name = 'ThreadHeldError';
}

/**
 * Rejects with a `ThreadHeldError` if another process works on the thread. Returns the runs that dead processes have
 * left.
 */
export async function refuseHeldThread(
  { runs }: Pick<ServiceStores, 'runs'>,
  threadId: string,
): Promise<readonly Run[]> {
  const running = (await runs.list({ threadId, state: 'running' })).runs;
  const holder = running[0] && liveHolder(running[0]);
  if (holder !== undefined) throw heldBy(threadId, holder.pid);
  return running;
}

/**
 * Claims the run of a dead process. Returns undefined if there is none. Rejects with a `ThreadHeldError` if another
 * process works on the thread, or if a server has queued work for the thread.
 */
export async function claimInterruptedRun(
  { runs }: Pick<ServiceStores, 'runs'>,
  threadId: string,
): Promise<ClaimedRun | undefined> {
  const running = await refuseHeldThread({ runs }, threadId);
  for (const { runId, epoch } of running) await runs.release({ runId, epoch }, { isDead: true });
  const [queued] = (await runs.list({ threadId, state: 'queued' })).runs;
  if (queued === undefined) return undefined;
  if (queued.reason !== 'interrupted')
    throw new ThreadHeldError(
      `A server has queued a prompt or a decision of ${threadId}. To let a server finish this work: toolscript serve. Or start a new conversation.`,
    );
  const claimed = await runs.claim({ ...ownClaim(), runId: queued.runId });
  if (claimed === undefined) throw await heldError({ runs }, threadId);
  return claimed;
}

/** The error for a thread whose run another process has claimed first. */
export async function heldError({ runs }: Pick<ServiceStores, 'runs'>, threadId: string): Promise<ThreadHeldError> {
  const [running] = (await runs.list({ threadId, state: 'running' })).runs;
  return heldBy(threadId, running === undefined ? undefined : liveHolder(running)?.pid);
}

function heldBy(threadId: string, pid: number | undefined): ThreadHeldError {
  const who = pid === undefined ? 'another process' : `another process (${pid})`;
  return new ThreadHeldError(`The conversation ${threadId} is open in ${who}. End that process first.`);
}
