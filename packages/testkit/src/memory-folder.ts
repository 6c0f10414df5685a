import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { removeFolders } from './folder.js';

/*
 * Gives each test file its own temporary folder, which is removed at its end: helpers that test files share remove
 * nothing for the later files of a process. The folder is in memory if this machine has room, because most temporary
 * files are flushed to the disk one by one. `TMPDIR` names another folder.
 */

/** Linux keeps this folder in memory. */
const MEMORY = '/dev/shm';
const MIN_FREE_BYTES = 2 * 1024 ** 3;
/** The commands of these tests run in a sandbox, which hides /dev. */
const IN_SANDBOX =
  /\/(?:tools\/test\/exec|cli\/test|examples|scripts|bench)\/|\/(?:files\/product-folders|tools\/test\/coding-tools|harness\/functional-laws)\.test/u;

afterAll(removeFolders);
const path = expect.getState().testPath ?? '';
const PREFIX = 'toolscript-test-';
// An earlier test file of this process may have restored its own folder after it was removed.
if (process.env['TMPDIR']?.startsWith(join(MEMORY, PREFIX)) === true) delete process.env['TMPDIR'];
if (process.env['TMPDIR'] === undefined && !IN_SANDBOX.test(path)) {
  const folder = mkdtempSync(join(hasMemoryFolder() ? MEMORY : tmpdir(), PREFIX));
  // Some tests run as another user.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  afterAll(() => {
    // The next test file of this process gets a new folder.
    delete process.env['TMPDIR'];
    rmSync(folder, { recursive: true, force: true });
  });
}

/**
 * Whether the folder is usable. False if programs in it cannot be executed, as in most containers, because tests write
 * programs and start them.
 */
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
