import type { ClaimedRun, ClaimOptions } from '@toolscript/core/ports';
import type { Run, ScriptCapability, ServiceStores } from '@toolscript/core/protocol';
import { agentNeed } from '../agents/index.js';
import { liveHolder, ownClaim } from './run-owner.js';
import { listedNeeds, missingNeeds } from './stuck-runs.js';

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
 * process works on the thread, or if a server has queued work for the thread. With `capability`, also rejects if this
 * process cannot continue the scripts of the run.
 */
export async function claimInterruptedRun(
  { runs }: Pick<ServiceStores, 'runs'>,
  threadId: string,
  capability?: ScriptCapability,
): Promise<ClaimedRun | undefined> {
  const running = await refuseHeldThread({ runs }, threadId);
  for (const { runId, epoch } of running) await runs.release({ runId, epoch }, { isDead: true });
  const [queued] = (await runs.list({ threadId, state: 'queued' })).runs;
  if (queued === undefined) return undefined;
  if (queued.reason !== 'interrupted')
    throw new ThreadHeldError(
      `A server has queued a prompt or a decision of ${threadId}. To let a server finish this work: toolscript serve. Or start a new conversation.`,
    );
  const claim = capability === undefined ? { ...ownClaim(), runId: queued.runId } : abilityToClaim(queued, capability);
  const claimed = await runs.claim(claim);
  if (claimed === undefined) throw await heldError({ runs }, threadId);
  return claimed;
}

/**
 * The options with which a process of this capability claims the run, with an agent that the user has chosen. Throws a
 * `ThreadHeldError` if the process cannot continue the scripts of the run, which then stays as it is.
 */
export function abilityToClaim({ runId, needs }: Run, capability: ScriptCapability): ClaimOptions {
  const opens = [...capability.opens, ...needs.filter((need) => need.startsWith(agentNeed('')))];
  const missing = missingNeeds(needs, new Set(opens));
  if (missing.length === 0) return { ...ownClaim(), runId, opens, needs: [...capability.needs] };
  throw new ThreadHeldError(
    `This process cannot continue the conversation: its script needs ${listedNeeds(missing)}. Continue it with the release and the TOOLSCRIPT_SUSPENSION_KEY of the process that began it, or start a new conversation.`,
  );
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
