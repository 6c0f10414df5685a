import { realpath, stat } from 'node:fs/promises';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

/** The folder that was named, or the current one, without links. Throws a UsageError for what is missing or no folder. */
export async function workspaceFolder(named: string | undefined): Promise<string> {
  // Threads cannot start without a current folder, whatever is named.
  const current = currentFolder();
  return realFolder(named ?? current);
}

/** The folder without links. Throws a UsageError for what is missing or no folder. */
export async function realFolder(folder: string): Promise<string> {
  const name = visibleLine(folder);
  try {
    const real = await realpath(folder);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EACCES')
      throw new UsageError(`The folder ${name} may not be opened. Give yourself permission or name another folder.`);
    throw new UsageError(`There is no folder ${name}. Create it or name another one.`);
  }
  throw new UsageError(`${name} is not a folder. Name a folder.`);
}

/** Throws a UsageError where it was deleted. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new UsageError('The current folder was deleted, or you may not open it. Change to another folder.');
  }
}
