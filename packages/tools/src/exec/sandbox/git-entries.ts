import { join } from 'node:path';
import { foldName } from '../../files/protected-names.js';
import type { FolderEntry, FolderReader } from './folder-reader.js';
import type { ProtectedEntry } from './protected-entry.js';

/*
 * The entries of a repository that git obeys. In `.git`, in a submodule's repository and in a worktree's folder, these
 * are all entries except those in a list: git's data, and the texts that its commands write. A folder without
 * such a name that git would take for a repository may contain any files of the user, so there they are a list.
 */

const REASON = 'git runs its hooks and obeys its configuration';

/** Files in which git stores data and messages, and the lock files that it renames to them. */
const DATA_FILES =
  /^(?:HEAD|index|packed-refs|description|shallow|locked|gc\.log|gc\.pid|sharedindex\.\w+|AUTO_MERGE|EDIT_DESCRIPTION|(?:BISECT|NOTES_MERGE)_[A-Z_]+|[A-Z]+(?:_[A-Z]+)*_(?:HEAD|MSG|EDITMSG|MODE|RR|AUTOSTASH)|[\w.-]+\.lock)$/;
/** Folders in which git stores data. Programs would only read files below them. */
const DATA_FOLDERS = new Set(['objects', 'lfs', 'rr-cache']);
/** Folders in which git appends to files, so it would write to the target of a link. */
const FOLDERS_WITHOUT_LINKS = new Set(['refs', 'reftable', 'logs', 'info']);
/** The entries that git obeys in a folder without a special name. */
const CONTROLS = new Set([
  'config.worktree',
  'commondir',
  'gitdir',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
  'remotes',
]);

/** Collects the entries of repositories. */
export class GitEntries {
  readonly #reader: FolderReader;
  readonly #entries: ProtectedEntry[];

  constructor(reader: FolderReader, entries: ProtectedEntry[]) {
    this.#reader = reader;
    this.#entries = entries;
  }

  /** A folder that git takes for a repository because of its content. */
  addUnnamed(path: string): void {
    for (const entry of this.#reader.list(path) ?? []) this.#addUnnamedEntry(join(path, entry.name), entry);
  }

  #addUnnamedEntry(place: string, { name, type }: FolderEntry): void {
    const folded = foldName(name);
    if (folded === 'config') this.#add(place, 'config', []);
    if (folded === 'hooks') this.#add(place, 'hooks', []);
    // defence: git-control-files
    if (CONTROLS.has(folded)) this.#add(place, 'git', []);
    if (folded === 'modules' && type === 'folder') this.#addBelow(place, [], false);
    if (folded === 'worktrees' && type === 'folder') this.#addBelow(place, [], false);
  }

  /** `.git`, the repository of a submodule, or the folder of a worktree. `within` has the repositories around it. */
  addNamed(path: string, within: readonly string[]): void {
    this.#add(path, 'repository', within);
    for (const entry of this.#reader.list(path) ?? [])
      this.#addNamedEntry(join(path, entry.name), entry, [...within, path]);
  }

  #addNamedEntry(place: string, { name, type }: FolderEntry, within: readonly string[]): void {
    const folded = foldName(name);
    if (folded === 'config') return this.#add(place, 'config', within);
    if (folded === 'hooks') return this.#add(place, 'hooks', within);
    if (type === 'link') return this.#add(place, 'link', within);
    if (type === 'folder') return this.#addNamedFolder(place, name, within);
    // defence: git-files-by-allow-list
    if (type !== 'file' || !DATA_FILES.test(name)) this.#add(place, 'git', within);
  }

  #addNamedFolder(place: string, name: string, within: readonly string[]): void {
    // defence: git-submodules
    if (name === 'modules') return this.#addBelow(place, within, true);
    // defence: git-worktrees
    if (name === 'worktrees') return this.#addWorktrees(place, within);
    // defence: git-data-without-links
    if (FOLDERS_WITHOUT_LINKS.has(name)) return this.#addLinks(place, within);
    // `git init` creates an empty folder; a file in it is an address for `git fetch`.
    if (name === 'branches' && this.#reader.list(place)?.length === 0) return;
    // defence: git-folders-by-allow-list
    if (!DATA_FOLDERS.has(name)) this.#add(place, 'git', within);
  }

  #addWorktrees(path: string, within: readonly string[]): void {
    for (const { name, type } of this.#reader.list(path) ?? []) {
      // defence: git-worktrees-are-no-links
      if (type === 'link') this.#add(join(path, name), 'link', within);
      if (type === 'folder') this.addNamed(join(path, name), within);
    }
  }

  /** The repositories of submodules, whose names may contain slashes. */
  #addBelow(path: string, within: readonly string[], withLinks: boolean): void {
    for (const { name, type } of this.#reader.list(path) ?? []) {
      const place = join(path, name);
      // defence: git-submodules-are-no-links
      if (type === 'link' && withLinks) this.#add(place, 'link', within);
      if (type !== 'folder') continue;
      if (this.#has(place, 'HEAD')) this.addNamed(place, within);
      else this.#addBelow(place, within, withLinks);
    }
  }

  #addLinks(path: string, within: readonly string[]): void {
    for (const { name, type } of this.#reader.list(path) ?? []) {
      if (type === 'link' || type === 'other') this.#add(join(path, name), 'link', within);
      if (type === 'folder') this.#addLinks(join(path, name), within);
    }
  }

  #has(folder: string, name: string): boolean {
    return this.#reader.stat(join(folder, name)) !== undefined;
  }

  #add(path: string, kind: ProtectedEntry['kind'], within: readonly string[]): void {
    this.#entries.push({ path, reason: REASON, kind, within });
  }
}
