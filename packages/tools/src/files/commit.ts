import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { link, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { failure, failureReason, systemCode, throwIfAborted } from '../failure.js';
import { ioFailure, openFolder, openSubfolder, type VerifiedFolder } from './open-verified.js';
import { quotePath } from './path-rules.js';
import { lookAt, sameEntry, type WriteTarget } from './target.js';
import { checkWritable, rootOf, type Workspace } from './workspace.js';

/*
 * Changes of files that happen together or not at all.
 *
 * 1. stage: open (and where needed make) every folder, verify it, see that the target is as it was planned, and
 *    write the new content to a temporary file beside it;
 * 2. switch: keep each old file under a second name, then rename the new one over it;
 * 3. clean: remove the second names. A failure in 1 or 2 undoes what was done, in reverse.
 *
 * Only renames happen in step 2, all of them inside folders whose handles were verified and are still open. A
 * process killed there leaves the old files beside the new ones, under `.toolscript-….old`.
 */

export interface FileChange {
  readonly target: WriteTarget;
  /** Undefined deletes the file. */
  readonly bytes: Uint8Array | undefined;
  /** Where there is no file yet: the file whose permissions and owner the new one takes over. */
  readonly like?: BigIntStats | undefined;
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** Makes all changes or none. Targets must be different places. Throws a ToolCallError. */
export async function commitChanges(
  workspace: Workspace,
  changes: readonly FileChange[],
  signal?: AbortSignal,
): Promise<void> {
  const work = new Commit(workspace);
  try {
    for (const change of changes) {
      throwIfAborted(signal);
      await work.stage(change);
    }
    await work.switchAll();
  } catch (error) {
    const lost = await work.undo();
    if (lost.length === 0) throw error;
    throw failure(
      'io',
      `${(error as Error).message} Undoing what was done before failed too; look at ${lost.map(quotePath).join(', ')}.`,
      { incomplete: true },
    );
  } finally {
    await work.close();
  }
}

interface StagedChange {
  readonly target: WriteTarget;
  readonly folder: VerifiedFolder;
  readonly name: string;
  /** The entry that holds the new content. */
  readonly staged: string | undefined;
  /** The entry that keeps the old content while the change can still be undone. */
  kept: string | undefined;
  switched: boolean;
}

class Commit {
  readonly #workspace: Workspace;
  readonly #changes: StagedChange[] = [];
  readonly #folders: VerifiedFolder[] = [];
  readonly #made: { readonly parent: VerifiedFolder; readonly name: string }[] = [];

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async stage({ target, bytes, like }: FileChange): Promise<void> {
    checkWritable(this.#workspace, target.realPath, target.given);
    const folder = await this.#openParent(dirname(target.realPath), target);
    const name = basename(target.realPath);
    const found = await this.#system(target, () => lookAt(folder, name));
    if (!sameEntry(found, target.existing)) throw changedMeanwhile(target);
    const staged = bytes === undefined ? undefined : temporaryName('new');
    this.#changes.push({ target, folder, name, staged, kept: undefined, switched: false });
    if (staged !== undefined)
      await this.#system(target, () => writeNew(folder.entryPath(staged), bytes!, found ?? like));
  }

  async switchAll(): Promise<void> {
    for (const change of this.#changes) await this.#system(change.target, () => this.#switch(change));
  }

  /** Puts everything back. Returns the paths where that failed. */
  async undo(): Promise<string[]> {
    const lost: string[] = [];
    for (const change of this.#changes.toReversed()) {
      await putBack(change).catch(() => lost.push(change.target.given));
      if (change.staged !== undefined) await unlink(change.folder.entryPath(change.staged)).catch(() => undefined);
    }
    for (const { parent, name } of this.#made.toReversed()) await rmdir(parent.entryPath(name)).catch(() => undefined);
    return lost;
  }

  async close(): Promise<void> {
    for (const { folder, kept } of this.#changes) {
      if (kept !== undefined) await unlink(folder.entryPath(kept)).catch(() => undefined);
    }
    for (const folder of this.#folders) await folder.handle.close();
  }

  async #switch(change: StagedChange): Promise<void> {
    const { folder, name, staged, target } = change;
    if (!sameEntry(await lookAt(folder, name), target.existing)) throw changedMeanwhile(target);
    const entry = folder.entryPath(name);
    if (target.existing) {
      const kept = temporaryName('old');
      await keepOld(entry, folder.entryPath(kept), staged !== undefined);
      change.kept = kept;
    }
    if (staged !== undefined) await rename(folder.entryPath(staged), entry);
    change.switched = true;
  }

  /** Opens a folder by its path without links, making what is missing, one name at a time. */
  async #openParent(realPath: string, target: WriteTarget): Promise<VerifiedFolder> {
    const path = { absolute: realPath, given: target.given };
    try {
      return this.#checkPlace(await this.#keepOpen(openFolder(this.#workspace, path)), realPath, target);
    } catch (error) {
      const isRoot = rootOf(this.#workspace, realPath)?.realPath === realPath;
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
      this.#made.push({ parent, name });
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }

  async #keepOpen(opening: Promise<VerifiedFolder>): Promise<VerifiedFolder> {
    const folder = await opening;
    this.#folders.push(folder);
    return folder;
  }

  /** A folder that now lies elsewhere was swapped after the plan was made. */
  #checkPlace(folder: VerifiedFolder, realPath: string, target: WriteTarget): VerifiedFolder {
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

/** Writes a new file with the permissions and, where the system lets it, the owner of the file that it is like. */
async function writeNew(path: string, bytes: Uint8Array, like: BigIntStats | undefined): Promise<void> {
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

/** A second name where the system has them, so that the file is never missing; otherwise, and to delete, another name. */
async function keepOld(entry: string, kept: string, staysInPlace: boolean): Promise<void> {
  if (staysInPlace) {
    try {
      return await link(entry, kept);
    } catch {
      // Not every file system and not every owner may make hard links; renaming always does.
    }
  }
  await rename(entry, kept);
}

async function putBack(change: StagedChange): Promise<void> {
  const { folder, name, kept, switched } = change;
  // Forgotten first: if putting it back fails, the old content must outlive `close`.
  change.kept = undefined;
  if (kept !== undefined) {
    await rename(folder.entryPath(kept), folder.entryPath(name));
    // Renaming onto a second name of the same file does nothing and leaves both.
    if (!switched) await unlink(folder.entryPath(kept)).catch(() => undefined);
  } else if (switched) {
    await unlink(folder.entryPath(name));
  }
}

function temporaryName(kind: 'new' | 'old'): string {
  return `.toolscript-${randomBytes(9).toString('base64url')}.${kind}`;
}

function changedMeanwhile(target: WriteTarget): Error {
  return failure(
    'changed',
    `${quotePath(target.given)} was changed by somebody else meanwhile; nothing was written. Read it again.`,
    { path: target.given },
  );
}
