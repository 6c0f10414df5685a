import { accessSync, chmodSync, constants, lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/*
 * The folder through which the Toolscript processes of one user coordinate: locks and journals. It is outside every
 * project, so that no project can forge its content.
 */

/** The first writable folder that belongs to this user alone; undefined if no folder is suitable. */
export function makeStateFolder(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  return [() => userFolder(environment), temporaryFolder].map(orUndefined).find(isPrivate);
}

function isPrivate(path: string | undefined): path is string {
  // A relative home would place the state folder in the current folder, where a project could forge its content.
  // defence: state-folder-is-absolute
  return path !== undefined && isAbsolute(path) && makePrivateFolder(path);
}

/**
 * The result of a lookup; undefined if the lookup throws. It throws for a user who is not in the system's user list.
 */
function orUndefined(find: () => string): string | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

/**
 * Creates a missing folder, and makes the folder private. Returns false if this user does not own it, or cannot use it.
 */
export function makePrivateFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const stat = lstatSync(path);
    if (process.getuid === undefined) return stat.isDirectory();
    // defence: state-folder-owner
    if (!stat.isDirectory() || stat.uid !== process.getuid()) return false;
    // defence: state-folder-mode
    if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `$XDG_STATE_HOME/toolscript/files`, `%LOCALAPPDATA%\toolscript\files`, or this system's equivalent. */
function userFolder({
  XDG_STATE_HOME: xdg,
  LOCALAPPDATA: appData,
}: Readonly<Record<string, string | undefined>>): string {
  return join(baseFolder(xdg, appData), 'toolscript', 'files');
}

function baseFolder(xdg: string | undefined, appData: string | undefined): string {
  if (xdg !== undefined && isAbsolute(xdg)) return xdg;
  if (process.platform === 'win32' && appData !== undefined && isAbsolute(appData)) return appData;
  const home = homedir();
  return process.platform === 'darwin' ? join(home, 'Library', 'Application Support') : join(home, '.local', 'state');
}

function temporaryFolder(): string {
  return join(tmpdir(), `toolscript-files-${process.getuid?.() ?? 'user'}`);
}
