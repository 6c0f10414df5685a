import { isAlive, ownIdentity, parseIdentity } from '@toolscript/core';
import { isLeaseHeld, type Run } from '@toolscript/core/protocol';

/** The owner of the threads of this machine's user. */
export const PRINCIPAL = 'local';

/** How long a run is held without a renewal, in ms. */
export const LEASE_MS = 30_000;

/** The claim of a run by this process. */
export function ownClaim(): { owner: string; leaseMs: number } {
  return { owner: JSON.stringify(ownIdentity()), leaseMs: LEASE_MS };
}

/** Undefined where the run is held by nobody any more; the lease decides where nobody here can know. */
export function holderOf({ owner = '', leaseExpiresAt = 0 }: Run): { readonly pid: number | undefined } | undefined {
  const own = ownIdentity();
  const identity = parseIdentity(owner);
  // This process asks before it begins a run, so that an earlier one of its own has ended.
  if (identity?.instance !== undefined && identity.instance === own.instance) return undefined;
  const isHolderAlive = identity === undefined ? undefined : isAlive(identity, own);
  return (isHolderAlive ?? isLeaseHeld(Date.now(), leaseExpiresAt, LEASE_MS)) ? { pid: identity?.pid } : undefined;
}
