import { join, sep } from 'node:path';
import type { BigIntStats } from 'node:fs';
import { isInPackages, PROTECTED_NAMES, protectedLink, protectedName } from '../../files/protected-names.js';
import type { FolderReader } from './folder-reader.js';
import { GitEntries } from './git-entries.js';
import type { ProtectedEntry } from './protected-entry.js';

/*
 * Existing entries in the roots that other programs execute or obey: protected names at any depth, and the files that
 * control git in each repository. In folders of package managers, only the files of git are included: users do not open
 * these folders, but git reads them.
 */

export interface ProtectedEntries {
  readonly entries: readonly ProtectedEntry[];
  /** Links outside of repositories and of package managers' folders, which may be other names of folders with entries. */
  readonly links: readonly string[];
  /** The folders outside of repositories, by path. */
  readonly folders: ReadonlyMap<string, Listing>;
}

export interface SearchedFolders {
  readonly roots: readonly string[];
  /** Protected names that commands may write. */
  readonly unprotected: ReadonlySet<string>;
  /** A folder that is not searched. */
  readonly except?: string | undefined;
}

/**
 * Time for which a folder must have been unchanged before its listing can be reused, in ms, because file times can be
 * coarse.
 */
const SETTLED_MS = 2000;

export interface Listing {
  readonly inode: bigint;
  readonly changedNs: bigint;
  readonly isSettled: boolean;
  readonly folders: readonly string[];
  readonly links: readonly string[];
  /** Names of the files and folders that may be protected. */
  readonly named: readonly string[];
  /** Whether the folder has the files that make git treat it as a repository. */
  readonly isRepository: boolean;
}

/** Finds the protected entries in folders. Reuses the listings of unchanged folders. */
export class ProtectedSearch {
  #listings: ReadonlyMap<string, Listing> = new Map();

  find(reader: FolderReader, folders: SearchedFolders): ProtectedEntries {
    const walk = new Walk(reader, this.#listings, folders);
    for (const root of folders.roots) walk.folder(root, '', false);
    this.#listings = walk.folders;
    return walk;
  }
}

class Walk implements ProtectedEntries {
  readonly entries: ProtectedEntry[] = [];
  readonly links: string[] = [];
  readonly folders = new Map<string, Listing>();
  readonly #reader: FolderReader;
  readonly #git: GitEntries;
  readonly #knownListings: ReadonlyMap<string, Listing>;
  readonly #unprotectedNames: ReadonlySet<string>;
  readonly #except: string | undefined;

  constructor(reader: FolderReader, known: ReadonlyMap<string, Listing>, { unprotected, except }: SearchedFolders) {
    this.#reader = reader;
    this.#git = new GitEntries(reader, this.entries);
    this.#knownListings = known;
    this.#unprotectedNames = unprotected;
    this.#except = except;
  }

  folder(path: string, inRoot: string, inPackages: boolean): void {
    if (this.folders.has(path) || path === this.#except) return;
    const listing = this.#listing(path);
    if (listing === undefined) return;
    // defence: repositories-without-a-dot
    if (listing.isRepository && !this.#unprotectedNames.has('.git')) this.#git.addUnnamed(path);
    for (const name of listing.named) this.#addNamed(join(path, name), name, `${inRoot}/${name}`, inPackages);
    if (!inPackages) this.links.push(...listing.links.map((name) => join(path, name)));
    for (const name of listing.folders) {
      const below = `${inRoot}/${name}`;
      if (this.#entryRule(below, inPackages) === undefined)
        this.folder(path + sep + name, below, inPackages || isInPackages(name));
    }
  }

  #addNamed(path: string, name: string, inRoot: string, inPackages: boolean): void {
    const rule = this.#entryRule(inRoot, inPackages);
    if (rule === undefined) return inPackages ? undefined : this.#link(path, name);
    if (rule.name === '.git' && this.#reader.stat(path)?.isDirectory() === true) this.#git.addNamed(path, []);
    else this.entries.push({ path, reason: rule.reason, kind: 'name', within: [] });
  }

  #link(path: string, name: string): void {
    const rule = protectedLink(name, this.#unprotectedNames);
    // defence: first-names-of-rules-are-no-links
    if (rule !== undefined && this.#reader.stat(path)?.isSymbolicLink() === true)
      this.entries.push({ path, reason: rule.reason, kind: 'name', within: [] });
  }

  #entryRule(inRoot: string, inPackages: boolean): ReturnType<typeof protectedName> {
    const rule = mayBeProtected(inRoot) ? protectedName(lastNames(inRoot), this.#unprotectedNames) : undefined;
    return inPackages && rule?.name !== '.git' ? undefined : rule;
  }

  #listing(path: string): Listing | undefined {
    const stat = this.#reader.stat(path);
    if (stat === undefined) return undefined;
    const known = this.#knownListings.get(path);
    const isSame = known?.isSettled === true && known.inode === stat.ino && known.changedNs === stat.ctimeNs;
    const listing = isSame ? known : this.#readListing(path, stat);
    if (listing !== undefined) this.folders.set(path, listing);
    return listing;
  }

  #readListing(path: string, { ino, ctimeNs }: BigIntStats): Listing | undefined {
    const readAt = Date.now();
    const entries = this.#reader.list(path);
    if (entries === undefined) return undefined;
    const names = new Set(entries.map(({ name }) => name.toLowerCase()));
    const isSecond = isSecondName(path);
    return {
      inode: ino,
      changedNs: ctimeNs,
      isSettled: readAt - Number(ctimeNs / 1_000_000n) > SETTLED_MS,
      folders: entries.filter(({ type }) => type === 'folder').map(({ name }) => name),
      links: entries.filter(({ type }) => type === 'link').map(({ name }) => name),
      named: entries.map(({ name }) => name).filter((name) => mayBeProtected(`/${name}`) || isSecond),
      isRepository: names.has('head') && (names.has('commondir') || (names.has('objects') && names.has('refs'))),
    };
  }
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
