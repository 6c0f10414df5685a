import { chmodSync, lstatSync, readdirSync, realpathSync, type BigIntStats, type Dirent } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../../failure.js';
import type { UncheckedPlace } from './messages.js';
import { pathText, systemPath } from './system-path.js';

/** Maximum number of folders that one search reads. */
const MAX_FOLDERS = 2_000_000;

export interface FolderReaderOptions {
  /** The closed folders before the command. If they are given, the reader opens all other closed folders. */
  readonly closedBefore?: ReadonlyMap<string, string> | undefined;
  readonly maxFolders?: number | undefined;
}

export interface FolderEntry {
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
}

/**
 * Reads folders of the workspace, and remembers everything that it could not read: nothing is skipped in silence. A
 * folder that was closed before the command, and that is unchanged, is no problem: the command could not open it
 * either.
 */
export class FolderReader {
  readonly unchecked: UncheckedPlace[] = [];
  /** The folders that this user may not read, with their state. */
  readonly closed = new Map<string, string>();
  readonly #closedBefore: ReadonlyMap<string, string> | undefined;
  #foldersLeft: number;

  constructor({ closedBefore, maxFolders = MAX_FOLDERS }: FolderReaderOptions = {}) {
    this.#closedBefore = closedBefore;
    this.#foldersLeft = maxFolders;
  }

  /** The entry itself, not the target of a link; undefined if there is none. */
  stat(path: string): BigIntStats | undefined {
    return this.#read(path, dirname(path), () => lstatSync(systemPath(path), { bigint: true }));
  }

  /** The entries of a folder; undefined if it is absent or could not be read. */
  list(path: string): FolderEntry[] | undefined {
    if (this.#foldersLeft === 0) return undefined;
    this.#foldersLeft -= 1;
    // defence: the-search-has-a-bound
    if (this.#foldersLeft === 0) this.unchecked.push({ path, reason: 'the workspace has too many folders' });
    return this.#read(path, path, () => listFolder(path));
  }

  #read<T>(path: string, folder: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      const code = systemCode(error) ?? String(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      if (this.#isClosed(folder, code)) return undefined;
      // defence: closed-folders-are-opened
      if (addOwnRights(folder)) return this.#readOpened(path, read);
      this.#report(path, code);
      return undefined;
    }
  }

  #readOpened<T>(path: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#report(path, systemCode(error) ?? String(error));
      return undefined;
    }
  }

  /** Whether the command cannot read the folder either. A path that is too long for this process is readable in steps. */
  #isClosed(folder: string, code: string): boolean {
    // defence: long-paths-are-no-closed-folders
    if (code === 'ENAMETOOLONG') return false;
    const state = closedState(folder, code);
    if (this.#closedBefore !== undefined) return this.#closedBefore.get(folder) === state;
    this.closed.set(folder, state);
    return true;
  }

  #report(path: string, code: string): void {
    const reason = code === 'ENAMETOOLONG' ? 'its path is too long' : `it could not be read (${code})`;
    // defence: what-cannot-be-read-is-reported
    this.unchecked.push({ path, reason });
  }
}

/** The path with its links resolved; undefined if it leads nowhere. */
export function resolvedPath(path: string): string | undefined {
  try {
    return pathText(realpathSync.native(systemPath(path), { encoding: 'buffer' }));
  } catch {
    return undefined;
  }
}

/** Adds this user's rights to a folder. Returns whether it succeeded. */
export function addOwnRights(folder: string): boolean {
  try {
    const { mode } = lstatSync(systemPath(folder));
    chmodSync(systemPath(folder), (mode & 0o7777) | 0o700);
    return true;
  } catch {
    return false;
  }
}

function listFolder(path: string): FolderEntry[] {
  const entries = readdirSync(systemPath(path), { withFileTypes: true });
  // Node.js has replaced bytes that are not UTF-8.
  // defence: names-of-any-bytes
  const isText = entries.every(({ name }) => !name.includes('\ufffd'));
  if (isText) return entries.map((entry) => ({ name: entry.name, type: entryType(entry) }));
  const exact = readdirSync(systemPath(path), { withFileTypes: true, encoding: 'buffer' });
  return exact.map((entry) => ({ name: pathText(entry.name), type: entryType(entry) }));
}

function entryType(entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): FolderEntry['type'] {
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  return entry.isFile() ? 'file' : 'other';
}

/** A closed folder's identity and time of change, which a change of its rights would alter. */
function closedState(folder: string, code: string): string {
  try {
    const { dev, ino, ctimeNs } = lstatSync(systemPath(folder), { bigint: true });
    return `${code}:${dev}:${ino}:${ctimeNs}`;
  } catch {
    return code;
  }
}
