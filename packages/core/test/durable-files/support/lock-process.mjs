// Locks a file: `count FILE TIMES` adds to the number in it, `hold FILE` keeps the lock until the process is killed.
import { readFileSync, writeFileSync } from 'node:fs';
import { withFileLock } from '@toolscript/core/internal';

const [, , task, file, times] = process.argv;

if (task === 'hold') {
  await withFileLock(file, () => {
    process.send('held');
    return new Promise(() => setInterval(() => {}, 1_000));
  });
}
for (let count = 0; count < Number(times); count++)
  await withFileLock(file, async () => {
    const before = Number(read() ?? 0);
    await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(file, String(before + 1));
  });
process.disconnect();

function read() {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
