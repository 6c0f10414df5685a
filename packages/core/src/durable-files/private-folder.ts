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
import { identityOfMark, isHeld, identityMark, ownIdentity } from './process-identity.js';

/** Files of a process whose end cannot be observed are leftovers after this time. */
const LEFTOVER_MS = 7 * 86_400_000;

/** Windows has neither flag. O_NONBLOCK prevents waiting for the other end of a pipe. */
const CAREFUL = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The asynchronous file operations of a store. */
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
 * A folder for its owner alone, such as that of a file store. It creates missing folders and files with access for
 * their owner only, and opens existing folders and files without following links. A new file is written in `partial/`,
 * then linked or renamed, so that it appears atomically under its final name. Files that a killed process left in
 * `partial/` are removed later.
 */
export class PrivateFolder {
  readonly #root: string;
  /** The checks of the root and of its direct subfolders. Deeper folders are not checked, because there may be many. */
  readonly #checkedFolders = new Map<string, Promise<void>>();
  #sweeping: Promise<void> | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  /** Runs `act`. If the folder is missing, creates it with its parents and runs `act` again. */
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

  /** Returns an unused path in `partial/`. Use the path in a call of `within` for that folder. */
  async partialPath(): Promise<string> {
    // Files that cannot be removed now are removed later.
    this.#sweeping ??= this.#sweep().catch(() => {});
    await this.#sweeping;
    return this.path('partial', `${identityMark(ownIdentity())}.${randomBytes(12).toString('base64url')}`);
  }

  /** Creates and opens a file in `partial/`. */
  async openPartial(): Promise<{ path: string; file: number }> {
    const path = await this.partialPath();
    return { path, file: await this.within(['partial'], () => createFile(path)) };
  }

  /** Creates a file in `partial/` with this content. With `flush`, the content survives a power failure. */
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

  /** Restricts the access to an existing folder to its owner, once for each folder. */
  #check(names: readonly string[]): Promise<void> {
    const path = this.path(...names);
    const known = this.#checkedFolders.get(path);
    if (known !== undefined) return known;
    const checking = this.#demandOwn(names);
    this.#checkedFolders.set(path, checking);
    checking.catch(() => this.#checkedFolders.delete(path));
    return checking;
  }

  async #demandOwn(names: readonly string[]): Promise<void> {
    const stat = await orUndefined(this.path(...names), () => files.lstat(this.path(...names)));
    if (stat !== undefined && names.length > 0) await makePrivate(this.path(...names), stat);
  }

  /** Creates the folder and its missing parents. */
  async #make(names: readonly string[]): Promise<void> {
    try {
      await makeFolder(this.path(...names));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      this.#checkedFolders.clear();
      if (names.length > 0) await this.#make(names.slice(0, -1));
      else await makeAbove(this.path());
      await makeFolder(this.path(...names));
    }
  }

  /** Removes leftovers, once for each store. */
  async #sweep(): Promise<void> {
    for (const name of await folderNames(this.path('partial'))) {
      const path = this.path('partial', name);
      const stat = await orUndefined(path, () => files.lstat(path));
      if (stat !== undefined && this.#isLeftOver(name, stat)) await files.rm(path, { recursive: true, force: true });
    }
  }

  /**
   * Whether a file is a leftover. If the process that created the file can be observed, its end decides; otherwise the
   * age of the file decides.
   */
  #isLeftOver(name: string, stat: Stats): boolean {
    return !isHeld(identityOfMark(name.split('.')[0] ?? ''), stat.mtimeMs, LEFTOVER_MS);
  }
}

/**
 * Creates and opens a file with access for its owner only, without following links. Rejects with EEXIST if the name
 * exists.
 */
export async function createFile(path: string): Promise<number> {
  const file = await files.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | CAREFUL, 0o600);
  if (takesFromOwner()) await files.fchmod(file, 0o600);
  return file;
}

/** Whether the umask removes permissions that the owner needs. */
function takesFromOwner(): boolean {
  return process.platform !== 'win32' && (process.umask() & 0o700) !== 0;
}

/** Writes all bytes at once. Rejects after a partial write, as on a full disk or an exceeded quota. */
export async function writeWhole(file: number, content: string | Uint8Array, at: number | null = null): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const { bytesWritten } = await files.write(file, bytes, 0, bytes.length, at);
  if (bytesWritten < bytes.length)
    throw new Error(
      `Only ${bytesWritten} of ${bytes.length} bytes could be written. Free disk space or raise the quota`,
    );
}

/** Opens a file for appends, and creates it if it is missing. The folder must exist. */
export async function openForAppend(path: string): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | CAREFUL;
  const file = await withoutLink(path, () => files.open(path, flags, 0o600));
  const stat = await files.fstat(file);
  if (!stat.isFile()) {
    await files.close(file);
    throw new Error(`${path} is not a regular file. Remove it`);
  }
  if ((stat.mode & 0o777) !== 0o600 && process.platform !== 'win32') await files.fchmod(file, 0o600);
  return file;
}

/** Opens a file for writes at any position; undefined if there is no such file. */
export function openForWriting(path: string): Promise<number | undefined> {
  return orUndefined(path, () => files.open(path, constants.O_WRONLY | CAREFUL));
}

/** Reads at most `length` bytes from the start of a file; undefined if there is no such file. */
export async function readStart(path: string, length: number): Promise<Buffer | undefined> {
  const file = await openForReading(path);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await files.read(file, Buffer.allocUnsafe(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await files.close(file);
  }
}

function openForReading(path: string): Promise<number | undefined> {
  return orUndefined(path, () => files.open(path, constants.O_RDONLY | CAREFUL));
}

/** Reads a file and its state; undefined if there is no such file. */
export async function readWhole(path: string): Promise<{ bytes: Buffer; stat: Stats } | undefined> {
  const file = await openForReading(path);
  if (file === undefined) return undefined;
  try {
    const stat = await files.fstat(file);
    if (!stat.isFile()) throw new Error(`${path} is not a regular file. Remove it`);
    return { bytes: await files.readFile(file), stat };
  } finally {
    await files.close(file);
  }
}

const SMALL_BYTES = 8_192;

/** Reads a file that is usually small, in few operations; undefined if there is no such file. */
export async function readSmall(path: string): Promise<Buffer | undefined> {
  const file = await openForReading(path);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await files.read(file, Buffer.allocUnsafe(SMALL_BYTES), 0, SMALL_BYTES, null);
    if (bytesRead < SMALL_BYTES) return buffer.subarray(0, bytesRead);
    return Buffer.concat([buffer, await files.readFile(file)]);
  } finally {
    void files.close(file).catch(() => {});
  }
}

/** The state of a file, a folder, or a link itself; undefined if there is none. */
export function statFile(path: string): Promise<Stats | undefined> {
  return orUndefined(path, () => files.lstat(path));
}

/** The names in the folder; empty if there is none. */
export async function folderNames(path: string): Promise<readonly string[]> {
  return (await orUndefined(path, () => files.readdir(path))) ?? [];
}

/** Removes a file. Returns whether the file existed. */
export async function removeFile(path: string): Promise<boolean> {
  return (await orUndefined(path, () => files.unlink(path).then(() => true))) === true;
}

/** Makes created and removed names in the folder survive a power failure. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open folders and does not need to flush them.
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
      throw new Error(`${path} is a link, which the store does not follow. Replace it with the file or folder itself`, {
        cause: error,
      });
    throw error;
  }
}

/** Creates a folder, or keeps an existing one. Rejects if the path is not a folder. */
async function makeFolder(path: string): Promise<void> {
  try {
    await files.mkdir(path, 0o700);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    if (!(await files.lstat(path)).isDirectory())
      throw new Error(`${path} is not a folder. Remove it, or use another folder for the store`, { cause: error });
    return;
  }
  // The umask may have removed permissions that the owner needs.
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
  if (!stat.isDirectory()) throw new Error(`${path} is not a folder. Remove it, or use another folder for the store`);
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') await files.chmod(path, 0o700);
}
