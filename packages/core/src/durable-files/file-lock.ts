import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdir,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isHeld, ownIdentity, parseIdentity } from './process-identity.js';

/**
 * The longest delay before a process retries a lock that another process holds, in ms. The first delay is 1 ms, and each
 * is twice as long as the one before. Up to half the delay is added at random.
 */
const MAX_RETRY_MS = 20;

/** The error codes of a rename to an existing folder that is not empty. */
const IS_TAKEN = process.platform === 'win32' ? ['EPERM', 'EEXIST', 'EACCES'] : ['ENOTEMPTY', 'EEXIST'];

/**
 * Runs `act` while no other process, and no other call in this process, holds the lock of this path. A process that has
 * died holds no lock. `onWait` is called before each retry; it may throw to end the wait.
 *
 * The lock is the folder `<path>.lock` with one file in it, which names the holder. A process creates both under
 * another name, then renames the folder in one step. The rename succeeds only if the lock's folder is missing or empty.
 * A process releases its lock, and breaks the lock of a dead holder, by deleting the file. No other lock has a file of
 * this name, so no process deletes a lock that another process has acquired in the meantime. The operations are
 * synchronous, because each is faster than a change of threads.
 */
export async function withFileLock<Result>(
  path: string,
  act: () => Promise<Result>,
  onWait?: () => void,
): Promise<Result> {
  const folder = `${path}.lock`;
  const name = await take(folder, onWait);
  try {
    return await act();
  } finally {
    release(folder, name);
  }
}

async function take(folder: string, onWait: (() => void) | undefined): Promise<string> {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  const name = randomBytes(12).toString('hex');
  const own = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(own, name), JSON.stringify(ownIdentity()), { mode: 0o600 });
    for (let delayMs = 1; !moveLock(own, folder); delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      onWait?.();
      breakDead(folder);
      await sleep(delayMs * (1 + Math.random() / 2));
    }
    return name;
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    throw error;
  }
}

/** Moves the new lock to its path. Returns false if another process holds the lock. */
function moveLock(own: string, folder: string): boolean {
  try {
    renameSync(own, folder);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // defence: lock-exclusive
    if (IS_TAKEN.includes(code)) return false;
    throw error;
  }
}

function breakDead(folder: string): void {
  for (const name of attempt(() => readdirSync(folder)) ?? []) {
    // defence: lock-holder-alive
    if (isLocked(join(folder, name))) continue;
    release(folder, name);
  }
}

function isLocked(file: string): boolean {
  return attempt(() => isHeld(parseIdentity(readFileSync(file, 'utf8')), statSync(file).mtimeMs)) ?? true;
}

/** Deletes the lock. A folder that is not empty belongs to another holder, and stays. */
function release(folder: string, name: string): void {
  attempt(() => unlinkSync(join(folder, name)));
  // The lock is free already, and some file systems need milliseconds to remove a folder.
  rmdir(folder, () => {});
}

/** The result of an operation that another process may have made impossible; undefined if it fails. */
function attempt<Result>(operation: () => Result): Result | undefined {
  try {
    return operation();
  } catch {
    return undefined;
  }
}
