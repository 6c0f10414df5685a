import { setTimeout as sleep } from 'node:timers/promises';
import {
  StoreUnavailableError,
  interruptedByStore,
  scriptFailure,
  type Claim,
  type JournalContent,
  type JournalDamage,
  type Outcome,
  ToolscriptUsageError,
  type TakeOptions,
} from '../../protocol/index.js';
import type { RunContext } from '../../protocol/run-context.js';
import { journalState } from './journal-lines.js';
import { failedOutcome } from '../../calls/session/index.js';
import { wasResumedInProcess } from './process-suspensions.js';
import { reportInternalError, storeFailure, type DurabilityServices } from './services.js';
import { StoreJournal, type Keeping } from './store-journal.js';
import type { SuspensionHeader } from './suspension-envelope.js';
import type { ClaimedScript } from './suspensions.js';

export const RESUMED_ONCE =
  'This script was already resumed, and a suspension can be resumed only once. Use the outcome of that resume.';
export const UNKNOWN_VERSION =
  'This version of Toolscript cannot read the stored data of this script. Resume the script with the version that stored it, or with a later one.';

const RELEASE_WAIT_MS = 5_000;
const RELEASE_POLL_MS = 20;

export function noSuchScript(scriptId: string): string {
  return `There is no script "${scriptId}" in the store. \`listScripts(store)\` lists the ids.`;
}

function heldBy(owner: string): string {
  return `Another process is already running this script${owner === '' ? '' : ` (${owner})`}. Wait until the script has ended.`;
}

export function damagedBy({ message, foreignKey }: JournalDamage): string {
  if (foreignKey !== undefined)
    return `This script cannot be continued here: ${message}. Continue the script in a process that has the key.`;
  return `The stored data of this script is damaged: ${message}. The script cannot be resumed, because a call could run twice. Inspect the script, or delete it.`;
}

/**
 * Whether lost lines can be ignored. Lines that were not flushed can be ignored if `force` is set, or if each intent
 * was flushed before its call started (durability `power`).
 */
function mayIgnore({ isUnflushedTail }: JournalDamage, { lines }: JournalContent, force: boolean): boolean {
  return isUnflushedTail && (force || journalState({ lines, slot: undefined })?.durability === 'power');
}

export function requireKeeping({ keeping }: DurabilityServices, what: string): Keeping {
  if (keeping === undefined) throw new ToolscriptUsageError('STORE_MISSING', { what });
  return keeping;
}

/** The result for a script that was not run or changed. The outcome contains the reason. */
export interface Refusal {
  outcome: Outcome;
  refused: true;
}

export interface ClaimedContent {
  epoch: number;
  /** The content at the time of the claim. */
  content: JournalContent;
}

/**
 * Claims a suspended script if no process has resumed the script since this suspension. The stored suspension decides,
 * whatever the script's epoch is now.
 */
export async function claimSuspendedScript(
  services: DurabilityServices,
  { scriptId, epoch }: SuspensionHeader,
  text: string,
  options: { force?: boolean | undefined } & Pick<TakeOptions, 'lines' | 'status'>,
): Promise<ClaimedContent | Refusal> {
  const stillWaits = (content: JournalContent | undefined, current: number): boolean => {
    // A script without a stored journal was suspended by a harness without a store. In this case, the epoch decides.
    const recorded = content === undefined ? undefined : journalState(content);
    return recorded === undefined ? current === epoch : recorded.suspension === text && recorded.ended === undefined;
  };
  const before = await readUnheld(services, scriptId, options.force);
  if ('outcome' in before) return before;
  const damaged = refusalOfDamaged(scriptId, before.content, options.force);
  if (damaged !== undefined) return damaged;
  // defence: one-resume-in-a-store
  if (!stillWaits(before.content, before.claim?.epoch ?? 0)) return claimRefusal(scriptId, RESUMED_ONCE);
  const taken = await claimScript(services, scriptId, options);
  if ('outcome' in taken) return taken;
  const isSame = before.content === undefined || stillWaits(taken.content, taken.epoch - 1);
  const refusal = isSame
    ? refusalOfDamaged(scriptId, taken.content, options.force)
    : claimRefusal(scriptId, RESUMED_ONCE);
  if (refusal === undefined) return taken;
  await requireKeeping(services, 'resume').leases.release(scriptId, taken.epoch);
  return refusal;
}

/** Returns the refusal of a script whose stored data is damaged; undefined if the script can be continued. */
export function refusalOfDamaged(
  scriptId: string,
  content: JournalContent | undefined,
  force = false,
): Refusal | undefined {
  const damage = content?.damage;
  // defence: damaged-journals-are-not-resumed
  if (damage === undefined || mayIgnore(damage, content!, force)) return undefined;
  return claimRefusal(scriptId, damagedBy(damage));
}

/**
 * Reads a suspended script. Waits a short time for its holder to release it, because the holder may be storing a
 * decision or may have just suspended the script.
 */
async function readUnheld(
  services: DurabilityServices,
  scriptId: string,
  force = false,
): ReturnType<typeof readStoredScript> {
  const until = performance.now() + RELEASE_WAIT_MS;
  for (;;) {
    const kept = await readStoredScript(services, scriptId, 'resume');
    if ('outcome' in kept || kept.claim?.isHeld !== true || force || performance.now() > until) return kept;
    const recorded = kept.content === undefined ? undefined : journalState(kept.content);
    if (recorded?.suspension === undefined || recorded.isResumed) return kept;
    await sleep(RELEASE_POLL_MS);
  }
}

/** Reads the stored content and the claim of a script. `method`: the harness method that needs them. */
export async function readStoredScript(
  services: DurabilityServices,
  scriptId: string,
  method: string,
): Promise<{ content: JournalContent | undefined; claim: Claim | undefined } | Refusal> {
  const { store } = requireKeeping(services, method).leases;
  try {
    return { content: await store.journal.read(scriptId), claim: await store.claim.current(scriptId) };
  } catch (error) {
    return storeRefusal(services, scriptId, error);
  }
}

/**
 * Claims a script that no living process holds, or any script with `force`. If several callers try, exactly one
 * succeeds.
 */
export async function claimScript(
  services: DurabilityServices,
  scriptId: string,
  options: { force?: boolean | undefined } & Pick<TakeOptions, 'lines' | 'status'>,
): Promise<ClaimedContent | Refusal> {
  const { store, holder } = requireKeeping(services, 'resume').leases;
  const { force = false, ...more } = options;
  try {
    const claim = await store.claim.current(scriptId);
    // defence: living-processes-keep-their-scripts
    if (claim?.isHeld === true && !force) return claimRefusal(scriptId, heldBy(claim.owner));
    const taken = await store.claim.take(scriptId, claim?.epoch ?? 0, { ...holder, ...more, force });
    return taken === undefined ? claimRefusal(scriptId, RESUMED_ONCE) : { epoch: taken.epoch, content: taken };
  } catch (error) {
    return storeRefusal(services, scriptId, error);
  }
}

/**
 * Claims a script without stored lines. The script's process, if alive, can then store nothing of the script and make
 * no call with effects. Returns false if the script has stored lines, or if a living process holds it. Rejects with a
 * `StoreUnavailableError` if the store fails: whether the script has had effects is then unknown, and can be asked
 * again.
 */
export async function claimUnstoredScript(services: DurabilityServices, scriptId: string): Promise<boolean> {
  const { leases } = requireKeeping(services, 'abandon');
  try {
    return await leases.abandon(scriptId);
  } catch (error) {
    // defence: failures-of-a-store-end-no-script
    throw new StoreUnavailableError(storeFailure(error));
  }
}

export function claimedScript(
  services: DurabilityServices,
  context: RunContext,
  scriptId: string,
  { epoch }: ClaimedContent,
): ClaimedScript {
  return { journal: new StoreJournal(requireKeeping(services, 'resume'), context, { scriptId, epoch }), epoch };
}

export function claimRefusal(scriptId: string | undefined, message: string): Refusal {
  return { outcome: failedOutcome(scriptFailure('SuspensionError', message), scriptId), refused: true };
}

/**
 * Refuses a script that this harness does not know. Without a store, only the harness that suspended a script can
 * resume the script by its id.
 */
export function notInProcess(scriptId: string): Refusal {
  if (wasResumedInProcess(scriptId)) return claimRefusal(scriptId, RESUMED_ONCE);
  const message = `This harness knows no suspended script "${scriptId}". Resume it by its \`suspension\`, or give the harness a store.`;
  return claimRefusal(scriptId, message);
}

/** Reports the failure of the store and returns a refusal. The script is not continued. */
export function storeRefusal(services: DurabilityServices, scriptId: string, error: unknown): Refusal {
  reportInternalError(services, scriptId, storeFailure(error));
  const message = 'The store failed, so nothing was done. Try again later.';
  return { outcome: failedOutcome(interruptedByStore(message, { retryable: true }), scriptId), refused: true };
}
