import { setTimeout as sleep } from 'node:timers/promises';
import {
  scriptFailure,
  type Claim,
  type JournalContent,
  type JournalDamage,
  type Outcome,
  ToolscriptUsageError,
  type TakeOptions,
  type RunIdentity,
} from '../protocol/index.js';
import { journalState } from './journal-lines.js';
import { failedOutcome } from '../session/index.js';
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

export function damagedBy({ message }: JournalDamage): string {
  return `The stored data of this script is damaged: ${message}. The script cannot be resumed, because a call could run twice. Inspect the script, or delete it.`;
}

/**
 * Whether lost lines can be ignored. Lines that were not flushed can be ignored if `force` is set, or if each intent
 * was flushed before its call started (durability `power`).
 */
export function mayIgnore({ isUnflushedTail }: JournalDamage, { lines }: JournalContent, force: boolean): boolean {
  return isUnflushedTail && (force || journalState({ lines, slot: undefined })?.durability === 'power');
}

export function keepingOf({ keeping }: DurabilityServices, what: string): Keeping {
  if (keeping === undefined)
    throw new ToolscriptUsageError(`${what} needs a harness with a store. Pass createHarness the option store.`);
  return keeping;
}

/** The result for a script that was not run or changed. The outcome contains the reason. */
export interface Refusal {
  outcome: Outcome;
  refused: true;
}

export interface Claimed {
  epoch: number;
  /** The content at the time of the claim. */
  content: JournalContent;
}

/**
 * Claims a suspended script if no process has resumed the script since this suspension. The stored suspension decides,
 * whatever the script's epoch is now.
 */
export async function claimSuspended(
  services: DurabilityServices,
  { scriptId, epoch }: SuspensionHeader,
  text: string,
  options: { force?: boolean } & Pick<TakeOptions, 'lines' | 'status'>,
): Promise<Claimed | Refusal> {
  const stillWaits = (content: JournalContent | undefined, current: number): boolean => {
    // A script without a stored journal was suspended by a harness without a store. In this case, the epoch decides.
    const recorded = content === undefined ? undefined : journalState(content);
    return recorded === undefined ? current === epoch : recorded.suspension === text && recorded.ended === undefined;
  };
  const before = await readUnheld(services, scriptId, options.force);
  if ('outcome' in before) return before;
  // defence: one-resume-in-a-store, without it: return { epoch: epoch + 1, content: { lines: [], slot: text, damage: undefined } };
  if (!stillWaits(before.content, before.claim?.epoch ?? 0)) return refused(scriptId, RESUMED_ONCE);
  const taken = await claimScript(services, scriptId, options);
  if ('outcome' in taken) return taken;
  const isSame = before.content === undefined || stillWaits(taken.content, taken.epoch - 1);
  if (isSame) return taken;
  await keepingOf(services, 'resume').leases.release(scriptId, taken.epoch);
  return refused(scriptId, RESUMED_ONCE);
}

/**
 * Reads a suspended script. Waits a short time for its holder to release it, because the holder may be storing a
 * decision or may have just suspended the script.
 */
async function readUnheld(services: DurabilityServices, scriptId: string, force = false): ReturnType<typeof readKept> {
  const until = performance.now() + RELEASE_WAIT_MS;
  for (;;) {
    const kept = await readKept(services, scriptId, 'resume');
    if ('outcome' in kept || kept.claim?.isHeld !== true || force || performance.now() > until) return kept;
    const recorded = kept.content === undefined ? undefined : journalState(kept.content);
    if (recorded?.suspension === undefined || recorded.isResumed) return kept;
    await sleep(RELEASE_POLL_MS);
  }
}

/** Reads the stored content and the claim of a script. `method`: the harness method that needs them. */
export async function readKept(
  services: DurabilityServices,
  scriptId: string,
  method: string,
): Promise<{ content: JournalContent | undefined; claim: Claim | undefined } | Refusal> {
  const { store } = keepingOf(services, method).leases;
  try {
    return { content: await store.journal.read(scriptId), claim: await store.claim.current(scriptId) };
  } catch (error) {
    return storeFailed(services, scriptId, error);
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
): Promise<Claimed | Refusal> {
  const { store, holder } = keepingOf(services, 'resume').leases;
  const { force = false, ...more } = options;
  try {
    const claim = await store.claim.current(scriptId);
    // defence: living-processes-keep-their-scripts
    if (claim?.isHeld === true && !force) return refused(scriptId, heldBy(claim.owner));
    const taken = await store.claim.take(scriptId, claim?.epoch ?? 0, { ...holder, ...more, force });
    return taken === undefined ? refused(scriptId, RESUMED_ONCE) : { epoch: taken.epoch, content: taken };
  } catch (error) {
    return storeFailed(services, scriptId, error);
  }
}

/**
 * Claims a script without stored lines. The script's process, if alive, can then store nothing of the script and make
 * no call with effects. Returns false if the script has stored lines, if another process was faster, or if the store
 * fails.
 */
export async function claimUnstored(services: DurabilityServices, scriptId: string): Promise<boolean> {
  const { store, holder } = keepingOf(services, 'abandon').leases;
  try {
    const status = { state: 'ended', threadId: '' } as const;
    const taken = await store.claim.take(scriptId, 0, { ...holder, status });
    if (taken === undefined) return false;
    await store.claim.release(scriptId, taken.epoch);
    return taken.lines.length === 0 && taken.damage === undefined;
  } catch (error) {
    reportInternalError(services, scriptId, storeFailure(error));
    return false;
  }
}

export function claimedScript(
  services: DurabilityServices,
  { epoch }: Claimed,
  scriptId: string,
  identity: RunIdentity,
  principal: string | undefined,
): ClaimedScript {
  return { journal: new StoreJournal(keepingOf(services, 'resume'), scriptId, epoch, { identity, principal }), epoch };
}

export function refused(scriptId: string | undefined, message: string): Refusal {
  return { outcome: failedOutcome(scriptFailure('SuspensionError', message), scriptId), refused: true };
}

/**
 * Refuses a script that this harness does not know. Without a store, only the harness that suspended a script can
 * resume the script by its id.
 */
export function notInProcess(scriptId: string): Refusal {
  if (wasResumedInProcess(scriptId)) return refused(scriptId, RESUMED_ONCE);
  const message = `This harness knows no suspended script "${scriptId}". Resume it by its \`suspension\`, or give the harness a store.`;
  return refused(scriptId, message);
}

/** Reports the failure of the store and returns a refusal. The script is not continued. */
function storeFailed(services: DurabilityServices, scriptId: string, error: unknown): Refusal {
  reportInternalError(services, scriptId, storeFailure(error));
  const message = 'The store failed, so nothing was done. Try again later.';
  return { outcome: failedOutcome(scriptFailure('StoreError', message, { retryable: true }), scriptId), refused: true };
}
