// A conversation in one program over a folder, in a separate process. It prints one line of JSON for each script.
//
//   program-process.mjs FOLDER HEAP COUNT BY    COUNT scripts (0: until it is killed) that add BY to `n`

import { createHarness, fileStore } from '../../../dist/index.js';

const [folder, heapOfStart, count, by] = process.argv.slice(2);
const store = fileStore(folder);
const scripts = 'one-program';
const harness = createHarness({ tools: [], scripts, store, suspensionKey: 'k'.repeat(32), typecheck: 'off' });

let heap = heapOfStart;
const most = count === '0' ? Infinity : Number(count);
for (let made = 0; made < most; made += 1) {
  const outcome = await harness.runScript(`n += ${by}; return n`, { heap, threadId: 'thr_1' });
  // A busy machine may end the capture of a memory early: the variables are then as before the script.
  const isLost = outcome.diagnostics.some(({ code }) => /^variables-(?:lost|restored)$/u.test(code));
  const isRestored = outcome.diagnostics.some(({ code }) => code === 'variables-restored');
  heap = outcome.heap;
  process.stdout.write(
    `${JSON.stringify({ value: outcome.value, error: outcome.error?.message, heap, isLost, isRestored })}\n`,
  );
}
await harness.close();
