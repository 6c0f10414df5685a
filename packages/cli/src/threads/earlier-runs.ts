import type { Run, ServiceStores } from '@toolscript/core/protocol';
import { UsageError } from '../usage-error.js';
import { closeInterrupted } from './run-end.js';
import { holderOf, ownClaim } from './run-owner.js';

/** Throws a UsageError where another process works on the thread. */
export async function refuseWhereHeld({ runs }: ServiceStores, threadId: string): Promise<void> {
  const [running] = (await runs.list({ threadId, state: 'running' })).runs;
  const holder = running === undefined ? undefined : holderOf(running);
  if (holder !== undefined) throw heldError(holder.pid);
}

/**
 * Closes the run that a dead process left: what was open in it is cancelled. Throws a UsageError where another process
 * works on the thread.
 */
export async function closeEarlierRuns(stores: ServiceStores, threadId: string): Promise<void> {
  await refuseWhereHeld(stores, threadId);
  const { runs } = stores;
  for (const { runId, epoch } of (await runs.list({ threadId, state: 'running' })).runs)
    await runs.release({ runId, epoch });
  for (const run of (await runs.list({ threadId, state: 'queued' })).runs) await closeQueued(stores, run);
}

async function closeQueued(stores: ServiceStores, { runId, threadId, reason }: Run): Promise<void> {
  if (reason !== 'interrupted')
    throw new UsageError(
      `A prompt or a decision of ${threadId} waits for a server to work on it. Start that server, or begin a new conversation.`,
    );
  const claimed = await stores.runs.claim({ ...ownClaim(), runId });
  if (claimed === undefined) throw await busyError(stores, threadId);
  await closeInterrupted(stores, { runId, epoch: claimed.run.epoch });
}

/** Another process was faster. */
export async function busyError({ runs }: ServiceStores, threadId: string): Promise<UsageError> {
  const [running] = (await runs.list({ threadId, state: 'running' })).runs;
  return heldError(running === undefined ? undefined : holderOf(running)?.pid);
}

function heldError(pid: number | undefined): UsageError {
  const who = pid === undefined ? 'another process' : `another process (${pid})`;
  return new UsageError(`This conversation is open in ${who}. End that one first.`);
}
