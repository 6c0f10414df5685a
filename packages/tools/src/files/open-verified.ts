import { constants, type Stats, type StatsBase } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { failure, failureReason, systemCode } from '../failure.js';
import { quotePath } from './path-rules.js';
import { isInPackages } from './protected-names.js';
import { isInside } from './is-inside.js';
import { innermostRoot, type Workspace, type WorkspacePath } from './workspace.js';

/*
 * The functions in this module open a file first, then verify the open file, then use its handle. They never check a
 * path and then use the path, because an attacker could swap a folder for a link in between.
 *
 * With 'descriptor' verification the entry is opened with O_PATH, which reads nothing, blocks on nothing and wakes no
 * device or FIFO. The kernel then reports the entry's path through `/proc/self/fd/N`. A permitted file is opened again
 * through that name, which leads to the same inode even if the path has changed.
 */

const O_PATH = 0o10000000;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** An open file or folder that was found inside the workspace. The caller closes it. */
export interface VerifiedEntry {
  readonly handle: FileHandle;
  /** The path of the entry at its verification, with symbolic links resolved. */
  readonly realPath: string;
  readonly stat: Stats;
}

/** An open folder inside the workspace. Its entries are accessed through the handle, not through its path. */
export interface VerifiedFolder extends VerifiedEntry {
  /** A path for system calls on one entry. If the entry is a link, the path names the link itself. */
  readonly entryPath: (name: string) => string;
  /** A path for system calls on the folder itself, such as the start folder of a process. */
  readonly ownPath: string;
}

/** Opens a regular file for reading. Rejects all other entries and, by default, files with several hard links. */
export async function openFile(workspace: Workspace, path: WorkspacePath): Promise<VerifiedEntry> {
  const entry = await openEntry(workspace, path, { folder: false });
  try {
    checkRegularFile(entry.stat, path);
    checkDevice(workspace, entry, path);
    checkHardLinks(workspace, entry, path);
    return await readable(workspace, entry, path);
  } catch (error) {
    await entry.handle.close();
    throw error;
  }
}

/** Opens a folder. */
export async function openFolder(workspace: Workspace, path: WorkspacePath): Promise<VerifiedFolder> {
  const entry = await openEntry(workspace, path, { folder: true });
  return asFolder(workspace, entry);
}

/**
 * The target and state of a path, with links followed. The target must be inside the workspace. The function closes the
 * target after opening it.
 */
export function verifiedPlace(workspace: Workspace, path: WorkspacePath): Promise<{ realPath: string; stat: Stats }> {
  return using(openEntry(workspace, path, { folder: false }), async ({ realPath, stat }) => ({ realPath, stat }));
}

/** Opens a folder inside an open one, without following links. */
export async function openSubfolder(
  workspace: Workspace,
  parent: VerifiedFolder,
  name: string,
  given: string,
): Promise<VerifiedFolder> {
  const path = { absolute: parent.entryPath(name), given };
  return asFolder(workspace, await openEntry(workspace, path, { folder: true, noFollow: true }));
}

/** Runs `use` and always closes the entry. */
export async function using<E extends VerifiedEntry, T>(
  opening: Promise<E>,
  use: (entry: E) => Promise<T>,
): Promise<T> {
  const entry = await opening;
  try {
    return await use(entry);
  } finally {
    await entry.handle.close();
  }
}

/** Rejects everything except a regular file. The error names the actual kind. */
export function checkRegularFile(stat: StatsBase<number> | StatsBase<bigint>, path: WorkspacePath): void {
  if (stat.isFile()) return;
  const kind = stat.isDirectory()
    ? 'a folder'
    : stat.isFIFO()
      ? 'a named pipe'
      : stat.isSocket()
        ? 'a socket'
        : stat.isSymbolicLink()
          ? 'a link'
          : 'a device';
  throw failure('not_a_file', `${quotePath(path.given)} is ${kind}, not a regular file. Use the path of a file.`, {
    path: path.given,
  });
}

interface OpenOptions {
  readonly folder: boolean;
  readonly noFollow?: boolean | undefined;
}

/** Maximum number of attempts to open a file that other programs keep replacing. */
const MAX_ATTEMPTS = 8;

/** Opens an entry. If another program replaces the file by renaming a new file over it, opens the new file. */
async function openEntry(workspace: Workspace, path: WorkspacePath, options: OpenOptions): Promise<VerifiedEntry> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openOnce(workspace, path, options);
    } catch (error) {
      if (failureReason(error) !== 'changed' || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function openOnce(workspace: Workspace, path: WorkspacePath, options: OpenOptions): Promise<VerifiedEntry> {
  const byDescriptor = workspace.verification === 'descriptor';
  const flags =
    (byDescriptor ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY) |
    (options.folder ? O_DIRECTORY : 0) |
    (options.noFollow ? O_NOFOLLOW : 0);
  const handle = await open(path.absolute, flags).catch(async (error: unknown) => {
    throw await openFailure(workspace, path, error);
  });
  try {
    const stat = await handle.stat();
    // The order matters: `stat` has counted the hard links, so the count includes the name that is verified next.
    const realPath = byDescriptor ? await placeByDescriptor(handle, path, stat) : await placeByPath(path, stat);
    if (!innermostRoot(workspace, realPath)) throw leadsOutside(path);
    return { handle, realPath, stat };
  } catch (error) {
    await handle.close();
    throw failureReason(error) ? error : ioFailure(path, error);
  }
}

/**
 * The kernel's path of an open file. A path with the suffix ` (deleted)` is valid only if the open file really has that
 * name. Otherwise the file may now have another name outside the workspace, and the call fails.
 */
async function placeByDescriptor(handle: FileHandle, path: WorkspacePath, opened: Stats): Promise<string> {
  const realPath = await readlink(`/proc/self/fd/${handle.fd}`);
  if (!realPath.endsWith(' (deleted)')) return realPath;
  const found = await lstat(realPath).catch(() => undefined);
  if (found?.dev === opened.dev && found.ino === opened.ino) return realPath;
  throw replacedPathError(path);
}

/**
 * Resolves the path after the file is open. The result must have the device and inode of the open file, and a second
 * resolution must give the same path.
 */
async function placeByPath(path: WorkspacePath, opened: Stats): Promise<string> {
  const realPath = await realpath(path.absolute);
  const found = await lstat(realPath);
  const same = found.dev === opened.dev && found.ino === opened.ino && (await realpath(path.absolute)) === realPath;
  if (!same) throw replacedPathError(path);
  return realPath;
}

function replacedPathError(path: WorkspacePath): Error {
  return failure('changed', `${quotePath(path.given)} was replaced while it was being opened. Try again.`, {
    path: path.given,
  });
}

async function readable(workspace: Workspace, entry: VerifiedEntry, path: WorkspacePath): Promise<VerifiedEntry> {
  if (workspace.verification === 'path') return entry;
  try {
    const handle = await open(`/proc/self/fd/${entry.handle.fd}`, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    await entry.handle.close();
    return { ...entry, handle };
  } catch (error) {
    throw ioFailure(path, error);
  }
}

function asFolder(workspace: Workspace, entry: VerifiedEntry): VerifiedFolder {
  const ownPath =
    workspace.verification === 'descriptor' ? `/proc/${process.pid}/fd/${entry.handle.fd}` : entry.realPath;
  return { ...entry, ownPath, entryPath: (name) => join(ownPath, name) };
}

/** Rejects files of `/proc` and `/sys`, which may be inside a root such as `/`: they are not real files. */
function checkDevice(workspace: Workspace, entry: VerifiedEntry, path: WorkspacePath): void {
  if (!workspace.kernelDevices.has(entry.stat.dev)) return;
  throw failure(
    'not_a_file',
    `${quotePath(path.given)} belongs to the kernel (/proc or /sys), not to a disk. Use another path.`,
    {
      path: path.given,
    },
  );
}

function checkHardLinks(workspace: Workspace, entry: VerifiedEntry, path: WorkspacePath): void {
  if (entry.stat.nlink <= 1 || workspace.hardLinks === 'read') return;
  const root = innermostRoot(workspace, entry.realPath);
  if (root && isInPackages(relative(root.realPath, entry.realPath).split(sep).join('/'))) return;
  throw failure(
    'hard_link',
    `${quotePath(path.given)} has a second name (a hard link), so it may be a file from outside the workspace. Replace it with a copy.`,
    { path: path.given },
  );
}

function leadsOutside(path: WorkspacePath): Error {
  return failure(
    'link_outside',
    `The path ${quotePath(path.given)} leads outside the workspace through a link. Use a path inside the workspace.`,
    {
      path: path.given,
    },
  );
}

/** Describes a system error without host paths. */
export function ioFailure(path: WorkspacePath, error: unknown): Error {
  const name = quotePath(path.given);
  const data = { path: path.given };
  switch (systemCode(error)) {
    case 'ENOENT':
      return failure('missing', `${name} does not exist. Check the path.`, data);
    case 'ENOTDIR':
      return failure('not_a_folder', `${name} is not a folder, or a part of its path is not. Check the path.`, data);
    case 'EISDIR':
      return failure('not_a_file', `${name} is a folder, not a regular file. Use the path of a file.`, data);
    case 'EACCES':
    case 'EPERM':
      return failure(
        'not_permitted',
        `The system does not permit access to ${name}. Use another path, or ask the user to change the permissions.`,
        data,
      );
    case 'ELOOP':
      return failure(
        'io',
        `${name} is a link where links are not allowed, or its links form a cycle. Use the path of the file itself.`,
        data,
      );
    case 'ENAMETOOLONG':
      return failure('bad_path', `The path ${name} is too long for the file system. Use a shorter path.`, data);
    case 'EMFILE':
    case 'ENFILE':
      return failure(
        'io',
        `Too many files are open; ${name} could not be opened. Try again with fewer concurrent calls.`,
        data,
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return failure('io', `There is no room left on the disk for ${name}. Free disk space and try again.`, data);
    case 'EROFS':
      return failure('read_only', `${name} is on a read-only file system. Use another folder.`, data);
    default:
      return failure(
        'io',
        `${name} could not be used (${systemCode(error) ?? 'unknown error'}). Check the path and the disk.`,
        data,
      );
  }
}

/**
 * The error for a path that could not be opened. It must not reveal anything about files outside the workspace, so this
 * function first checks where the path leads.
 */
async function openFailure(workspace: Workspace, path: WorkspacePath, error: unknown): Promise<Error> {
  for (let place = path.absolute; ; place = dirname(place)) {
    const realPath = await realpath(place).catch(() => undefined);
    if (realPath !== undefined) {
      const held =
        innermostRoot(workspace, realPath) || workspace.roots.some((root) => isInside(realPath, root.realPath));
      return held ? ioFailure(path, error) : leadsOutside(path);
    }
    if (place === dirname(place)) return ioFailure(path, error);
  }
}
