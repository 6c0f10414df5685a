import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { withFileLock } from '@toolscript/core/internal';
import { failure, throwIfAborted } from '../failure.js';

/*
 * Serializes changes of a path across all processes of a user. Paths share a fixed number of locks.
 */

const LOCKS = 256;
const MAX_WAIT_MS = 30_000;

/** Runs `work` while no other change of the paths in `places` runs, in any process. */
export async function withLocks<T>(
  stateFolder: string | undefined,
  places: readonly string[],
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  // A fixed order prevents two changes from waiting for each other.
  const locks = [...new Set(places.map(placeLock))].sort();
  const run = locks.reduceRight((inner, lock) => () => withLock(stateFolder, lock, signal, inner), work);
  return run();
}

async function withLock<T>(
  stateFolder: string | undefined,
  lock: string,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const leave = await enterQueue(`${stateFolder}/${lock}`, signal);
  try {
    if (stateFolder === undefined) return await work();
    // Taking a lock is several system calls, and nothing else in a change of many files waits between two locks.
    // defence: a-turn-for-each-lock
    await nextTurn();
    return await withFileLock(join(stateFolder, 'locks', lock), work, limitedWait(signal));
  } finally {
    leave();
  }
}

function placeLock(place: string): string {
  return (createHash('sha256').update(place).digest()[0]! % LOCKS).toString(16).padStart(2, '0');
}

/** The pending changes of this process, by lock. Two workspaces of one process may use the same state folder. */
const queues = new Map<string, Promise<void>>();

async function enterQueue(key: string, signal: AbortSignal | undefined): Promise<() => void> {
  const before = queues.get(key) ?? Promise.resolve();
  const { promise, resolve } = withResolver();
  const last = before.then(() => promise);
  queues.set(key, last);
  const leave = (): void => {
    resolve();
    if (queues.get(key) === last) queues.delete(key);
  };
  try {
    await orAborted(before, signal);
    return leave;
  } catch (error) {
    // A change that is aborted while it waits leaves the queue, so that later changes can start.
    resolve();
    throw error;
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

async function orAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  const { promise, resolve } = withResolver();
  signal.addEventListener('abort', resolve, { once: true });
  try {
    await Promise.race([work, promise]);
    throwIfAborted(signal);
  } finally {
    signal.removeEventListener('abort', resolve);
  }
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
