import { execFile } from 'node:child_process';
import { demandDescriptors } from '../descriptor-room.js';
import { childEnvironment } from './environment.js';
import { findProgram } from './program.js';

/** Time limit of a git command, in ms. */
const TIMEOUT_MS = 10_000;

/**
 * The output of a git command that only reads, in the user's repository. Undefined if it fails, without git, and if too
 * many files are open.
 */
export function readGit(folder: string, args: readonly string[]): Promise<string | undefined> {
  const program = findProgram('git', process.env['PATH'] ?? '', folder);
  if (program === undefined || !hasDescriptors()) return Promise.resolve(undefined);
  // defence: listing-runs-no-monitor
  const safe = ['-c', 'core.fsmonitor=false', ...args];
  const env = { ...childEnvironment(process.env, {}), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0' };
  const options = { cwd: folder, env, timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(program, safe, options, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}

function hasDescriptors(): boolean {
  try {
    demandDescriptors();
    return true;
  } catch {
    return false;
  }
}
