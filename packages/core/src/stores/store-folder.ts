import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Whoever made what is older than this has died. */
const LEFTOVER_MS = 3_600_000;

/** Windows has neither; opening a pipe must not wait for its other end. */
const CAREFUL = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The folder of a file store: makes what is not there, for its owner alone, and opens what is, without following
 * links. A new file is written in `partial/` and then linked or renamed to its name, so that under its name it is
 * whole from the first moment; what a killed process left in `partial/` is removed some time later.
 */
export class StoreFolder {
  readonly #root: string;
  /** The root and the folders in it. There may be many below those. */
  readonly #checked = new Set<string>();
  #isSwept = false;

  constructor(root: string) {
    this.#root = root;
  }

  path(...names: string[]): string {
    return join(this.#root, ...names);
  }

  /** Makes a folder of ours, and those above it that are missing. */
  makeFolder(...names: string[]): void {
    const path = this.path(...names);
    if (this.#checked.has(path) && existsSync(path)) return;
    if (names.length > 0) this.makeFolder(...names.slice(0, -1));
    makeMissing(path);
    if (names.length > 0) makePrivate(path);
    if (names.length < 2) this.#checked.add(path);
  }

  /** A free name in `partial/`. What is left there is removed later. */
  partialPath(): string {
    this.makeFolder('partial');
    this.#sweep();
    return this.path('partial', randomBytes(12).toString('base64url'));
  }

  /** A new file in `partial/`, to be linked or renamed. */
  createPartial(): { path: string; file: number } {
    const path = this.partialPath();
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | CAREFUL, 0o600);
    fchmodSync(file, 0o600);
    return { path, file };
  }

  /** False where the name is taken. Its folder must be there. */
  place(path: string, content: string): boolean {
    const partial = this.createPartial();
    try {
      writeWhole(partial.file, Buffer.from(content));
      linkSync(partial.path, path);
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      closeSync(partial.file);
      unlinkSync(partial.path);
    }
  }

  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of namesIn(this.path('partial'))) {
      const path = this.path('partial', name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat !== undefined && stat.mtimeMs < Date.now() - LEFTOVER_MS) rmSync(path, { recursive: true, force: true });
    }
  }
}

/** In one write, or with an error: only a full disk or a quota cuts one short. */
export function writeWhole(file: number, bytes: Uint8Array): void {
  const written = writeSync(file, bytes);
  if (written < bytes.length) throw new Error(`Only ${written} of ${bytes.length} bytes could be written`);
}

/** Undefined where there is no such file. */
export function openForAppend(path: string): number | undefined {
  return orUndefined(path, () => openSync(path, constants.O_WRONLY | constants.O_APPEND | CAREFUL));
}

/** Undefined where there is no such file. */
export async function openForReading(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | CAREFUL);
  } catch (error) {
    return orUndefined(path, () => {
      throw error;
    });
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path} is no regular file`);
}

/** What stands in the folder; nothing where there is none. */
export function namesIn(path: string): readonly string[] {
  return orUndefined(path, () => readdirSync(path)) ?? [];
}

export const syncFile = promisify(fsync);

/** Makes new and removed names in the folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  // Windows neither opens folders nor needs it.
  if (process.platform === 'win32') return;
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | CAREFUL);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

function orUndefined<Result>(path: string, look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (hasCode(error, 'ELOOP'))
      throw new Error(`${path} is a link, which the store does not follow`, { cause: error });
    throw error;
  }
}

function makeMissing(path: string): void {
  try {
    mkdirSync(path, 0o700);
    // The umask may have taken away what the owner needs.
    chmodSync(path, 0o700);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error;
    makeMissing(dirname(path));
    makeMissing(path);
  }
}

/** A root that was there before is left as it is; the folders in it are ours. */
function makePrivate(path: string): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) throw new Error(`${path} is no folder`);
  if ((stat.mode & 0o777) !== 0o700) chmodSync(path, 0o700);
}
