// A copy of the repository, in which a program of mutations changes the code, builds it and runs tests.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const LIMIT_MS = 240_000;
/** Maximum time for a test, because a test may wait for an event that never occurs without the code that was changed. */
const TEST_MS = 60_000;
const NOT_COPIED = new Set(['.git', 'node_modules']);

/** The folder of the copy. The copy is deleted when this process ends. */
export function copyRepository() {
  const copy = mkdtempSync(join(tmpdir(), 'toolscript-mutations-'));
  // Some tests run as another user, who must be able to read the copy.
  chmodSync(copy, 0o755);
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  const filter = (source) => !NOT_COPIED.has(source.slice(root.length + 1).split('/')[0]);
  cpSync(root, copy, { recursive: true, filter, verbatimSymlinks: true });
  // The copy has hard links to the packages, because no test writes into a package.
  const linked = spawnSync('cp', ['-al', join(root, 'node_modules'), join(copy, 'node_modules')], { stdio: 'inherit' });
  if (linked.status !== 0)
    cpSync(join(root, 'node_modules'), join(copy, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  buildTypes(copy);
  return copy;
}

/** Compiles, and returns whether that succeeded. Skips type checks, because changed code may leave names unused. */
export function buildTypes(copy) {
  return runIn(copy, ['node_modules/typescript/bin/tsc', '-b', '--noCheck']);
}

/**
 * Runs tests, and returns whether all have passed; undefined if they have not ended in time. Stops at the first failure
 * unless `all` is set.
 */
export function runTests(copy, args, env = {}, { all = false } = {}) {
  const ending = all ? [] : ['--bail', '1', '--testTimeout', `${TEST_MS}`];
  return runIn(copy, ['node_modules/vitest/vitest.mjs', 'run', ...args, ...ending], env, all ? 0 : LIMIT_MS);
}

/**
 * Runs a program of the copy, and returns whether it succeeded; undefined if it has not ended in time. In a separate
 * process group, because a test that never ends leaves processes running. `timeout` in ms; 0: none.
 */
export function runIn(copy, args, env = {}, timeout = LIMIT_MS) {
  const options = { cwd: copy, stdio: 'ignore', timeout, detached: true, env: { ...process.env, ...env } };
  const { status, pid, error } = spawnSync(process.execPath, args, options);
  endGroup(pid);
  return error?.code === 'ETIMEDOUT' ? undefined : status === 0;
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has ended meanwhile.
  }
}
