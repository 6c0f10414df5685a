// For programs that a test kills in the middle of a commit.
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** Kills this process before its `count`-th rename of a file. */
export function dieAtRename(count) {
  const { rename } = promises;
  let left = count;
  promises.rename = (...paths) => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return rename(...paths);
  };
  syncBuiltinESMExports();
}
