import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { withFileLock } from '@toolscript/core/internal';
import { failure, throwIfAborted } from '../failure.js';
import { FairLock, MAX_WAIT_MS, type LockCaller } from './fair-lock.js';

/*
 * Serializes changes of a path across all processes of a user. Paths share a fixed number of locks.
 */

const LOCKS = 256;

/** Runs `work` while no other change of the paths in `places` runs, in any process. */
export async function withLocks<T>(
  stateFolder: string | undefined,
  places: readonly string[],
  caller: LockCaller,
  work: () => Promise<T>,
): Promise<T> {
  // A fixed order prevents two changes from waiting for each other.
  const locks = [...new Set(places.map(placeLock))].sort();
  const run = locks.reduceRight((inner, lock) => () => withLock(stateFolder, lock, caller, inner), work);
  return run();
}

/** The held locks of this process. Two workspaces of one process may use the same state folder. */
const held = new Map<string, FairLock>();

async function withLock<T>(
  stateFolder: string | undefined,
  name: string,
  caller: LockCaller,
  work: () => Promise<T>,
): Promise<T> {
  const key = `${stateFolder}/${name}`;
  const lock = held.get(key) ?? new FairLock();
  held.set(key, lock);
  try {
    return await lock.run(async () => {
      if (stateFolder === undefined) return work();
      // Taking a lock is several system calls, and nothing else in a change of many files waits between two locks.
      // defence: a-turn-for-each-lock
      await nextTurn();
      return withFileLock(join(stateFolder, 'locks', name), work, limitedWait(caller.signal));
    }, caller);
  } finally {
    if (!lock.isHeld) held.delete(key);
  }
}

function placeLock(place: string): string {
  return (createHash('sha256').update(place).digest()[0]! % LOCKS).toString(16).padStart(2, '0');
}

/** Called before each retry of a lock that another process holds. Throws if the change may wait no longer. */
function limitedWait(signal: AbortSignal | undefined): () => void {
  const deadline = performance.now() + MAX_WAIT_MS;
  return () => {
    throwIfAborted(signal);
    if (performance.now() > deadline) throw heldTooLong();
  };
}

function heldTooLong(): Error {
  return failure(
    'changed',
    `Another Toolscript process has been changing the same files for more than ${MAX_WAIT_MS / 1000} s. Try again when that process has finished.`,
  );
}
