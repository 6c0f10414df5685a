import { randomBytes } from 'node:crypto';
import {
  chmod,
  close,
  constants,
  fchmod,
  fdatasync,
  fstat,
  fsync,
  futimes,
  link,
  lstat,
  mkdir,
  open,
  read,
  readdir,
  readFile,
  rename,
  rm,
  unlink,
  write,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { identityOfMark, isAlive, markOf, ownIdentity } from './process-identity.js';

/** What a process left whose end nobody here can see: it has died long ago. */
const LEFTOVER_MS = 7 * 86_400_000;

/** Windows has neither; opening a pipe must not wait for its other end. */
const CAREFUL = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The file operations of a store: each of them leaves the event loop free. */
export const files = {
  chmod: promisify(chmod),
  close: promisify(close),
  fchmod: promisify(fchmod),
  fdatasync: promisify(fdatasync),
  fstat: promisify(fstat),
  fsync: promisify(fsync),
  futimes: promisify(futimes),
  link: promisify(link),
  lstat: promisify(lstat),
  mkdir: promisify(mkdir),
  open: promisify(open),
  read: promisify(read),
  readdir: promisify(readdir) as (path: string) => Promise<string[]>,
  readFile: promisify(readFile) as (file: number) => Promise<Buffer>,
  rename: promisify(rename),
  rm: promisify(rm),
  unlink: promisify(unlink),
  write: promisify(write),
};

/**
 * The folder of a file store: makes what is not there, for its owner alone, and opens what is, without following
 * links. A new file is written in `partial/` and then linked or renamed to its name, so that under its name it is
 * whole from the first moment; what a killed process left in `partial/` is removed later.
 */
export class StoreFolder {
  readonly #root: string;
  /** The root and the folders in it, that are there. There may be many below those. */
  readonly #checked = new Map<string, Promise<void>>();
  #sweeping: Promise<void> | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  /** Runs `act`, and once more after making the folder (and those above it) where it is missing. */
  async within<Result>(names: readonly string[], act: () => Promise<Result>): Promise<Result> {
    await this.#check(names.slice(0, 1));
    try {
      return await act();
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      await this.#make(names);
      return act();
    }
  }

  /** A free name in `partial/`; use it `within` that folder. */
  async partialPath(): Promise<string> {
    // What cannot be removed now is removed another time.
    this.#sweeping ??= this.#sweep().catch(() => {});
    await this.#sweeping;
    return this.path('partial', `${markOf(ownIdentity())}.${randomBytes(12).toString('base64url')}`);
  }

  /** A new file in `partial/`, open. */
  async openPartial(): Promise<{ path: string; file: number }> {
    const path = await this.partialPath();
    return { path, file: await this.within(['partial'], () => createFile(path)) };
  }

  /** A new file in `partial/` with this content; `flush`: it survives a power cut. */
  async createPartial(content: string | Uint8Array, flush = false): Promise<string> {
    const { path, file } = await this.openPartial();
    try {
      await writeWhole(file, content);
      if (flush) await files.fsync(file);
    } finally {
      await files.close(file);
    }
    return path;
  }

  /** Folders of ours that are there are for their owner alone. */
  #check(names: readonly string[]): Promise<void> {
    const path = this.path(...names);
    const known = this.#checked.get(path);
    if (known !== undefined) return known;
    const checking = this.#demandOwn(names);
    this.#checked.set(path, checking);
    checking.catch(() => this.#checked.delete(path));
    return checking;
  }

  async #demandOwn(names: readonly string[]): Promise<void> {
    const stat = await orUndefined(this.path(...names), () => files.lstat(this.path(...names)));
    if (stat !== undefined && names.length > 0) await makePrivate(this.path(...names), stat);
  }

  /** With those above it that are missing. */
  async #make(names: readonly string[]): Promise<void> {
    try {
      await makeFolder(this.path(...names));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      this.#checked.clear();
      if (names.length > 0) await this.#make(names.slice(0, -1));
      else await makeAbove(this.path());
      await makeFolder(this.path(...names));
    }
  }

  /** Once for each store: what others left there. */
  async #sweep(): Promise<void> {
    for (const name of await namesIn(this.path('partial'))) {
      const path = this.path('partial', name);
      const stat = await orUndefined(path, () => files.lstat(path));
      if (stat !== undefined && this.#isLeftOver(name, stat)) await files.rm(path, { recursive: true, force: true });
    }
  }

  /** By its maker's end, not by a clock, wherever that can be seen. */
  #isLeftOver(name: string, stat: Stats): boolean {
    const maker = identityOfMark(name.split('.')[0] ?? '');
    const lives = maker === undefined ? undefined : isAlive(maker, ownIdentity());
    return lives === undefined ? stat.mtimeMs < Date.now() - LEFTOVER_MS : !lives;
  }
}

/** Without a link in its place; for its owner alone. Rejects with EEXIST where the name is taken. */
export async function createFile(path: string): Promise<number> {
  const file = await files.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | CAREFUL, 0o600);
  if (takesFromOwner()) await files.fchmod(file, 0o600);
  return file;
}

/** The umask may take away what the owner needs. */
function takesFromOwner(): boolean {
  return process.platform !== 'win32' && (process.umask() & 0o700) !== 0;
}

/** Rejects where not all of it could be written: on a full disk or a quota. */
export async function writeWhole(file: number, content: string | Uint8Array, at: number | null = null): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const { bytesWritten } = await files.write(file, bytes, 0, bytes.length, at);
  if (bytesWritten < bytes.length) throw new Error(`Only ${bytesWritten} of ${bytes.length} bytes could be written`);
}

/** Made where there is none, in a folder that is there. */
export async function openForAppend(path: string): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | CAREFUL;
  const file = await withoutLink(path, () => files.open(path, flags, 0o600));
  const stat = await files.fstat(file);
  if (!stat.isFile()) {
    await files.close(file);
    throw new Error(`${path} is no regular file`);
  }
  if ((stat.mode & 0o777) !== 0o600 && process.platform !== 'win32') await files.fchmod(file, 0o600);
  return file;
}

/** For writing in the middle. Undefined where there is no such file. */
export function openForWriting(path: string): Promise<number | undefined> {
  return orUndefined(path, () => files.open(path, constants.O_WRONLY | CAREFUL));
}

/** Undefined where there is no such file. */
export async function readWhole(path: string): Promise<{ bytes: Buffer; stat: Stats } | undefined> {
  const file = await orUndefined(path, () => files.open(path, constants.O_RDONLY | CAREFUL));
  if (file === undefined) return undefined;
  try {
    const stat = await files.fstat(file);
    if (!stat.isFile()) throw new Error(`${path} is no regular file`);
    return { bytes: await files.readFile(file), stat };
  } finally {
    await files.close(file);
  }
}

const SMALL_BYTES = 8_192;

/** A file that is small as a rule, in few operations. Undefined where there is none. */
export async function readSmall(path: string): Promise<Buffer | undefined> {
  const file = await orUndefined(path, () => files.open(path, constants.O_RDONLY | CAREFUL));
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await files.read(file, Buffer.allocUnsafe(SMALL_BYTES), 0, SMALL_BYTES, null);
    if (bytesRead < SMALL_BYTES) return buffer.subarray(0, bytesRead);
    return Buffer.concat([buffer, await files.readFile(file)]);
  } finally {
    void files.close(file).catch(() => {});
  }
}

/** Of the name itself, where it is a link. Undefined where there is nothing. */
export function statFile(path: string): Promise<Stats | undefined> {
  return orUndefined(path, () => files.lstat(path));
}

/** What stands in the folder; nothing where there is none. */
export async function namesIn(path: string): Promise<readonly string[]> {
  return (await orUndefined(path, () => files.readdir(path))) ?? [];
}

/** Whether it was there. */
export async function removeFile(path: string): Promise<boolean> {
  return (await orUndefined(path, () => files.unlink(path).then(() => true))) === true;
}

/** Makes new and removed names in the folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  // Windows neither opens folders nor needs it.
  if (process.platform === 'win32') return;
  const folder = await files.open(path, constants.O_RDONLY | constants.O_DIRECTORY | CAREFUL);
  try {
    await files.fsync(folder);
  } finally {
    await files.close(folder);
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

async function orUndefined<Result>(path: string, look: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await withoutLink(path, look);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function withoutLink<Result>(path: string, look: () => Promise<Result>): Promise<Result> {
  try {
    return await look();
  } catch (error) {
    if (hasCode(error, 'ELOOP'))
      throw new Error(`${path} is a link, which the store does not follow`, { cause: error });
    throw error;
  }
}

/** One that was there is left as it is, unless it is no folder. */
async function makeFolder(path: string): Promise<void> {
  try {
    await files.mkdir(path, 0o700);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    if (!(await files.lstat(path)).isDirectory()) throw new Error(`${path} is no folder`, { cause: error });
    return;
  }
  // The umask may have taken away what the owner needs.
  await makePrivate(path, await files.lstat(path));
}

async function makeAbove(path: string): Promise<void> {
  const above = dirname(path);
  if (above === path) return;
  try {
    await makeFolder(above);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await makeAbove(above);
    await makeFolder(above);
  }
}

async function makePrivate(path: string, stat: Stats): Promise<void> {
  if (!stat.isDirectory()) throw new Error(`${path} is no folder`);
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') await files.chmod(path, 0o700);
}
