import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isPlainGitConfig } from './sandbox/git-config.js';
import { readGit } from './read-git.js';

export interface GitState {
  /** Undefined: no branch is checked out. */
  readonly branch: string | undefined;
  /** The number of changed and new files. Undefined: unknown. */
  readonly changedFiles: number | undefined;
}

/**
 * The state of the git repository whose top folder is `folder` or above it. Undefined outside of a repository and
 * without git. Counts changed files only if the repository's configuration names no program, because git would run it.
 */
export async function gitState(folder: string): Promise<GitState | undefined> {
  const git = (...args: string[]) => readGit(folder, args);
  const found = await git('rev-parse', '--show-toplevel', '--path-format=absolute', '--git-common-dir');
  if (found === undefined) return undefined;
  const [top = '', common = ''] = found.split('\n');
  const branch = (await git('symbolic-ref', '--quiet', '--short', 'HEAD'))?.trim();
  // defence: git-state-runs-no-filter
  const isPlain = isPlainGitConfig(join(common, 'config')) && isMissing(join(common, 'config.worktree'));
  const changed = isPlain && top !== '' ? await git('status', '--porcelain', '--ignore-submodules=all') : undefined;
  return { branch, changedFiles: changed?.split('\n').filter((line) => line !== '').length };
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}
