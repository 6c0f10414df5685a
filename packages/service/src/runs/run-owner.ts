import { isAlive, isOfThisBoot, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core/internal';
import type { Run } from '@toolscript/core/protocol';
import { isLeaseHeld } from '../stores/store-rules.js';

/** The time for which a lease is valid without a renewal, in ms. */
export const LEASE_MS = 30_000;

/** The identity of this process as the owner of its runs. */
export function ownOwner(): string {
  return JSON.stringify(ownIdentity());
}

/** The data with which this process claims a run. */
export function ownClaim(): { owner: string; leaseMs: number } {
  return { owner: ownOwner(), leaseMs: LEASE_MS };
}

/**
 * Whether the process that holds the run is known to be dead. If so, another process may claim the run before the lease
 * expires.
 */
export function isOwnerDead({ owner = '' }: Pick<Run, 'owner'>): boolean {
  const identity = parseIdentity(owner);
  return identity !== undefined && isAlive(identity) === false;
}

/**
 * Whether the machine has not restarted since the run's process ended: the journals of the run's scripts in local files
 * are then complete.
 */
export function areFilesWhole({ leftBy = '' }: Pick<Run, 'leftBy'>): boolean {
  return isOfThisBoot(parseIdentity(leftBy));
}

/**
 * The live process that has claimed the run; undefined if there is none. If this machine cannot determine whether the
 * process is alive, the lease decides. Only for a process that executes one run at a time, before it starts a run: its
 * own earlier run has then ended.
 */
export function liveHolder(
  { owner = '', leaseExpiresAt = 0 }: Pick<Run, 'owner' | 'leaseExpiresAt'>,
  own: ProcessIdentity = ownIdentity(),
): { readonly pid: number | undefined } | undefined {
  const identity = parseIdentity(owner);
  if (identity?.instance !== undefined && identity.instance === own.instance) return undefined;
  const isHolderAlive = identity === undefined ? undefined : isAlive(identity, own);
  return (isHolderAlive ?? isLeaseHeld(Date.now(), leaseExpiresAt, LEASE_MS)) ? { pid: identity?.pid } : undefined;
}
