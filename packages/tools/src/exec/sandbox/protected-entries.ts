import { lstatSync, readdirSync, type BigIntStats, type Dirent } from 'node:fs';
import { join, sep } from 'node:path';
import { foldName, isInPackages, PROTECTED_NAMES, protectedName } from '../../files/protected-names.js';

/*
 * Existing entries in the roots that other programs execute or obey: protected names at any depth, and the files that
 * control git in each repository. In folders of package managers, only the files of git are included: users do not open
 * these folders, but git reads them.
 */

export interface ProtectedEntry {
  readonly path: string;
  readonly reason: string;
  /** 'hooks' is always harmless, 'config' and 'hook' may be harmless, and 'name' and 'control' never are. */
  readonly kind: 'name' | 'config' | 'hook' | 'hooks' | 'control';
}

export interface ProtectedEntries {
  readonly entries: readonly ProtectedEntry[];
  /** Folders that could not be read. */
  readonly unreadable: ReadonlySet<string>;
}

const GIT = 'git runs its hooks and obeys its configuration';
/** Files of a repository that name programs, or another folder with such files. */
const CONTROLS = new Set(['config.worktree', 'commondir', 'gitdir']);
const HOOKS = 'hooks';

/**
 * Time for which a folder must have been unchanged before its listing can be reused, in ms, because file times can be
 * coarse.
 */
const SETTLED_MS = 2000;

interface Listing {
  readonly inode: bigint;
  readonly changedNs: bigint;
  readonly isSettled: boolean;
  readonly folders: readonly string[];
  /** Names of the files and folders that may be protected. */
  readonly named: readonly string[];
  /** Whether the folder has the files that make git treat it as a repository. */
  readonly isRepository: boolean;
}

/** Finds the protected entries in folders. Reuses the listings of unchanged folders. */
export class ProtectedSearch {
  #listings = new Map<string, Listing>();

  find(roots: readonly string[], unprotected: ReadonlySet<string>): ProtectedEntries {
    const walk = new Walk(this.#listings, unprotected);
    for (const root of roots) walk.folder(root, '', false);
    this.#listings = walk.seen;
    return walk;
  }
}

class Walk implements ProtectedEntries {
  readonly entries: ProtectedEntry[] = [];
  readonly unreadable = new Set<string>();
  readonly seen = new Map<string, Listing>();
  readonly #known: ReadonlyMap<string, Listing>;
  readonly #unprotected: ReadonlySet<string>;

  constructor(known: ReadonlyMap<string, Listing>, unprotected: ReadonlySet<string>) {
    this.#known = known;
    this.#unprotected = unprotected;
  }

  folder(path: string, inRoot: string, inPackages: boolean): void {
    if (this.seen.has(path)) return;
    const listing = this.#listing(path);
    if (listing === undefined) return;
    // defence: repositories-without-a-dot
    if (listing.isRepository) this.#repository(path);
    for (const name of listing.named) this.#named(join(path, name), `${inRoot}/${name}`, inPackages);
    for (const name of listing.folders) {
      const below = `${inRoot}/${name}`;
      if (this.#ruleOf(below, inPackages) === undefined)
        this.folder(path + sep + name, below, inPackages || isInPackages(name));
    }
  }

  #named(path: string, inRoot: string, inPackages: boolean): void {
    const rule = this.#ruleOf(inRoot, inPackages);
    if (rule === undefined) return;
    const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (rule.name === '.git' && isFolder) this.#repository(path);
    else this.entries.push({ path, reason: rule.reason, kind: 'name' });
  }

  #ruleOf(inRoot: string, inPackages: boolean): ReturnType<typeof protectedName> {
    const rule = mayBeProtected(inRoot) ? protectedName(lastNames(inRoot), this.#unprotected) : undefined;
    return inPackages && rule?.name !== '.git' ? undefined : rule;
  }

  /** Finds the files that control git in a repository, its submodules and its other worktrees. */
  #repository(path: string): void {
    if (this.#unprotected.has('.git')) return;
    for (const entry of listed(path) ?? []) {
      const [name, place] = [foldName(entry.name), join(path, entry.name)];
      if (name === 'config') this.#git(place, 'config');
      // defence: git-control-files
      if (CONTROLS.has(name)) this.#git(place, 'control');
      if (name === HOOKS) this.#hooks(place, entry);
      // defence: git-submodules
      if (name === 'modules') this.#repositoriesBelow(place);
      // defence: git-worktrees
      if (name === 'worktrees') for (const other of foldersIn(place)) this.#repository(other);
    }
  }

  #hooks(path: string, entry: Dirent): void {
    this.#git(path, entry.isDirectory() ? 'hooks' : 'control');
    for (const hook of entry.isDirectory() ? (listed(path) ?? []) : []) this.#git(join(path, hook.name), 'hook');
  }

  #repositoriesBelow(path: string): void {
    for (const folder of foldersIn(path)) {
      if (lstatSync(join(folder, 'HEAD'), { throwIfNoEntry: false }) === undefined) this.#repositoriesBelow(folder);
      else this.#repository(folder);
    }
  }

  #git(path: string, kind: ProtectedEntry['kind']): void {
    this.entries.push({ path, reason: GIT, kind });
  }

  #listing(path: string): Listing | undefined {
    const found = statOf(path);
    if (found === undefined) return undefined;
    const known = this.#known.get(path);
    const listing =
      known?.isSettled === true && known.inode === found.ino && known.changedNs === found.ctimeNs
        ? known
        : readListing(path, found);
    if (listing === undefined) this.unreadable.add(path);
    else this.seen.set(path, listing);
    return listing;
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function readListing(path: string, { ino, ctimeNs }: BigIntStats): Listing | undefined {
  const readAt = Date.now();
  const entries = listed(path);
  if (entries === undefined) return undefined;
  const names = new Set(entries.map(({ name }) => name.toLowerCase()));
  return {
    inode: ino,
    changedNs: ctimeNs,
    isSettled: readAt - Number(ctimeNs / 1_000_000n) > SETTLED_MS,
    folders: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    named: entries.map(({ name }) => name).filter((name) => mayBeProtected(`/${name}`) || isSecondName(path)),
    isRepository: names.has('head') && (names.has('commondir') || (names.has('objects') && names.has('refs'))),
  };
}

/** Whether a folder can be the first of two names in a rule. Rules with two names start with `.config` or `.hg`. */
function isSecondName(folder: string): boolean {
  return /[/\\]\.[^/\\]*$/.test(folder);
}

/** The protected names that do not start with a dot. */
const PLAIN_NAMES = PROTECTED_NAMES.map(({ name }) => name).filter((name) => !name.startsWith('.'));

/**
 * Returns false for nearly all names, without a search of the rules: protected names start with a dot or with a name in
 * `PLAIN_NAMES`, or have unusual characters.
 */
function mayBeProtected(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (/^(?:\.|git~1)/i.test(name) || /[^\x21-\x7e]/.test(name)) return true;
  const lower = name.toLowerCase();
  if (PLAIN_NAMES.some((plain) => lower.startsWith(plain))) return true;
  return path.length > name.length + 1 && /\/\.[^/]*\/[^/]*$/.test(path);
}

/** The last two names of a path. No rule has more names, and the walk enters no protected folder. */
function lastNames(path: string): string {
  return path.split('/').slice(-2).join('/');
}

function listed(path: string): Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

function foldersIn(path: string): string[] {
  return (listed(path) ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
}
