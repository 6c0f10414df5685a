import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core';
import { isLeaseHeld, type Run } from '@toolscript/core/protocol';
import { systemCode } from '../usage-error.js';

/** The owner of the threads of this machine's user. */
export const PRINCIPAL = 'local';

/** How long a run is held without a renewal, in ms. */
export const LEASE_MS = 30_000;

/** The claim of a run by this process. */
export function ownClaim(): { owner: string; leaseMs: number } {
  return { owner: JSON.stringify(ownIdentity()), leaseMs: LEASE_MS };
}

/** Undefined where the run is held by nobody any more; the lease decides where nobody here can know. */
export function holderOf(
  { owner = '', leaseExpiresAt = 0 }: Pick<Run, 'owner' | 'leaseExpiresAt'>,
  own: ProcessIdentity = ownIdentity(),
): { readonly pid: number | undefined } | undefined {
  const identity = parseIdentity(owner);
  // This process asks before it begins a run, so that an earlier one of its own has ended.
  if (identity?.instance !== undefined && identity.instance === own.instance) return undefined;
  const isHolderAlive = identity === undefined ? undefined : isHere(identity, own);
  return (isHolderAlive ?? isLeaseHeld(Date.now(), leaseExpiresAt, LEASE_MS)) ? { pid: identity?.pid } : undefined;
}

/** Undefined where nobody here can know. */
function isHere(identity: ProcessIdentity, own: ProcessIdentity): boolean | undefined {
  const known = isAlive(identity, own);
  const tellsOnlyNumbers = identity.bootId === undefined && own.bootId === undefined;
  if (known !== undefined || !tellsOnlyNumbers || identity.hostname !== own.hostname) return known;
  // A number that no process has is enough; one that a process has may be another one's by now.
  return hasProcess(identity.pid) ? undefined : false;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
