import { setTimeout as sleep } from 'node:timers/promises';
import {
  isScriptId,
  scriptFailure,
  StaleEpochError,
  type AppendOptions,
  type Outcome,
  type RunningOutcome,
} from '../protocol/index.js';
import { failedOutcome, plainRunning } from '../calls/session/index.js';
import { claimScript, damagedBy, requireKeeping, storeRefusal } from './durability/claims.js';
import {
  journalState,
  restoredOutcome,
  storedOutcome,
  type EndedLine,
  type JournalState,
} from './durability/journal-lines.js';
import { readScript, recordedDetails } from './durability/kept-scripts.js';
import type { DurabilityServices } from './durability/services.js';
import { cancelledOutcome, scriptNotFound, type AskedScript, type WaitTime } from './running-scripts.js';

const POLL_MS = 250;

/** Waits for the end of a stored script, whichever process runs the script. */
export async function waitForStored(
  services: DurabilityServices,
  asked: AskedScript,
  { forMs = Number.POSITIVE_INFINITY, signal }: WaitTime,
): Promise<Outcome> {
  const until = performance.now() + forMs;
  for (;;) {
    const found = await findStored(services, asked);
    const outcome = 'outcome' in found ? found.outcome : outcomeNow(services, found);
    const isOver = () => performance.now() >= until || signal?.aborted === true;
    if (outcome.status !== 'running' || isOver()) return outcome;
    do await sleep(Math.min(POLL_MS, until - performance.now()), undefined, { signal }).catch(() => {});
    while (!isOver() && (await isHeld(services, asked)));
  }
}

/** Reads the claim alone: a journal may be long, and does not end while its script is held. */
async function isHeld({ keeping }: DurabilityServices, { scriptId }: AskedScript): Promise<boolean> {
  const claim = await keeping?.leases.store.claim.current(scriptId).catch(() => undefined);
  return claim?.isHeld === true;
}

/**
 * Cancels a stored script, whichever process runs the script: the script is claimed, so that its process can make no
 * more calls with effects.
 */
export async function cancelStored(services: DurabilityServices, asked: AskedScript): Promise<Outcome> {
  const { scriptId } = asked;
  const found = await findStored(services, asked);
  if ('outcome' in found) return found.outcome;
  if (found.state === 'ended' || found.state === 'damaged') return outcomeNow(services, found);
  const taken = await claimScript(services, scriptId, { force: true });
  if ('outcome' in taken)
    return taken.outcome.error?.code === 'SuspensionError' ? cancelStored(services, asked) : taken.outcome;
  const { leases } = requireKeeping(services, 'cancelScript');
  try {
    const recorded = journalState(taken.content);
    if (recorded === undefined || recorded.ended !== undefined)
      return outcomeNow(services, { ...found, recorded: recorded ?? found.recorded, state: 'ended' });
    const outcome = cancelledOutcome(soFar(services, { recorded }));
    await leases.store.journal.append(scriptId, taken.epoch, ...endedLine(recorded, outcome));
    return outcome;
  } catch (error) {
    if (error instanceof StaleEpochError) return await cancelStored(services, asked);
    return storeRefusal(services, scriptId, error).outcome;
  } finally {
    await leases.release(scriptId, taken.epoch);
  }
}

/** The line and the status of a script that was cancelled with this outcome. */
function endedLine({ identity, runId, script }: JournalState, outcome: Outcome): [readonly string[], AppendOptions] {
  const { code, message } = outcome.error!;
  const ended = { status: 'failed', code, message } as const;
  const line: EndedLine = { t: 'ended', atMs: Date.now(), ...ended, outcome: storedOutcome(outcome) };
  const listed = { threadId: identity.threadId, runId, principal: script.start.principal };
  return [[JSON.stringify(line)], { status: { state: 'ended', ...listed, ended }, slot: null }];
}

type FoundScript = NonNullable<Awaited<ReturnType<typeof readRecorded>>>;

async function findStored(
  services: DurabilityServices,
  { scriptId, principal }: AskedScript,
): Promise<FoundScript | { outcome: Outcome }> {
  try {
    const found = isScriptId(scriptId) ? await readRecorded(services, scriptId) : undefined;
    // defence: stored-outcomes-ask-for-the-principal
    if (found?.recorded.script.start.principal !== principal) return { outcome: scriptNotFound(scriptId) };
    return found ?? { outcome: scriptNotFound(scriptId) };
  } catch (error) {
    return storeRefusal(services, scriptId, error);
  }
}

/** Reads a script with readable lines. A structured call is no script of a model. */
async function readRecorded({ keeping }: DurabilityServices, scriptId: string) {
  const stored = keeping && (await readScript(keeping.leases.store, scriptId));
  const recorded = stored?.recorded;
  return recorded === undefined || recorded.callId !== undefined ? undefined : { ...stored!, recorded };
}

function outcomeNow(services: DurabilityServices, found: FoundScript): Outcome {
  const { state, recorded, content } = found;
  const { scriptId } = recorded.script.start;
  const before = soFar(services, found);
  const failed = (code: 'SuspensionError' | 'ScriptInterruptedError', message: string): Outcome => ({
    ...before,
    status: 'failed',
    error: scriptFailure(code, message),
  });
  switch (state) {
    case 'running':
      return before;
    case 'ended':
      return (
        restoredOutcome(recorded) ??
        failed('SuspensionError', 'This script has ended, but its value was not stored. Read its operations.')
      );
    case 'suspended': {
      const { suspension, pendingApprovals, problem } = recordedDetails(services, recorded);
      return suspension === undefined
        ? failed('SuspensionError', `This script is suspended, but ${problem}. Run the script again.`)
        : { ...before, status: 'suspended', suspension, pendingApprovals: [...pendingApprovals] };
    }
    case 'damaged':
      return failedOutcome(scriptFailure('SuspensionError', damagedBy(content.damage!)), scriptId);
    case 'interrupted':
      return failed(
        'ScriptInterruptedError',
        'The process that ran this script has ended. `harness.recover(scriptId)` continues the script.',
      );
  }
}

/** The stored data of a script that has not ended, as its outcome. */
function soFar(services: DurabilityServices, { recorded }: Pick<FoundScript, 'recorded'>): RunningOutcome {
  const { script, startedAtMs, updatedAtMs } = recorded;
  const { scriptId, script: compiled } = script.start;
  const { operations, logs, output } = recordedDetails(services, recorded);
  const prepared = { cacheHit: false, script: compiled };
  const plain = plainRunning(scriptId, prepared, updatedAtMs - startedAtMs, services.runtime.name);
  return { ...plain, operations, logs: [...logs], output };
}
