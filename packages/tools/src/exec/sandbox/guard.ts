import { lstatSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { EntryStates } from './entry-states.js';
import { FolderReader, resolvedPath } from './folder-reader.js';
import { isPlainGitConfig } from './git-config.js';
import type { Aftermath, MovedEntry, UncheckedPlace } from './messages.js';
import { ProtectedSearch, type Listing } from './protected-entries.js';
import type { ProtectedEntry } from './protected-entry.js';
import { Quarantine } from './quarantine.js';
import { systemPath } from './system-path.js';

/*
 * Prevents a command from changing files that other programs execute or obey. Existing entries are mounted read-only,
 * up to `MAX_MOUNTS`. After the command, each entry that is new, that has changed without a mount, or that is at another
 * place than before is moved out of the workspace: once, as one unit, because what it contains could be protected too.
 * A place that could not be checked or moved is reported.
 */

export interface GuardedFolders {
  /** Folders that the command can write to. */
  readonly roots: readonly string[];
  readonly unprotected: ReadonlySet<string>;
  /** Paths at which nothing may be created. */
  readonly absent: readonly string[];
  /** The folder for entries that are moved away; undefined if there is no safe folder, so that none can be moved. */
  readonly quarantine: string | undefined;
}

/** The state before a command. */
export interface GuardedState {
  readonly folders: GuardedFolders;
  /** Existing paths, with symbolic links resolved, to mount read-only for the command. */
  readonly readOnly: readonly string[];
  /** Places that could not be checked. The command must not start if there is one. */
  readonly unchecked: readonly UncheckedPlace[];
  /** The entries by path. */
  readonly entries: ReadonlyMap<string, KnownEntry>;
  /** The identities of the links that are no entries, by path. */
  readonly links: ReadonlyMap<string, string>;
  /** The folders by path. */
  readonly listings: ReadonlyMap<string, Listing>;
  /** The folders that could not be read, with their state. */
  readonly closed: ReadonlyMap<string, string>;
}

interface KnownEntry {
  /** Whether only the identity counts: the command cannot change the content, but the user may. */
  readonly isFixed: boolean;
  readonly state: string;
}

/**
 * Maximum number of mounts on a command line. The states of further entries, with everything below them, are compared
 * after the command.
 */
const MAX_MOUNTS = 800;
const LEADS_TO_ENTRIES = 'it leads to a folder with protected files';
const IN_PLACE_OF_OURS = 'Toolscript would load it instead of one of its own packages';

export class Guard {
  readonly #search = new ProtectedSearch();

  before(folders: GuardedFolders): GuardedState {
    const reader = new FolderReader();
    const states = new EntryStates(reader, folders.roots);
    const found = this.#search.find(reader, { ...folders, except: folders.quarantine });
    const places = mountPlaces(found.entries, states);
    const mounted = new Set([...places.values()].slice(0, MAX_MOUNTS));
    const known = ({ path, kind }: ProtectedEntry): KnownEntry => {
      const place = places.get(path);
      const isFixed = place === undefined ? isWithoutMount(kind) : mounted.has(place);
      return { isFixed, state: isFixed ? states.identity(path) : states.content(path) };
    };
    return {
      folders,
      readOnly: [...mounted],
      entries: new Map(found.entries.map((entry) => [entry.path, known(entry)])),
      links: new Map(found.links.map((path) => [path, states.identity(path)])),
      unchecked: reader.unchecked,
      listings: found.folders,
      closed: reader.closed,
    };
  }

  /** Moves new and changed entries away. The caller first waits until all processes of the command have ended. */
  after(guarded: GuardedState): Aftermath {
    const { folders } = guarded;
    const reader = new FolderReader({ closedBefore: guarded.closed });
    const states = new EntryStates(reader, folders.roots);
    const { entries, links } = this.#search.find(reader, { ...folders, except: folders.quarantine });
    const units = new Map<string, string>();
    for (const entry of entries)
      if (!isHarmless(entry, reader) && !isKnown(entry, guarded, states))
        units.set(movedUnit(entry, guarded, states), entry.reason);
    const holders = foldersAbove(entries);
    for (const path of links) {
      const isNew = guarded.links.get(path) !== states.identity(path);
      // defence: new-links-lead-to-no-entries
      if (isNew && leadsInto(path, holders)) units.set(path, LEADS_TO_ENTRIES);
    }
    // defence: packages-in-place-of-the-program
    for (const path of folders.absent.filter(exists)) units.set(path, IN_PLACE_OF_OURS);
    for (const { path, reason } of reader.unchecked) {
      const newFolder = outermostNewFolder(path, guarded);
      // defence: unchecked-folders-are-moved-away
      if (newFolder !== undefined) units.set(newFolder, reason);
    }
    const { moved, unmoved } = moveAway(units, new Quarantine(folders.quarantine));
    return { moved, unchecked: [...reader.unchecked, ...unmoved] };
  }
}

/** The places to mount, by the paths of their entries. A place outside of the roots may be one that is hidden. */
function mountPlaces(entries: readonly ProtectedEntry[], states: EntryStates): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const { path, kind } of entries) {
    const place = isWithoutMount(kind) ? undefined : resolvedPath(path);
    // defence: mounts-reveal-nothing-hidden
    const isInside = place !== undefined && states.isInRoots(place);
    // defence: existing-entries-are-mounted
    if (isInside) places.set(path, place);
  }
  return places;
}

function isWithoutMount(kind: ProtectedEntry['kind']): boolean {
  return kind === 'repository' || kind === 'link';
}

function isKnown({ path }: ProtectedEntry, { entries }: GuardedState, states: EntryStates): boolean {
  // The path of an entry is new if a folder above it was moved.
  const known = entries.get(path);
  // defence: entries-by-path-and-inode
  return known !== undefined && known.state === (known.isFixed ? states.identity(path) : states.content(path));
}

function isHarmless({ path, kind }: ProtectedEntry, reader: FolderReader): boolean {
  if (kind === 'repository') return true;
  if (kind === 'hooks') return hasOnlySamples(path, reader);
  // defence: new-git-config-only-plain
  return kind === 'config' && isPlainGitConfig(path);
}

function hasOnlySamples(path: string, reader: FolderReader): boolean {
  if (reader.stat(path)?.isDirectory() !== true) return false;
  // defence: new-hooks-only-as-samples
  return reader.list(path)?.every(({ name, type }) => type === 'file' && name.endsWith('.sample')) === true;
}

/** The folders that contain an entry, at any depth. */
function foldersAbove(entries: readonly ProtectedEntry[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const { path } of entries)
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
  return folders;
}

/** Whether a link leads to one of the folders, and not to a folder that contains the link itself. */
function leadsInto(path: string, folders: ReadonlySet<string>): boolean {
  const target = resolvedPath(path);
  return target !== undefined && folders.has(target) && !path.startsWith(target + sep);
}

/** The outermost new repository around an entry; the entry if there is none. */
function movedUnit({ path, within }: ProtectedEntry, { entries }: GuardedState, states: EntryStates): string {
  const isNew = (repository: string): boolean => entries.get(repository)?.state !== states.identity(repository);
  // defence: new-repositories-as-one-unit
  return within.find(isNew) ?? path;
}

/** The outermost folder above a path that the command made or moved; undefined if there is none outside of entries. */
function outermostNewFolder(path: string, { listings, entries, folders }: GuardedState): string | undefined {
  const root = folders.roots.find((folder) => path.startsWith(folder + sep));
  if (root === undefined) return undefined;
  const names = path.slice(root.length + 1).split(sep);
  for (let count = 1; count <= names.length; count += 1) {
    const folder = join(root, ...names.slice(0, count));
    if (entries.has(folder)) return undefined;
    if (listings.get(folder)?.inode !== pathInode(folder)) return folder;
  }
  return undefined;
}

function moveAway(
  units: ReadonlyMap<string, string>,
  quarantine: Quarantine,
): { moved: MovedEntry[]; unmoved: UncheckedPlace[] } {
  const moved: MovedEntry[] = [];
  const unmoved: UncheckedPlace[] = [];
  const isInUnit = (path: string): boolean => units.has(path) || (dirname(path) !== path && isInUnit(dirname(path)));
  for (const [path, reason] of units) {
    if (isInUnit(dirname(path))) continue;
    const movedTo = quarantine.take(path, reason);
    if (movedTo !== undefined) moved.push({ path, movedTo, reason });
    else unmoved.push({ path, reason: `it is protected (${reason}) and could not be moved away` });
  }
  return { moved, unmoved };
}

function pathInode(path: string): bigint | undefined {
  try {
    return lstatSync(systemPath(path), { bigint: true }).ino;
  } catch {
    return undefined;
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
