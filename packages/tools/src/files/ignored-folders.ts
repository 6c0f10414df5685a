import { join } from 'node:path';
import { readGit } from '../exec/read-git.js';

/** The real paths of the folders below `folder` that git ignores. Empty outside of a repository and without git. */
export async function ignoredFolders(folder: string): Promise<string[]> {
  const list = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const output = (await readGit(folder, list)) ?? '';
  const folders = output.split('\0').filter((path) => path.endsWith('/') && path !== './');
  return folders.map((path) => join(folder, path.slice(0, -1)));
}
