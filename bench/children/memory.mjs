import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createHarness } from '@toolscript/core';
import { benchTools } from '../contenders/toolscript.mjs';

/**
 * Prints the resident memory of a process with this number of workers: workers of the harness, or empty workers of
 * Node.
 */
const [kind, count] = [process.argv[2], Number(process.argv[3])];
const open = setTimeout(() => {}, 60_000);
const ran = kind === 'toolscript' ? await warmHarness(count) : await emptyWorkers(count);
await sleep(400);
clearTimeout(open);
console.log(JSON.stringify({ ran, megabytes: process.memoryUsage.rss() / 1_048_576 }));
process.exit(0);

async function warmHarness(size) {
  const harness = createHarness({ tools: benchTools(), workers: { size } });
  await harness.warm();
  let completed = 0;
  for (let round = 0; round < 5; round++) {
    const outcomes = await Promise.all(
      Array.from({ length: size }, () => harness.runScript('return (await tools.wait({ ms: 20 })).ms')),
    );
    completed += outcomes.filter(({ value }) => value === 20).length;
  }
  return completed === 5 * size;
}

async function emptyWorkers(size) {
  const source = `const { parentPort } = require('node:worker_threads'); parentPort.on('message', () => {}); parentPort.postMessage('ready');`;
  await Promise.all(
    Array.from(
      { length: size },
      () => new Promise((resolve) => new Worker(source, { eval: true }).once('message', resolve)),
    ),
  );
  return true;
}
