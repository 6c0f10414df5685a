import { existsSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { isProgram } from './sandbox/requirements.js';

/**
 * Finds the file of a program as the system would. A name with a slash starts at `folder`; other names are searched on
 * `path`. Skips relative folders on `path`, because their meaning depends on the working folder. Returns undefined if
 * it finds no executable file.
 */
export function findProgram(name: string, path: string, folder: string): string | undefined {
  if (name.includes('/')) return isProgram(resolve(folder, name)) ? resolve(folder, name) : undefined;
  // defence: no-program-through-a-relative-folder
  const folders = path.split(delimiter).filter(isAbsolute);
  return folders.map((entry) => join(entry, name)).find(isProgram);
}

/** Like `findProgram`, but throws a ToolCallError with the reason why the program cannot be started. */
export function requireProgram(name: string, path: string, folder: string): string {
  const found = findProgram(name, path, folder);
  if (found !== undefined) return found;
  const data = { program: name };
  if (!name.includes('/'))
    throw failure('not_started', `There is no program ${quotePath(name)} on PATH. Install it, or give its path.`, data);
  const place = resolve(folder, name);
  if (!existsSync(place))
    throw failure('not_started', `There is no program at ${quotePath(name)}. Check the path.`, data);
  const problem = statSync(place).isFile()
    ? `is not executable. Run: chmod u+x ${quotePath(name)}`
    : 'is not a file, so it cannot be executed. Use the path of a program.';
  throw failure('not_started', `${quotePath(name)} ${problem}`, data);
}
