import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core';
import { isLeaseHeld, type Run } from '@toolscript/core/protocol';
import { LEASE_MS, ownOwner } from '@toolscript/server/runs';
import { systemCode } from '../usage-error.js';

/** The data with which this process claims a run. */
export function ownClaim(): { owner: string; leaseMs: number } {
  return { owner: ownOwner(), leaseMs: LEASE_MS };
}

/**
 * The live process that has claimed the run; undefined if there is none. If this machine cannot determine whether the
 * process is alive, the lease decides.
 */
export function holderOf(
  { owner = '', leaseExpiresAt = 0 }: Pick<Run, 'owner' | 'leaseExpiresAt'>,
  own: ProcessIdentity = ownIdentity(),
): { readonly pid: number | undefined } | undefined {
  const identity = parseIdentity(owner);
  // This process calls `holderOf` before it starts a run, so its own earlier run has ended.
  if (identity?.instance !== undefined && identity.instance === own.instance) return undefined;
  const isHolderAlive = identity === undefined ? undefined : isHere(identity, own);
  return (isHolderAlive ?? isLeaseHeld(Date.now(), leaseExpiresAt, LEASE_MS)) ? { pid: identity?.pid } : undefined;
}

/** Whether the process is alive; undefined if this machine cannot determine the state of the process. */
function isHere(identity: ProcessIdentity, own: ProcessIdentity): boolean | undefined {
  const known = isAlive(identity, own);
  const knowsOnlyNumbers = identity.bootId === undefined && own.bootId === undefined;
  if (known !== undefined || !knowsOnlyNumbers || identity.hostname !== own.hostname) return known;
  // An unused PID proves that the process has ended. A used PID may belong to another process by now.
  return hasProcess(identity.pid) ? undefined : false;
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
