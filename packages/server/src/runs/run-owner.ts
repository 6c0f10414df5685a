import { isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '@toolscript/core';
import type { Run } from '@toolscript/core/protocol';

/** The identity of this process as the owner of its runs. */
export function ownOwner(): string {
  return JSON.stringify(ownIdentity());
}

/**
 * Whether the process that holds the run is known to be dead. If so, another process may claim the run before the lease
 * expires.
 */
export function isOwnerDead({ owner = '' }: Pick<Run, 'owner'>): boolean {
  const identity = parseIdentity(owner);
  return identity !== undefined && isAlive(identity, ownIdentity()) === false;
}

/**
 * Whether the owner claimed the run after the last start of this machine. If so, no file has lost writes since the
 * claim.
 */
export function isOfThisBoot({ owner = '' }: Pick<Run, 'owner'>, own: ProcessIdentity = ownIdentity()): boolean {
  return own.bootId !== undefined && parseIdentity(owner)?.bootId === own.bootId;
}
