import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync, type BigIntStats } from 'node:fs';
import { lstat, readFile, readlink, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isHeld, ownIdentity, parseIdentity } from '@toolscript/core/internal';
import { z } from 'zod';
import { failureReason, systemCode } from '../failure.js';
import { settleRecord } from './change-records.js';
import { hashAfter, linkHash, sha256 } from './content-hash.js';
import type { FileChange } from './file-change.js';
import { openFolder, using, type VerifiedFolder } from './open-verified.js';
import type { LockCaller } from './fair-lock.js';
import { withLocks } from './place-locks.js';
import { makePrivateFolder } from './state-folder.js';
import { checkWritable, type Workspace } from './workspace.js';

/*
 * Records a change of several files before the change begins. If this process is killed, another process completes or
 * undoes the change: then all files are old or all are new, and no temporary file is left.
 *
 * `<id>.open`: some files may have been replaced; recovery restores them, unless all were replaced. `<id>.done`: all
 * files were replaced; recovery removes the second names of the old files.
 *
 * The journal is in the state folder, which is outside every workspace. It is validated nevertheless: its paths must be
 * inside writable roots, its temporary names must have the expected form, and an old file is restored only if its inode
 * is the recorded one.
 */

const TEMPORARY_NAME = /^\.toolscript-[\w-]{12}\.(?:new|old)$/;

const Entry = z.object({
  realPath: z.string(),
  /** The names of the files with the new and the old content, next to the target. */
  staged: z.string().regex(TEMPORARY_NAME).optional(),
  kept: z.string().regex(TEMPORARY_NAME),
  /** SHA-256 of the new content. */
  sha256: z.string().optional(),
  /** The identity of the old file; undefined if the target did not exist. */
  existing: z.object({ dev: z.string(), ino: z.string() }).optional(),
});
export type JournalEntry = z.infer<typeof Entry>;

const Journal = z.object({
  /** The identity of the process, as JSON text. */
  owner: z.string(),
  entries: z.array(Entry),
  /** Folders that did not exist before the change. */
  missingFolders: z.array(z.string()),
  /** Folders that are removed after the change if they are empty, deepest first. */
  emptiedFolders: z.array(z.string()).default([]),
  /** The path of the change's record (change-records.ts), without the file extension. */
  record: z.string().optional(),
});
type Journal = z.infer<typeof Journal>;

/** The members of a journal that describe the change, besides the entries. */
export type ChangePlan = Pick<Journal, 'missingFolders' | 'emptiedFolders' | 'record'>;

/** The journal of one change. */
export class ChangeJournal {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Writes the journal before the change. Returns undefined if no private state folder is available. */
  static begin(
    stateFolder: string | undefined,
    entries: readonly JournalEntry[],
    plan: ChangePlan,
  ): ChangeJournal | undefined {
    if (stateFolder === undefined) return undefined;
    const folder = join(stateFolder, 'journals');
    if (!makePrivateFolder(folder)) return undefined;
    const journal = { owner: JSON.stringify(ownIdentity()), entries, ...plan };
    const path = join(folder, randomBytes(9).toString('base64url'));
    writeFileSync(`${path}.new`, JSON.stringify(journal), { flag: 'wx', mode: 0o600 });
    renameSync(`${path}.new`, `${path}.open`);
    return new ChangeJournal(path);
  }

  /** Marks the change as complete. */
  markDone(): void {
    renameSync(`${this.#path}.open`, `${this.#path}.done`);
  }

  delete(): void {
    for (const state of ['open', 'done']) deleteIfThere(`${this.#path}.${state}`);
  }
}

export function entryOfChange({ target, bytes, link }: FileChange): JournalEntry {
  const { realPath, existing } = target;
  const sha = hashAfter({ bytes, link });
  const random = randomBytes(9).toString('base64url');
  return {
    realPath,
    kept: `.toolscript-${random}.old`,
    ...(sha !== undefined && { staged: `.toolscript-${random}.new`, sha256: sha }),
    ...(existing && { existing: { dev: `${existing.dev}`, ino: `${existing.ino}` } }),
  };
}

/** Completes or undoes changes in this workspace that a killed process left unfinished. */
export async function recoverChanges(workspace: Workspace, caller: LockCaller = {}): Promise<void> {
  const stateFolder = workspace.stateFolder();
  if (stateFolder === undefined) return;
  const folder = join(stateFolder, 'journals');
  for (const name of folderNames(folder)) {
    const path = join(folder, name);
    const journal = abandonedJournal(path);
    if (journal === undefined) continue;
    // defence: journals-stay-for-their-workspace
    if (!isWithin(workspace, journal)) continue;
    const places = journal.entries.map(({ realPath }) => realPath);
    await withLocks(stateFolder, places, caller, async () => {
      // Another process may have finished the change meanwhile.
      if (abandonedJournal(path) === undefined) return;
      await new Recovery(workspace, journal).run(name.endsWith('.done'));
      deleteIfThere(path);
    });
  }
}

function abandonedJournal(path: string): Journal | undefined {
  try {
    const { mtimeMs } = lstatSync(path);
    const parsed = Journal.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    // defence: journal-owner-alive
    if (parsed.success && isHeld(parseIdentity(parsed.data.owner), mtimeMs)) return undefined;
    if (path.endsWith('.new')) deleteIfThere(path);
    else if (parsed.success) return parsed.data;
  } catch (error) {
    if (systemCode(error) !== undefined && systemCode(error) !== 'ENOENT') throw error;
  }
  return undefined;
}

/**
 * Whether all paths of a journal are in this workspace. A journal of another workspace stays until that workspace is
 * used again.
 */
function isWithin(workspace: Workspace, { entries, missingFolders: made, emptiedFolders: emptied }: Journal): boolean {
  try {
    const paths = [...entries.map(({ realPath }) => realPath), ...made, ...emptied];
    for (const path of paths) checkWritable(workspace, path, path);
    return true;
  } catch (error) {
    if (failureReason(error) === undefined) throw error;
    return false;
  }
}

/** One entry of a journal, with its folder open. */
interface OpenEntry extends JournalEntry {
  readonly folder: VerifiedFolder;
  readonly name: string;
}

class Recovery {
  readonly #workspace: Workspace;
  readonly #journal: Journal;

  constructor(workspace: Workspace, journal: Journal) {
    this.#workspace = workspace;
    this.#journal = journal;
  }

  async run(isDone: boolean): Promise<void> {
    const { entries, missingFolders: made, emptiedFolders: emptied, record } = this.#journal;
    let isComplete = isDone;
    if (!isDone) {
      const switched = [];
      for (const entry of entries) switched.push(await this.#inFolder(entry, isSwitched, false));
      isComplete = switched.every(Boolean);
    }
    for (const entry of entries.toReversed()) {
      if (!isComplete) await this.#inFolder(entry, putBack, undefined);
      await this.#inFolder(entry, removeTemporary, undefined);
    }
    for (const folder of isComplete ? emptied : made) await removeIfEmpty(this.#workspace, folder);
    if (record !== undefined) await settleRecord(record, isComplete);
  }

  /**
   * Runs `act` in the entry's folder. Returns `otherwise` if the folder is missing or is now a link, because it then
   * contains no file of Toolscript.
   */
  async #inFolder<T>(entry: JournalEntry, act: (entry: OpenEntry) => Promise<T>, otherwise: T): Promise<T> {
    const place = dirname(entry.realPath);
    try {
      return await using(openFolder(this.#workspace, { absolute: place, given: place }), async (folder) =>
        folder.realPath === place ? act({ ...entry, folder, name: basename(entry.realPath) }) : otherwise,
      );
    } catch (error) {
      if (['missing', 'not_a_folder', 'link_outside', 'outside'].includes(failureReason(error) ?? '')) return otherwise;
      throw error;
    }
  }
}

/**
 * Removes an empty folder. Does nothing if the folder is a link, or if a link now redirects its path. Never rejects.
 */
export async function removeIfEmpty(workspace: Workspace, path: string): Promise<void> {
  const place = dirname(path);
  const opening = openFolder(workspace, { absolute: place, given: place });
  await using(opening, async (folder) => {
    if (folder.realPath === place) await rmdir(folder.entryPath(basename(path)));
  }).catch(() => undefined);
}

async function isSwitched({ folder, name, staged, existing, kept }: OpenEntry): Promise<boolean> {
  if (staged !== undefined && (await journalEntryStat(folder, staged))) return false;
  const found = await journalEntryStat(folder, name);
  if (staged !== undefined)
    return existing
      ? (await journalEntryStat(folder, kept)) !== undefined && !isSame(found, existing)
      : found !== undefined;
  return found === undefined;
}

/**
 * Restores the old file, or deletes the file that the change created. Keeps content that another process has written
 * since.
 */
async function putBack(entry: OpenEntry): Promise<void> {
  const { folder, name, kept, existing, sha256: ours } = entry;
  const [found, old] = [await journalEntryStat(folder, name), await journalEntryStat(folder, kept)];
  if (existing && old) {
    // defence: journal-old-inode
    if (!isSame(old, existing)) return;
    const isOurs = found === undefined || (ours !== undefined && (await contentHash(folder, name)) === ours);
    if (isOurs && !isSame(found, existing)) await rename(folder.entryPath(kept), folder.entryPath(name));
  } else if (!existing && found && entry.staged !== undefined) {
    const isStaged = (await journalEntryStat(folder, entry.staged)) !== undefined;
    if (!isStaged && (await contentHash(folder, name)) === ours) await unlink(folder.entryPath(name));
  }
}

async function removeTemporary({ folder, staged, kept }: OpenEntry): Promise<void> {
  for (const name of [staged, kept])
    if (name !== undefined) await unlink(folder.entryPath(name)).catch(() => undefined);
}

async function journalEntryStat(folder: VerifiedFolder, name: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(folder.entryPath(name), { bigint: true });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The hash of a file or link; '' for anything else. */
async function contentHash(folder: VerifiedFolder, name: string): Promise<string> {
  const found = await journalEntryStat(folder, name);
  if (found?.isSymbolicLink()) return linkHash(await readlink(folder.entryPath(name)));
  return found?.isFile() ? sha256(await readFile(folder.entryPath(name))) : '';
}

function isSame(found: BigIntStats | undefined, { dev, ino }: { dev: string; ino: string }): boolean {
  return found !== undefined && `${found.dev}` === dev && `${found.ino}` === ino;
}

/** The missing folders above the entries, deepest first. */
export function missingFolders(entries: readonly JournalEntry[]): string[] {
  const missing = new Set<string>();
  for (const { realPath } of entries) {
    for (let folder = dirname(realPath); !missing.has(folder) && !isThere(folder); folder = dirname(folder))
      missing.add(folder);
  }
  return [...missing].sort((one, other) => other.length - one.length);
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

function folderNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function deleteIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
