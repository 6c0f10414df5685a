// For programs that a test kills in the middle of a commit.
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Kills this process before its `count`-th rename to a name of `f` and digits, which the tests give to the files of a
 * commit: other renames store records.
 */
export function dieAtRename(count) {
  const { rename } = promises;
  let done = 0;
  promises.rename = (from, to) => {
    if (/\/f\d+$/u.test(to) && ++done === count) process.kill(process.pid, 'SIGKILL');
    return rename(from, to);
  };
  syncBuiltinESMExports();
}
