import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';

/*
 * The temporary files of a test file are in memory, where this machine has room for them: most of them are flushed to
 * the disk one by one. `TMPDIR` names another folder.
 */

/** Linux keeps this folder in memory. */
const MEMORY = '/dev/shm';
const MIN_FREE_BYTES = 2 * 1024 ** 3;
/** Their commands run in a sandbox, which sees nothing of /dev. */
const IN_SANDBOX =
  /\/(?:tools\/test\/exec|cli\/test\/serve|examples|scripts|bench)\/|\/(?:chat\/conversation|chat\/waiting|files\/product-folders)\.test/u;

const path = expect.getState().testPath ?? '';
if (process.env['TMPDIR'] === undefined && !IN_SANDBOX.test(path) && hasMemoryFolder()) {
  const folder = mkdtempSync(join(MEMORY, 'toolscript-test-'));
  // Some tests work as another user.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  afterAll(() => {
    // The next test file of this process has a folder of its own.
    delete process.env['TMPDIR'];
    rmSync(folder, { recursive: true, force: true });
  });
}

/** False too where programs in it cannot be executed, as in most containers: tests write programs and start them. */
function hasMemoryFolder(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    const lines = readFileSync('/proc/mounts', 'utf8').split('\n');
    const mount = lines.findLast((line) => line.split(' ')[1] === MEMORY);
    return mount !== undefined && !/\bnoexec\b/u.test(mount) && bavail * bsize >= MIN_FREE_BYTES;
  } catch {
    return false;
  }
}
