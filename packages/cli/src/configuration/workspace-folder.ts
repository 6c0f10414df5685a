import { mkdir, realpath, stat } from 'node:fs/promises';
import type { Environment } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { noWorkspaceFolder } from './locations.js';

/** The real path of the named folder, or of the current one. Throws a UsageError if it is missing or not a folder. */
export async function workspaceFolder(named: string | undefined): Promise<string> {
  // Threads cannot start without a current folder, even if another one is named.
  const current = currentFolder();
  return realFolder(named ?? current);
}

/** The real path of the folder. Throws a UsageError if it is missing or not a folder. */
export async function realFolder(folder: string): Promise<string> {
  const name = visibleLine(folder);
  try {
    const real = await realpath(folder);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EACCES')
      throw new UsageError(`The folder ${name} cannot be opened. Give your user permission, or use another folder.`);
    throw new UsageError(`There is no folder ${name}. Create it, or use another one.`);
  }
  throw new UsageError(`${name} is not a folder. Use a folder.`);
}

/** An empty folder outside of every workspace. It is created. */
export async function emptyFolder(environment: Environment): Promise<string> {
  const folder = noWorkspaceFolder(environment);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Throws a UsageError if it was deleted. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new UsageError('The current folder was deleted, or you may not open it. Change to another folder.');
  }
}
