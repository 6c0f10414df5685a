import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs';
import { mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { dataFolder, noWorkspaceFolder, userFolder } from './locations.js';

/**
 * The real path of the named or the current folder. Throws a UsageError if there is no such folder, or if it cannot be
 * opened.
 */
export async function workspaceFolder(named: string | undefined): Promise<string> {
  // Worker threads cannot start without a current folder, even if `named` is another folder.
  const current = currentFolder();
  return realFolder(named ?? current);
}

/** The real path of the folder. Throws a UsageError if there is no such folder, or if it cannot be opened. */
export async function realFolder(folder: string): Promise<string> {
  const name = visibleLine(folder);
  try {
    const real = await realpath(folder);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EACCES')
      throw new UsageError(
        `The folder ${name} cannot be opened. Give your user permission to open it, or use another folder.`,
      );
    throw new UsageError(`There is no folder ${name}. Create it, or use another one.`);
  }
  throw new UsageError(`${name} is not a folder. Use a folder.`);
}

/** Creates the empty folder in the user's data that serves as a workspace. Returns its path. */
export async function emptyFolder(environment: Environment): Promise<string> {
  const folder = noWorkspaceFolder(environment);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** The current folder. Throws a UsageError if it was deleted or cannot be opened. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new UsageError('The current folder was deleted, or you may not open it. Change to another folder.');
  }
}

/*
 * The user's own files, such as the configuration, the rules, the stored scripts and the audit log, must be outside of
 * the workspace, and their paths must use no link inside of the workspace: scripts and the authors of the workspace's
 * files may write there. No other module checks this rule.
 */

/** Throws a UsageError if a path of the user's own folders leads into the workspace. `workspace` is a real path. */
export function demandOwnFoldersOutside(workspace: string, environment: Environment): void {
  demandAll(Object.values(userFolder(environment)), workspace, 'configuration', 'XDG_CONFIG_HOME');
  demandAll(Object.values(dataFolder(environment)), workspace, 'data', 'XDG_DATA_HOME');
}

/** Throws a UsageError if the path of one of the user's own files leads into the workspace. */
export function demandOutside(path: string, workspace: string): void {
  // defence: own-file-outside-workspace
  const isTheirs = leadsInto(workspace, path);
  if (isTheirs)
    throw new UsageError(
      `${visibleLine(path)} leads into the workspace ${visibleLine(workspace)}, where scripts may write, so Toolscript does not use this file. Move it out of the workspace, or replace its link with the file itself.`,
    );
}

function demandAll(paths: readonly string[], workspace: string, what: string, variable: string): void {
  // defence: own-folder-outside-workspace
  const found = paths.find((path) => leadsInto(workspace, path));
  if (found !== undefined)
    throw new UsageError(
      `Scripts can write to your ${what} in ${visibleLine(found)}, because the path is in the workspace ${visibleLine(workspace)} or leads through the workspace. Start in another folder, name another folder with --cwd, or set ${variable} to a folder outside of the workspace.`,
    );
}

/** The maximum number of links that Linux follows. */
const MAX_LINKS = 40;

/**
 * Whether the resolution of `path` and its symbolic links enters `folder`, which is a real path. Dangling links and
 * missing parts are resolved too. The folder is also recognised by its inode, because the file system may allow several
 * spellings of its path.
 */
export function leadsInto(folder: string, path: string): boolean {
  const identity = entryStats(folder);
  const { root } = parse(resolve(path));
  let at = root;
  let links = 0;
  const names = pathNames(resolve(path), root);
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = name === '..' ? dirname(at) : join(at, name);
    const stats = entryStats(next);
    if (isInside(folder, next) || isSame(identity, stats)) return true;
    const target = stats?.isSymbolicLink() === true && links < MAX_LINKS ? readlinkSync(next) : undefined;
    if (target === undefined) {
      at = next;
      continue;
    }
    links += 1;
    const from = parse(target).root;
    if (from !== '') at = resolve(from);
    names.unshift(...pathNames(target, from));
  }
  return isInside(folder, at);
}

function pathNames(path: string, root: string): string[] {
  return path
    .slice(root.length)
    .split(sep === '/' ? '/' : /[/\\]/u)
    .filter((name) => name !== '' && name !== '.');
}

/** Whether `path` is `folder` or inside of it. Both are absolute paths. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/u.test(way);
}

function isSame(left: BigIntStats | undefined, right: BigIntStats | undefined): boolean {
  return left !== undefined && left.ino !== 0n && left.ino === right?.ino && left.dev === right.dev;
}

/** The stats of the entry at a path, which may be a link; undefined if there is no accessible entry. */
function entryStats(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
