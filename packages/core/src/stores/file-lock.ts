import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, ownIdentity, parseIdentity } from './process-identity.js';

/**
 * The delay before a process retries a lock that another process holds, in ms. A random time of up to half the delay is
 * added.
 */
const RETRY_MS = 10;

/** If it is unknown whether the holder is alive, its lock is valid for this long, in ms. */
const UNKNOWN_HOLDER_MS = 10_000;

/** The error codes of a rename to an existing folder that is not empty. */
const IS_TAKEN = process.platform === 'win32' ? ['EPERM', 'EEXIST', 'EACCES'] : ['ENOTEMPTY', 'EEXIST'];

/**
 * Runs `act` while no other process holds the lock of this path. A process that has died holds no lock.
 *
 * The lock is the folder `<path>.lock` with one file in it, which names the holder. A process creates both under
 * another name, then renames the folder in one step. The rename succeeds only if the lock's folder is missing or empty.
 * A process releases its lock, and breaks the lock of a dead holder, by deleting the file. No other lock has a file of
 * this name, so no process deletes a lock that another process has acquired in the meantime.
 */
export async function withFileLock<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  const folder = `${path}.lock`;
  const name = await take(folder);
  try {
    return await act();
  } finally {
    await release(folder, name);
  }
}

async function take(folder: string): Promise<string> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const name = randomBytes(12).toString('hex');
  const own = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(own, name), JSON.stringify(ownIdentity()), { mode: 0o600 });
    while (!(await moved(own, folder))) {
      await breakDead(folder);
      await sleep(RETRY_MS * (1 + Math.random() / 2));
    }
    return name;
  } catch (error) {
    await rm(own, { recursive: true, force: true });
    throw error;
  }
}

/** Moves the new lock to its path. Returns false if another process holds the lock. */
async function moved(own: string, folder: string): Promise<boolean> {
  try {
    await rename(own, folder);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (IS_TAKEN.includes(code)) return false;
    throw error;
  }
}

async function breakDead(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (await isDead(join(folder, name))) await release(folder, name);
}

async function isDead(file: string): Promise<boolean> {
  try {
    const holder = parseIdentity(await readFile(file, 'utf8'));
    const lives = holder === undefined ? undefined : isAlive(holder, ownIdentity());
    if (lives !== undefined) return !lives;
    return Date.now() - (await stat(file)).mtimeMs > UNKNOWN_HOLDER_MS;
  } catch {
    return false;
  }
}

/** Deletes the lock. A folder that is not empty belongs to another holder, and stays. */
async function release(folder: string, name: string): Promise<void> {
  await unlink(join(folder, name)).catch(() => {});
  await rmdir(folder).catch(() => {});
}
