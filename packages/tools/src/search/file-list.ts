import { lstatSync, opendirSync, type Dir, type Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import fuzzysort from 'fuzzysort';
import type { Workspace } from '../files/workspace.js';
import { sortInSlices, WorkSlices } from '../work-slices.js';
import { runRipgrep } from './ripgrep.js';
import type { SearchScope } from './search-scope.js';

/*
 * The files below a folder, without ignored and hidden ones, cached between searches.
 *
 * A list is reused only if it is recent, if no tool of this workspace has written since, and if every folder and ignore
 * file that it depends on has the same inode, change time and size. If a folder changed while the list was made, or
 * just before in the same tick of the file system's clock, the list is used for one search only. A change that this
 * check misses (a folder created deep inside a tree without files) is found when the list is `MAX_AGE_MS` old.
 */

/** Maximum number of files of one search. If a folder has more files, `isCut` is true. */
const MAX_LISTED = 500_000;
const MAX_AGE_MS = 10_000;
const MAX_LISTS = 4;
/**
 * Time in ms before a listing within which a change may hide a later one, because both may have the same change time.
 */
const CLOCK_TICK_MS = 50;
/** Maximum number of watched folders without listed files. */
const MAX_EMPTY_FOLDERS = 2_000;
/** The cost of one disk access, in steps. */
const LOOK = 50;
const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore'];

export type PreparedTarget = ReturnType<typeof fuzzysort.prepare>;

export interface FileList {
  /** The paths relative to the searched folder, sorted folder by folder. */
  readonly paths: readonly string[];
  /** The paths prepared for fuzzysort. */
  readonly targets: (slices: WorkSlices) => Promise<readonly PreparedTarget[]>;
  readonly isCut: boolean;
}

/** The change time in ms, inode and size of an entry; undefined if the entry does not exist. */
type Stamp = { readonly changedMs: number; readonly inode: number; readonly size: number } | undefined;

interface KeptList {
  readonly list: FileList;
  readonly stamps: ReadonlyMap<string, Stamp>;
  readonly changeCount: number;
  /** The time of the listing, by the system clock, which also determines file times. */
  readonly madeAtMs: number;
  /** The time of the listing, by the monotonic clock. */
  readonly since: number;
}

/** The lists of one workspace, at most `MAX_LISTS`. The least recently used lists are dropped first. */
export class FileLists {
  readonly #workspace: Workspace;
  readonly #keptLists = new Map<string, KeptList>();
  #clearTimer: NodeJS.Timeout | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** The files in a scope. `cwd` is the open root folder at which `scope` starts. Throws a ToolCallError. */
  async of(scope: SearchScope, cwd: string, signal: AbortSignal | undefined): Promise<FileList> {
    const key = scope.realPath;
    const known = this.#keptLists.get(key);
    this.#keptLists.delete(key);
    if (known && (await this.#holds(known, signal))) {
      this.#keep(key, known);
      return known.list;
    }
    const made = await this.#make(scope, cwd, signal);
    if (isSettled(made)) this.#keep(key, made);
    return made.list;
  }

  #keep(key: string, kept: KeptList): void {
    this.#keptLists.set(key, kept);
    if (this.#keptLists.size > MAX_LISTS) this.#keptLists.delete(this.#keptLists.keys().next().value as string);
    clearTimeout(this.#clearTimer);
    this.#clearTimer = setTimeout(() => this.#keptLists.clear(), MAX_AGE_MS).unref();
  }

  async #holds({ stamps, changeCount, since }: KeptList, signal: AbortSignal | undefined): Promise<boolean> {
    if (performance.now() - since > MAX_AGE_MS || this.#workspace.changeCount() !== changeCount) return false;
    const slices = new WorkSlices({ signal });
    for (const [place, stamp] of stamps) {
      if (!sameStamp(entryStamp(place), stamp)) return false;
      if (slices.isDue(LOOK)) await slices.pass();
    }
    return true;
  }

  async #make(scope: SearchScope, cwd: string, signal: AbortSignal | undefined): Promise<KeptList> {
    const madeAtMs = Date.now();
    const since = performance.now();
    const changeCount = this.#workspace.changeCount();
    const slices = new WorkSlices({ signal });
    const { paths, isCut } = await listFiles(scope, cwd, slices);
    const stamps = await listStamps(scope.realPath, paths, slices);
    let prepared: readonly PreparedTarget[] | undefined;
    const targets = async (work: WorkSlices): Promise<readonly PreparedTarget[]> =>
      (prepared ??= await prepareAll(paths, work));
    return { list: { paths, isCut, targets }, stamps, changeCount, madeAtMs, since };
  }
}

async function prepareAll(paths: readonly string[], slices: WorkSlices): Promise<PreparedTarget[]> {
  const prepared: PreparedTarget[] = [];
  for (const path of paths) {
    prepared.push(fuzzysort.prepare(path));
    if (slices.isDue(path.length)) await slices.pass();
  }
  return prepared;
}

function isSettled({ stamps, madeAtMs }: KeptList): boolean {
  for (const stamp of stamps.values()) if (stamp && stamp.changedMs >= madeAtMs - CLOCK_TICK_MS) return false;
  return true;
}

async function listFiles(
  scope: SearchScope,
  cwd: string,
  slices: WorkSlices,
): Promise<{ paths: string[]; isCut: boolean }> {
  const paths: string[] = [];
  await runRipgrep({
    cwd,
    args: ['--files', '--null', '--', scope.argument],
    separator: '\0',
    signal: slices.signal,
    onPiece: (printed) => {
      paths.push(scope.inside(printed));
      return paths.length > MAX_LISTED ? 'stop' : undefined;
    },
  });
  return { paths: await sortInSlices(paths, byFolder, slices), isCut: paths.length > MAX_LISTED };
}

/** Compares paths like ripgrep: name by name, so that the files of a folder stay together. */
export function byFolder(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(one.charCodeAt(index)) - rank(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** A `/` ends a name, and a shorter name comes first. */
function rank(code: number): number {
  return code === 47 ? 0 : code;
}

/** The stamps of all entries that the list depends on. */
async function listStamps(folder: string, paths: readonly string[], slices: WorkSlices): Promise<Map<string, Stamp>> {
  const stamps = new Map<string, Stamp>();
  for (const place of ignoreFilesAbove(folder)) stamps.set(place, entryStamp(place));
  const listed = await listFolders(folder, paths, slices);
  const open = [...listed];
  let emptyFolders = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    // The stamp is read before the names, so that the next stamp shows a change in between.
    stamps.set(next, entryStamp(next));
    for (const { name, isFolder } of await interestingEntries(next, slices)) {
      const place = join(next, name);
      if (!isFolder) stamps.set(place, entryStamp(place));
      else if (!listed.has(place) && emptyFolders < MAX_EMPTY_FOLDERS) {
        emptyFolders += 1;
        listed.add(place);
        open.push(place);
      }
    }
  }
  return stamps;
}

async function listFolders(folder: string, paths: readonly string[], slices: WorkSlices): Promise<Set<string>> {
  const folders = new Set<string>([folder]);
  const inside = new Set<string>();
  for (const path of paths) {
    if (slices.isDue()) await slices.pass();
    let end = path.lastIndexOf('/');
    while (end !== -1) {
      const parent = path.slice(0, end);
      if (inside.has(parent)) break;
      inside.add(parent);
      folders.add(join(folder, parent));
      end = parent.lastIndexOf('/');
    }
  }
  return folders;
}

/** Ignore files, and folders that may contain files to list. Skips unreadable entries. */
async function interestingEntries(folder: string, slices: WorkSlices): Promise<{ name: string; isFolder: boolean }[]> {
  const found: { name: string; isFolder: boolean }[] = [];
  if (slices.isDue(LOOK)) await slices.pass();
  const opened = openIfReadable(folder);
  if (opened === undefined) return found;
  try {
    for (let entry = nextEntry(opened); entry !== null; entry = nextEntry(opened)) {
      const isFolder = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
      if (isFolder || IGNORE_FILES.includes(entry.name)) found.push({ name: entry.name, isFolder });
      if (slices.isDue()) await slices.pass();
    }
  } finally {
    opened.closeSync();
  }
  return found;
}

function nextEntry(opened: Dir): Dirent | null {
  try {
    return opened.readSync();
  } catch {
    return null;
  }
}

function openIfReadable(folder: string): Dir | undefined {
  try {
    return opendirSync(folder, { bufferSize: 256 });
  } catch {
    return undefined;
  }
}

/** The ignore files of a folder and of its parents, which ripgrep also applies. */
function ignoreFilesAbove(folder: string): string[] {
  const files: string[] = [];
  for (let place = folder; ; place = dirname(place)) {
    files.push(join(place, '.git', 'info', 'exclude'), ...IGNORE_FILES.map((name) => join(place, name)));
    if (place === dirname(place)) return files;
  }
}

function entryStamp(place: string): Stamp {
  try {
    const stat = lstatSync(place, { throwIfNoEntry: false });
    return stat && { changedMs: stat.ctimeMs, inode: stat.ino, size: stat.size };
  } catch {
    return undefined;
  }
}

function sameStamp(one: Stamp, other: Stamp): boolean {
  if (!one || !other) return one === other;
  return one.changedMs === other.changedMs && one.inode === other.inode && one.size === other.size;
}
