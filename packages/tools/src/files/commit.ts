import { constants, type BigIntStats } from 'node:fs';
import { link, mkdir, open, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { ToolCallContext } from '@toolscript/core/protocol';
import { failure, failureReason, systemCode, throwIfAborted } from '../failure.js';
import {
  ChangeJournal,
  entryOfChange,
  missingFolders,
  recoverChanges,
  removeIfEmpty,
  type ChangePlan,
  type JournalEntry,
} from './change-journal.js';
import type { RecordCause } from './change-records.js';
import { sha256 } from './content-hash.js';
import type { FileChange, Permissions } from './file-change.js';
import { recordChange } from './record-change.js';
import { MAX_WAIT_MS, type LockCaller } from './fair-lock.js';
import { withLocks } from './place-locks.js';
import { ioFailure, openFolder, openSubfolder, type VerifiedFolder } from './open-verified.js';
import { quotePath } from './path-rules.js';
import { checkInTurns } from '../work-slices.js';
import { lookAt, sameEntry, type WriteTarget } from './target.js';
import { checkWritable, innermostRoot, type Workspace } from './workspace.js';

/*
 * Changes several files atomically.
 *
 * 0. Record the change (change-journal.ts), and the old files if it can be undone (change-records.ts).
 * 1. Stage: open (or create) every folder, verify it, and write the new content to a temporary file next to the target.
 * 2. Switch: verify that the target is as planned, keep the old file under a second name, then rename the new file
 *    over the target.
 * 3. Clean: remove the second names. A failure in 1 or 2 undoes the completed steps in reverse.
 *
 * Step 2 writes no content: it renames and links entries, inside folders whose handles were verified and are still
 * open. If the process is killed in step 2, the next change in the workspace completes or undoes the interrupted one.
 */

const { O_RDONLY, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/**
 * Runs `change` while no other Toolscript process and no other call changes the paths that `findPlaces` returns. The
 * symbolic links of these paths are resolved. First completes or undoes the changes that a killed process left
 * unfinished in the workspace.
 */
export function changeFiles<T>(
  workspace: Workspace,
  caller: LockCaller,
  findPlaces: () => Promise<readonly string[]>,
  change: () => Promise<T>,
): Promise<T> {
  return workspace.exclusive(async () => {
    try {
      await recoverChanges(workspace, caller);
      return await withLocks(workspace.stateFolder(), await findPlaces(), caller, change);
    } catch (error) {
      throw stateFailure(error);
    }
  }, caller);
}

/** Converts a system error about the folder with locks and journals; returns any other error unchanged. */
function stateFailure(error: unknown): unknown {
  const code = systemCode(error);
  if (code === undefined || failureReason(error) !== undefined) return error;
  if (code === 'EMFILE' || code === 'ENFILE')
    return failure('io', 'Too many files are open; nothing was changed. Try again with fewer concurrent calls.');
  return failure(
    'io',
    `The folder with Toolscript's locks and journals could not be used (${code}). The host can set stateFolder to a writable folder.`,
  );
}

/** The cause of a change, and its effects beyond the files. */
export interface ChangeCause extends LockCaller {
  /** Undefined: no record exists, and the change cannot be undone. */
  readonly record?: RecordCause | undefined;
  /** Folders that are removed after the change if they are empty, deepest first. */
  readonly emptiedFolders?: readonly string[] | undefined;
}

/**
 * The cause of a tool's change. A call without a script has no name under which its change could be undone. The many
 * calls that a script makes at once wait for one another, so they wait longer than a script for its turn.
 */
export function changeCause({
  signal,
  principal,
  queueWaitMs = 0,
  scriptId,
  callId,
}: LockCaller & Partial<Pick<ToolCallContext, 'scriptId' | 'callId'>>): ChangeCause {
  return {
    signal,
    principal,
    queueWaitMs: Math.max(queueWaitMs, MAX_WAIT_MS),
    ...(scriptId !== undefined && { record: { scriptId, callId, kind: 'change' } }),
  };
}

/** Makes all changes or none. Their targets must differ. Rejects with a ToolCallError. */
export async function commitChanges(
  workspace: Workspace,
  changes: readonly FileChange[],
  { signal, record: cause, emptiedFolders }: ChangeCause = {},
): Promise<void> {
  throwIfAborted(signal);
  if (changes.length === 0 && emptiedFolders === undefined) return;
  const entries = changes.map(entryOfChange);
  const record = cause && (await workspace.records?.reserve(cause));
  const emptied = [...(emptiedFolders ?? [])];
  const plan = { missingFolders: missingFolders(entries), emptiedFolders: emptied, record: record?.path };
  const journal = await beginJournal(workspace, changes, entries, plan);
  const work = new Commit(workspace);
  let isMade = false;
  try {
    if (record) await recordChange(workspace, record, changes, plan.missingFolders);
    for (const [index, change] of changes.entries()) {
      throwIfAborted(signal);
      await work.stage(change, entries[index]!);
    }
    await work.switchAll();
    await record?.markDone();
    journal?.markDone();
    isMade = true;
  } catch (error) {
    const lost = await work.undo();
    if (lost.length === 0) {
      await record?.discard();
      throw error;
    }
    throw failure(
      'io',
      `${(error as Error).message} Undoing the earlier changes failed too. Check ${lost.map(quotePath).join(', ')}.`,
      { incomplete: true },
    );
  } finally {
    await work.close();
    if (isMade) for (const folder of emptied) await removeIfEmpty(workspace, folder);
    journal?.delete();
  }
}

async function beginJournal(
  workspace: Workspace,
  changes: readonly FileChange[],
  entries: readonly JournalEntry[],
  plan: ChangePlan,
): Promise<ChangeJournal | undefined> {
  await checkInTurns(changes, ({ target }) => checkWritable(workspace, target.realPath, target.given));
  try {
    return ChangeJournal.begin(workspace.stateFolder(), entries, plan);
  } catch (error) {
    throw ioFailure({ given: 'the journal of file changes', absolute: '' }, error);
  }
}

interface StagedChange {
  readonly target: WriteTarget;
  readonly folder: VerifiedFolder;
  readonly name: string;
  /** The name of the entry with the new content. Undefined: the change deletes the file. */
  readonly staged: string | undefined;
  readonly keptName: string;
  readonly computedFrom: string | undefined;
  /** The name of the entry with the old content, while the change can still be undone. */
  kept: string | undefined;
  switched: boolean;
}

class Commit {
  readonly #workspace: Workspace;
  readonly #changes: StagedChange[] = [];
  readonly #folders: VerifiedFolder[] = [];
  readonly #madeEntries: { readonly parent: VerifiedFolder; readonly name: string }[] = [];

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async stage(change: FileChange, { staged, kept }: JournalEntry): Promise<void> {
    const { target, computedFrom } = change;
    const folder = await this.#openParent(dirname(target.realPath), target);
    const name = basename(target.realPath);
    this.#changes.push({
      target,
      folder,
      name,
      staged,
      keptName: kept,
      computedFrom,
      kept: undefined,
      switched: false,
    });
    if (staged === undefined) return;
    await this.#system(target, () => stageNew(folder.entryPath(staged), change));
  }

  async switchAll(): Promise<void> {
    for (const change of this.#changes) await this.#system(change.target, () => this.#switch(change));
  }

  /** Restores all files. Returns the paths that could not be restored. */
  async undo(): Promise<string[]> {
    const lost: string[] = [];
    for (const change of this.#changes.toReversed()) {
      await putBack(change).catch(() => lost.push(change.target.given));
      if (change.staged !== undefined) await unlink(change.folder.entryPath(change.staged)).catch(() => undefined);
    }
    for (const { parent, name } of this.#madeEntries.toReversed())
      await rmdir(parent.entryPath(name)).catch(() => undefined);
    return lost;
  }

  async close(): Promise<void> {
    for (const { folder, kept } of this.#changes) {
      if (kept !== undefined) await unlink(folder.entryPath(kept)).catch(() => undefined);
    }
    for (const folder of this.#folders) await folder.handle.close();
  }

  async #switch(change: StagedChange): Promise<void> {
    const { folder, name, staged, keptName, target } = change;
    // defence: commit-unchanged-entry
    if (!sameEntry(await lookAt(folder, name), target.existing)) throw changedMeanwhile(target);
    // defence: commit-unchanged-content
    if (!(await hasContent(folder, name, change.computedFrom))) throw changedMeanwhile(target);
    const entry = folder.entryPath(name);
    if (target.existing) {
      await keepOld(entry, folder.entryPath(keptName), staged !== undefined);
      change.kept = keptName;
    }
    if (staged !== undefined) await rename(folder.entryPath(staged), entry);
    change.switched = true;
    // A process that has the old file open may have written to it just now.
    // defence: commit-unchanged-kept
    if (target.existing && !sameContent(await lookAt(folder, keptName), target.existing))
      throw changedMeanwhile(target);
  }

  /** Opens a folder by its path with symbolic links resolved, and creates missing folders one by one. */
  async #openParent(realPath: string, target: WriteTarget): Promise<VerifiedFolder> {
    const path = { absolute: realPath, given: target.given };
    try {
      return this.#checkPlace(await this.#keepOpen(openFolder(this.#workspace, path)), realPath, target);
    } catch (error) {
      const isRoot = innermostRoot(this.#workspace, realPath)?.realPath === realPath;
      if (failureReason(error) !== 'missing' || isRoot) throw error;
    }
    const parent = await this.#openParent(dirname(realPath), target);
    const name = basename(realPath);
    await this.#system(target, () => this.#makeFolder(parent, name));
    return this.#checkPlace(
      await this.#keepOpen(openSubfolder(this.#workspace, parent, name, target.given)),
      realPath,
      target,
    );
  }

  async #makeFolder(parent: VerifiedFolder, name: string): Promise<void> {
    try {
      await mkdir(parent.entryPath(name));
      this.#madeEntries.push({ parent, name });
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }

  async #keepOpen(opening: Promise<VerifiedFolder>): Promise<VerifiedFolder> {
    const folder = await opening;
    this.#folders.push(folder);
    return folder;
  }

  /** Rejects a folder if a link has redirected its path since the plan was made. */
  #checkPlace(folder: VerifiedFolder, realPath: string, target: WriteTarget): VerifiedFolder {
    // defence: commit-folder-place
    if (folder.realPath !== realPath) throw changedMeanwhile(target);
    return folder;
  }

  async #system<T>(target: WriteTarget, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw failureReason(error) ? error : ioFailure({ given: target.given, absolute: target.realPath }, error);
    }
  }
}

function stageNew(path: string, { target, bytes, link: linkTarget, like, permissions }: FileChange): Promise<void> {
  if (linkTarget !== undefined) return symlink(linkTarget, path);
  return writeNew(path, bytes!, permissions ?? target.existing ?? like);
}

/** Writes a new file with the permissions of the file `like` and, if the system allows it, its owner. */
async function writeNew(path: string, bytes: Uint8Array, like: Permissions | undefined): Promise<void> {
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, like ? 0o600 : 0o666);
  try {
    await handle.writeFile(bytes);
    if (!like) return;
    const made = await handle.stat({ bigint: true });
    if (made.uid !== like.uid || made.gid !== like.gid) {
      await handle.chown(Number(like.uid), Number(like.gid)).catch(() => undefined);
    }
    await handle.chmod(Number(like.mode & 0o777n));
  } finally {
    await handle.close();
  }
}

/**
 * Gives the old file a second name if possible, so that the file is never missing. If that is impossible, or the change
 * deletes the file, renames the file.
 */
async function keepOld(entry: string, kept: string, staysInPlace: boolean): Promise<void> {
  if (staysInPlace) {
    try {
      return await link(entry, kept);
    } catch {
      // Some file systems and users cannot create hard links. Renaming always works.
    }
  }
  await rename(entry, kept);
}

async function putBack(change: StagedChange): Promise<void> {
  const { folder, name, kept, switched } = change;
  // `kept` is cleared before the restore: if the restore fails, `close` must not delete the old content.
  change.kept = undefined;
  if (kept !== undefined) {
    await rename(folder.entryPath(kept), folder.entryPath(name));
    // If both names are hard links to the same file, renaming one over the other does nothing and leaves both.
    if (!switched) await unlink(folder.entryPath(kept)).catch(() => undefined);
  } else if (switched) {
    await unlink(folder.entryPath(name));
  }
}

async function hasContent(folder: VerifiedFolder, name: string, expected: string | undefined): Promise<boolean> {
  if (expected === undefined) return true;
  const handle = await open(folder.entryPath(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    return sha256(await handle.readFile()) === expected;
  } finally {
    await handle.close();
  }
}

/** Whether both states are the same file with the same content. The number of its names may have changed. */
function sameContent(one: BigIntStats | undefined, other: BigIntStats): boolean {
  return one !== undefined && one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs;
}

function changedMeanwhile(target: WriteTarget): Error {
  return failure(
    'changed',
    `${quotePath(target.given)} was changed by another program meanwhile, so nothing was written. Read the file again.`,
    { path: target.given },
  );
}
