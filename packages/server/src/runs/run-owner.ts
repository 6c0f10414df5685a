import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core';
import type { Run } from '@toolscript/core/protocol';

/** This process, as the owner of its runs. */
export function ownOwner(): string {
  return JSON.stringify(ownIdentity());
}

/**
 * Whether the process that holds the run is known to be dead: then its lease need not expire before another process
 * claims the run.
 */
export function isOwnerDead({ owner = '' }: Pick<Run, 'owner'>): boolean {
  const identity = parseIdentity(owner);
  return identity !== undefined && isAlive(identity, ownIdentity()) === false;
}

/** Whether the machine has not restarted since this owner claimed its run. If so, no file has lost writes. */
export function isOfThisBoot({ owner = '' }: Pick<Run, 'owner'>, own: ProcessIdentity = ownIdentity()): boolean {
  return own.bootId !== undefined && parseIdentity(owner)?.bootId === own.bootId;
}
