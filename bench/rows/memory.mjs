import assert from 'node:assert/strict';
import { alternate } from '../measure.mjs';
import { runChild } from '../processes.mjs';

const FEW = 1;
const MANY = 5;

export const name = 'memory';

/** The memory of one more warm worker, in addition to Node's own for an empty one. */
export async function measure({ effort }) {
  const row = {
    name: 'memory-worker',
    title: "resident memory of a warm worker above an empty one of Node's",
    unit: 'MB',
    better: 'lower',
    limit: 8,
    notes: [`from processes with ${MANY} and with ${FEW} worker, after five scripts on each`],
  };
  const block = async () => [(await perWorker('toolscript')) - (await perWorker('node'))];
  return [await alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.memoryRounds)];
}

async function perWorker(kind) {
  return ((await resident(kind, MANY)) - (await resident(kind, FEW))) / (MANY - FEW);
}

async function resident(kind, workers) {
  const { ran, megabytes } = await runChild('memory.mjs', [kind, String(workers)]);
  assert.ok(ran, 'the scripts gave wrong answers');
  return megabytes;
}
