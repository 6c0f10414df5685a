import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core';
import { isLeaseHeld, type Run } from '@toolscript/core/protocol';
import { LEASE_MS, ownOwner } from '@toolscript/server/runs';
import { systemCode } from '../usage-error.js';

/** The claim of a run by this process. */
export function ownClaim(): { owner: string; leaseMs: number } {
  return { owner: ownOwner(), leaseMs: LEASE_MS };
}

/** Undefined if no process holds the run; the lease decides if this cannot be known here. */
export function holderOf(
  { owner = '', leaseExpiresAt = 0 }: Pick<Run, 'owner' | 'leaseExpiresAt'>,
  own: ProcessIdentity = ownIdentity(),
): { readonly pid: number | undefined } | undefined {
  const identity = parseIdentity(owner);
  // This process asks before it starts a run, so an earlier one of its own has ended.
  if (identity?.instance !== undefined && identity.instance === own.instance) return undefined;
  const isHolderAlive = identity === undefined ? undefined : isHere(identity, own);
  return (isHolderAlive ?? isLeaseHeld(Date.now(), leaseExpiresAt, LEASE_MS)) ? { pid: identity?.pid } : undefined;
}

/** Undefined if this cannot be known here. */
function isHere(identity: ProcessIdentity, own: ProcessIdentity): boolean | undefined {
  const known = isAlive(identity, own);
  const knowsOnlyNumbers = identity.bootId === undefined && own.bootId === undefined;
  if (known !== undefined || !knowsOnlyNumbers || identity.hostname !== own.hostname) return known;
  // An unused PID is sufficient; a used one may belong to another process by now.
  return hasProcess(identity.pid) ? undefined : false;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
