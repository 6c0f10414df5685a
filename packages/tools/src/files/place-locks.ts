import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure, systemCode, throwIfAborted } from '../failure.js';
import { isAlive, ownIdentity, ProcessIdentity } from './process-identity.js';

/*
 * Serializes changes of a path across all processes of a user.
 *
 * Paths share a fixed number of locks. A lock is a folder with numbered files: the newest file names the holder, and
 * `<number>.released` says that the holder released it. The process that creates the file with the next number becomes
 * the next holder; only one process can create it. So the lock of a killed process is claimed without a moment in which
 * two processes hold it.
 */

const LOCKS = 256;
const MAX_WAIT_MS = 30_000;
/**
 * Maximum age of an empty lock file, in ms: a holder writes the file right after its creation, so a file that stays
 * empty has no holder.
 */
const EMPTY_MS = 2_000;
/** The number of older lock files that are kept for processes that have just listed them. */
const KEPT_NUMBERS = 8;

/** Runs `work` while no other change of the paths in `places` runs, in any process. */
export async function withLocks<T>(
  stateFolder: string | undefined,
  places: readonly string[],
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  // A fixed order prevents two changes from waiting for each other.
  const locks = [...new Set(places.map(lockOf))].sort();
  const releases: (() => void)[] = [];
  try {
    for (const lock of locks) {
      releases.push(await enterQueue(`${stateFolder}/${lock}`, signal));
      if (stateFolder !== undefined) releases.push(await takeLock(join(stateFolder, 'locks', lock), signal));
    }
    return await work();
  } finally {
    for (const release of releases.toReversed()) release();
  }
}

function lockOf(place: string): string {
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

async function takeLock(folder: string, signal: AbortSignal | undefined): Promise<() => void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = ownIdentity();
  const deadline = performance.now() + MAX_WAIT_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 20)) {
    throwIfAborted(signal);
    const release = tryLock(folder, own);
    if (release !== undefined) return release;
    if (performance.now() > deadline) throw heldTooLong();
    await sleep(pause * (0.5 + Math.random()));
  }
}

/** Returns a function that releases the lock. Returns undefined if another process holds the lock or was faster. */
function tryLock(folder: string, own: ProcessIdentity): (() => void) | undefined {
  const newest = newestNumber(folder);
  // defence: lock-holder-alive
  if (isHeld(folder, newest, own)) return undefined;
  const number = newest + 1;
  const path = join(folder, `${number}`);
  try {
    // defence: lock-exclusive, without it: writeFileSync(path, JSON.stringify(own));
    writeFileSync(path, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return undefined;
    throw error;
  }
  const isOutdated = newestNumber(folder) > number || namesIn(folder).includes(`${number}.released`);
  if (isOutdated) {
    removeIfThere(path);
    return undefined;
  }
  for (const name of namesIn(folder)) if (numberOf(name) < number - KEPT_NUMBERS) removeIfThere(join(folder, name));
  return () => renameSync(path, `${path}.released`);
}

function isHeld(folder: string, number: number, own: ProcessIdentity): boolean {
  const path = join(folder, `${number}`);
  try {
    const ageMs = Date.now() - lstatSync(path).mtimeMs;
    const text = readFileSync(path, 'utf8');
    if (text === '') return ageMs < EMPTY_MS;
    const holder = ProcessIdentity.safeParse(JSON.parse(text));
    return holder.success && isAlive(holder.data, own, ageMs);
  } catch (error) {
    // No process has held the lock yet, the holder has released it, or the file does not come from Toolscript.
    if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return false;
    throw error;
  }
}

function newestNumber(folder: string): number {
  return namesIn(folder).reduce((newest, name) => Math.max(newest, numberOf(name)), 0);
}

function numberOf(name: string): number {
  return Number(/^(\d{1,15})(?:\.released)?$/.exec(name)?.[1] ?? 0);
}

function namesIn(folder: string): string[] {
  return readdirSync(folder);
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

function heldTooLong(): Error {
  return failure(
    'changed',
    `Another Toolscript process has been changing the same files for more than ${MAX_WAIT_MS / 1000} s. Try again when that process has finished.`,
  );
}
