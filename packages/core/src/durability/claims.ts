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
import { reportInternalError, type DurabilityServices } from './services.js';
import { StoreJournal, type Keeping } from './store-journal.js';
import type { SuspensionHeader } from './suspension-envelope.js';
import type { ClaimedScript } from './suspensions.js';

export const RESUMED_ONCE = 'Somebody has gone on with this script already; a suspension is resumed once.';
export const UNKNOWN_VERSION = 'This script was kept by a version that is not known here.';

export function noSuchScript(scriptId: string): string {
  return `There is no script "${scriptId}" in the store.`;
}

export function heldBy(owner: string): string {
  return `A living process goes on with this script${owner === '' ? '' : ` (${owner})`}.`;
}

export function damagedBy({ message }: JournalDamage): string {
  return `What is kept of this script is damaged: ${message}. Nobody can go on with it, because a call could be made twice; inspect it, or delete it.`;
}

/** What was not flushed when the machine stopped can be done without where nothing was done that had not been flushed. */
export function mayIgnore({ isUnflushedTail }: JournalDamage, { lines }: JournalContent, force: boolean): boolean {
  return isUnflushedTail && (force || journalState({ lines, slot: undefined })?.durability === 'power');
}

export function keepingOf({ keeping }: DurabilityServices, what: string): Keeping {
  if (keeping === undefined) throw new ToolscriptUsageError(`${what} needs a harness with a store.`);
  return keeping;
}

/** Nothing happened to the script: the outcome says why. */
export interface Refusal {
  outcome: Outcome;
  refused: true;
}

export interface Claimed {
  epoch: number;
  /** As of the take. */
  content: JournalContent;
}

/**
 * Takes a script that waits, where it still waits as this suspension says: nobody has gone on with it since, whatever
 * its epoch is by now.
 */
export async function claimSuspended(
  parts: DurabilityServices,
  { scriptId, epoch }: SuspensionHeader,
  text: string,
  options: { force?: boolean } & Pick<TakeOptions, 'lines' | 'status'>,
): Promise<Claimed | Refusal> {
  const stillWaits = (content: JournalContent | undefined, current: number): boolean => {
    // A harness without a store had put it aside.
    const story = content === undefined ? undefined : journalState(content);
    return story === undefined ? current === epoch : story.suspension === text && story.ended === undefined;
  };
  const before = await readKept(parts, scriptId, 'resume');
  if ('outcome' in before) return before;
  // defence: one-resume-in-a-store, without it: return { epoch: epoch + 1, content: { lines: [], slot: text, damage: undefined } };
  if (!stillWaits(before.content, before.claim?.epoch ?? 0)) return refused(scriptId, RESUMED_ONCE);
  const taken = await take(parts, scriptId, options);
  if ('outcome' in taken) return taken;
  const isSame = before.content === undefined || stillWaits(taken.content, taken.epoch - 1);
  if (isSame) return taken;
  await keepingOf(parts, 'resume').leases.release(scriptId, taken.epoch);
  return refused(scriptId, RESUMED_ONCE);
}

/** What a store has of a script, and who has it. `method`: of the harness. */
export async function readKept(
  parts: DurabilityServices,
  scriptId: string,
  method: string,
): Promise<{ content: JournalContent | undefined; claim: Claim | undefined } | Refusal> {
  const { store } = keepingOf(parts, method).leases;
  try {
    return { content: await store.journal.read(scriptId), claim: await store.claim.current(scriptId) };
  } catch (error) {
    return storeFailed(parts, scriptId, error);
  }
}

/** From whoever has it, or had it. Exactly one of several takers gets it. */
export async function take(
  parts: DurabilityServices,
  scriptId: string,
  options: { force?: boolean | undefined } & Pick<TakeOptions, 'lines' | 'status'>,
): Promise<Claimed | Refusal> {
  const { store, holder } = keepingOf(parts, 'resume').leases;
  const { force = false, ...more } = options;
  try {
    const claim = await store.claim.current(scriptId);
    if (claim?.isHeld === true && !force) return refused(scriptId, heldBy(claim.owner));
    const taken = await store.claim.take(scriptId, claim?.epoch ?? 0, { ...holder, ...more, force });
    return taken === undefined ? refused(scriptId, RESUMED_ONCE) : { epoch: taken.epoch, content: taken };
  } catch (error) {
    return storeFailed(parts, scriptId, error);
  }
}

export function claimedScript(
  parts: DurabilityServices,
  { epoch }: Claimed,
  scriptId: string,
  identity: RunIdentity,
  principal: string | undefined,
): ClaimedScript {
  return { journal: new StoreJournal(keepingOf(parts, 'resume'), scriptId, epoch, { identity, principal }), epoch };
}

export function refused(scriptId: string | undefined, message: string): Refusal {
  return { outcome: failedOutcome(scriptFailure('SuspensionError', message), scriptId), refused: true };
}

/** Nothing was done: the script stands in its store as it did. */
function storeFailed(parts: DurabilityServices, scriptId: string, error: unknown): Refusal {
  reportInternalError(parts, scriptId, `the store failed: ${String(error)}`);
  const message = 'The store failed, so nothing was done; the script stands there as before. Try again later.';
  return { outcome: failedOutcome(scriptFailure('StoreError', message, { retryable: true }), scriptId), refused: true };
}
