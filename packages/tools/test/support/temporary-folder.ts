import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ToolCallError } from '@toolscript/core/protocol';

/** Not with `recursive`, because newer releases of Node then follow links to folders. */
function entriesBelow(folder: string): Dirent[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry, ...entriesBelow(join(folder, entry.name))] : [entry],
  );
}

/** Everything below a folder: bytes, permissions and links, so that two states can be compared. */
export function snapshot(folder: string): Record<string, string> {
  const state: Record<string, string> = {};
  for (const entry of entriesBelow(folder)) {
    const place = join(entry.parentPath, entry.name);
    const key = place.slice(folder.length + 1);
    const mode = (lstatSync(place).mode & 0o7777).toString(8);
    if (entry.isFile()) state[key] = `file ${mode} ${readFileSync(place).toString('latin1')}`;
    else if (entry.isSymbolicLink()) state[key] = `link ${readlinkSync(place)}`;
    else state[key] = `${entry.isDirectory() ? 'folder' : 'other'} ${mode}`;
  }
  return state;
}

/** The text of every regular file. */
export function texts(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of entriesBelow(folder)) {
    const place = join(entry.parentPath, entry.name);
    if (entry.isFile()) found[place.slice(folder.length + 1)] = readFileSync(place, 'utf8');
  }
  return found;
}

/** The ToolCallError of a failing call; throws if the call succeeds, or fails with another error. */
export async function refusal(call: () => unknown): Promise<ToolCallError & { data: Record<string, unknown> }> {
  try {
    await call();
  } catch (error) {
    if (error instanceof ToolCallError && error.code === 'ToolExecutionError') return error as never;
    throw error;
  }
  throw new Error('The call was expected to fail and did not.');
}
