import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { failure, failureReason, systemCode } from '../failure.js';
import { existingPart } from './existing-part.js';
import { checkRegularFile, ioFailure, openFolder, verifiedPlace, using, type VerifiedFolder } from './open-verified.js';
import { quotePath } from './path-rules.js';
import { checkWritable, innermostRoot, type Workspace, type WorkspacePath } from './workspace.js';

/** A writable path and its state when it was checked. The commit requires that the state is unchanged. */
export interface WriteTarget {
  /** The path with symbolic links resolved; the last folders may not exist yet. */
  readonly realPath: string;
  readonly given: string;
  /**
   * The state of the current entry: a regular file, or a link if links are not followed. Undefined if the path has no
   * entry.
   */
  readonly existing: BigIntStats | undefined;
}

/**
 * Finds the entry that a write to `path` would change. Follows a link, which must lead to a file inside the workspace.
 */
export function findWriteTarget(workspace: Workspace, path: WorkspacePath): Promise<WriteTarget> {
  return findTarget(workspace, path, true);
}

/** Finds the entry itself, for deletions and moves. Does not follow a link. */
export function findEntryTarget(workspace: Workspace, path: WorkspacePath): Promise<WriteTarget> {
  return findTarget(workspace, path, false);
}

export function sameEntry(one: BigIntStats | undefined, other: BigIntStats | undefined): boolean {
  if (!one || !other) return one === other;
  return (
    one.ino === other.ino &&
    one.dev === other.dev &&
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  );
}

/** The state of a folder's entry; undefined if it does not exist. Does not follow a link. */
export async function lookAt(folder: VerifiedFolder, name: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(folder.entryPath(name), { bigint: true });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function findTarget(workspace: Workspace, path: WorkspacePath, follow: boolean): Promise<WriteTarget> {
  if (innermostRoot(workspace, path.absolute)?.realPath === path.absolute) {
    throw failure('not_a_file', `${quotePath(path.given)} is a folder, not a regular file. Use the path of a file.`, {
      path: path.given,
    });
  }
  const { realPath, existing } = await findEntry(workspace, path);
  if (existing?.isSymbolicLink() && follow) return findTarget(workspace, await linkTarget(workspace, path), false);
  checkWritable(workspace, realPath, path.given);
  if (existing && !existing.isSymbolicLink()) checkReplaceable(existing, path);
  return { realPath, given: path.given, existing };
}

async function findEntry(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ realPath: string; existing: BigIntStats | undefined }> {
  const { folder, missing } = await deepestFolder(workspace, { ...path, absolute: dirname(path.absolute) });
  return using(Promise.resolve(folder), async () => {
    const name = basename(path.absolute);
    const existing =
      missing.length > 0
        ? undefined
        : await lookAt(folder, name).catch((error: unknown) => Promise.reject(ioFailure(path, error)));
    return { realPath: join(folder.realPath, ...missing, name), existing };
  });
}

async function deepestFolder(
  workspace: Workspace,
  path: WorkspacePath,
): Promise<{ folder: VerifiedFolder; missing: string[] }> {
  const root = innermostRoot(workspace, path.absolute)!.realPath;
  for (let existing = existingPart(root, path.absolute); ; existing = dirname(existing)) {
    try {
      const folder = await openFolder(workspace, { ...path, absolute: existing });
      return { folder, missing: relative(existing, path.absolute).split(sep).filter(Boolean) };
    } catch (error) {
      // The entry may be a dangling link, or may have been removed.
      if (failureReason(error) !== 'missing' || existing === root) throw error;
    }
  }
}

/**
 * The target of a link, with symbolic links resolved. Throws a ToolCallError if the target is missing or outside the
 * workspace.
 */
async function linkTarget(workspace: Workspace, path: WorkspacePath): Promise<WorkspacePath> {
  try {
    return { given: path.given, absolute: (await verifiedPlace(workspace, path)).realPath };
  } catch (error) {
    if (failureReason(error) !== 'missing') throw error;
    throw failure('missing', `${quotePath(path.given)} is a link to a file that does not exist. Use another path.`, {
      path: path.given,
    });
  }
}

function checkReplaceable(existing: BigIntStats, path: WorkspacePath): void {
  checkRegularFile(existing, path);
  if ((existing.mode & 0o200n) === 0n) {
    throw failure(
      'not_permitted',
      `${quotePath(path.given)} is marked read-only. Run: chmod u+w ${quotePath(path.given)}`,
      { path: path.given },
    );
  }
}
