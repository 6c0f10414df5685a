import { randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isPlainGitConfig } from './git-config.js';
import type { MovedEntry } from './messages.js';
import { ProtectedSearch, type ProtectedEntries, type ProtectedEntry } from './protected-entries.js';

/*
 * Prevents a command from changing files that other programs execute or obey. Existing files are mounted read-only, up
 * to `MAX_MOUNTS`. After the command, new files and changed files without a mount are renamed, so that they have no
 * effect.
 */

export interface GuardedFolders {
  /** Folders that the command can write to. */
  readonly roots: readonly string[];
  readonly unprotected: ReadonlySet<string>;
  /** Paths at which nothing may be created. */
  readonly absent: readonly string[];
}

/** The state before a command. */
export interface Guarded {
  readonly folders: GuardedFolders;
  /** Existing paths, with symbolic links resolved, to mount read-only for the command. */
  readonly readOnly: readonly string[];
  /** The identities of files that the command cannot change. The user can change such a file while the command runs. */
  readonly mounted: ReadonlySet<string>;
  /** The identities of all other files, with their state. */
  readonly unmounted: ReadonlySet<string>;
  readonly unreadable: ReadonlySet<string>;
}

/**
 * Maximum number of mounts on a command line. The states of further entries, with everything below them, are compared
 * after the command.
 */
const MAX_MOUNTS = 800;
/** Maximum number of rounds of renaming. Renaming an entry can reveal another entry. */
const MAX_ROUNDS = 4;

export class Guard {
  readonly #search = new ProtectedSearch();

  before(folders: GuardedFolders): Guarded {
    const { entries, unreadable } = this.#search.find(folders.roots, folders.unprotected);
    const readOnly = new Set<string>();
    // defence: existing-entries-are-mounted
    for (const { path, kind } of entries) if (kind !== 'hook') addRealPath(readOnly, path);
    const mounted = new Set([...readOnly].slice(0, MAX_MOUNTS));
    const isMounted = ({ path, kind }: ProtectedEntry): boolean => mounted.has(kind === 'hook' ? dirname(path) : path);
    return {
      folders,
      readOnly: [...mounted],
      mounted: new Set(entries.filter(isMounted).map(({ path }) => fileOf(path))),
      unmounted: new Set(entries.filter((entry) => !isMounted(entry)).map(({ path }) => stateOf(path))),
      unreadable,
    };
  }

  /** Moves new and changed entries away. The caller first waits until all processes of the command have ended. */
  after(guarded: Guarded): MovedEntry[] {
    const moved: MovedEntry[] = [];
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      // defence: packages-in-place-of-the-program, without it: const now = this.#readable(guarded.folders, guarded.unreadable).entries;
      const now = [
        ...this.#readable(guarded.folders, guarded.unreadable).entries,
        ...guarded.folders.absent.flatMap(inPlaceOfOurs),
      ];
      const found = now.filter((entry) => !isHarmless(entry) && !isKnown(entry, guarded));
      if (found.length === 0) break;
      for (const entry of found) moved.push(...moveAway(entry));
    }
    return moved;
  }

  /** Finds the entries even if the command has removed the permissions of folders to hide its files. */
  #readable(folders: GuardedFolders, unreadable: ReadonlySet<string>): ProtectedEntries {
    const found = this.#search.find(folders.roots, folders.unprotected);
    const closed = [...found.unreadable].filter((path) => !unreadable.has(path));
    // defence: closed-folders-are-opened, without it: const opened: string[] = [];
    const opened = closed.filter(open);
    if (opened.length === 0) return found;
    const remaining = closed.filter((path) => !opened.includes(path));
    return this.#readable(folders, new Set([...unreadable, ...remaining]));
  }
}

function addRealPath(paths: Set<string>, path: string): void {
  try {
    paths.add(realpathSync(path));
  } catch {
    // A dangling link has no file that the command could write.
  }
}

function inPlaceOfOurs(path: string): ProtectedEntry[] {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return [];
  return [{ path, reason: 'Toolscript would load it instead of one of its own packages', kind: 'name' }];
}

function isKnown({ path }: ProtectedEntry, { mounted, unmounted }: Guarded): boolean {
  return mounted.has(fileOf(path)) || unmounted.has(stateOf(path));
}

function isHarmless({ path, kind }: ProtectedEntry): boolean {
  if (kind === 'hooks') return true;
  // defence: new-hooks-only-as-samples, without it: if (kind === 'hook') return true;
  if (kind === 'hook') return path.endsWith('.sample');
  // defence: new-git-config-only-plain, without it: return kind === 'config';
  return kind === 'config' && isPlainGitConfig(path);
}

/** The identity of the file, regardless of its content. */
function fileOf(path: string): string {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? path : `${found.dev}:${found.ino}`;
}

/** The identity and state of the file, with everything below it. */
function stateOf(path: string): string {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  const own = `${fileOf(path)}:${found?.ctimeNs}`;
  if (found?.isDirectory() !== true) return own;
  return [own, ...names(path).map((name) => stateOf(join(path, name)))].join(',');
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function moveAway({ path, reason }: ProtectedEntry): MovedEntry[] {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return [];
  const place = `${path}.quarantined-${randomBytes(6).toString('hex')}`;
  try {
    rename(path, place);
    return [{ path, movedTo: place, reason }];
  } catch {
    return [{ path, movedTo: '', reason }];
  }
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // defence: quarantine-in-closed-folders
    open(dirname(from));
    renameSync(from, to);
  }
}

function open(folder: string): boolean {
  try {
    // Returns whether the folder can be read now. The call only adds permissions.
    chmodSync(folder, (lstatSync(folder).mode & 0o7777) | 0o700);
    return true;
  } catch {
    return false;
  }
}
