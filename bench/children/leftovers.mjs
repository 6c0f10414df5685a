import inspector from 'node:inspector/promises';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

// The number of bytes that scripts and calls allocate, and that outlive the young generation and wait for a full
// collection. V8's sampling profiler counts the bytes that are not collected early; it samples every 4 KB on average.
const seconds = Number(process.argv[2]) / 1_000;
const CALLERS = 100;
const CALLS = 500;
const LOOP = `let sum = 0; for (let i = 0; i < ${CALLS}; i++) sum += (await tools.echo({ value: i })).value; return sum;`;

const echo = defineTool({
  name: 'echo',
  description: 'Gives back what it is given.',
  input: z.object({ value: z.number() }),
  output: z.object({ value: z.number() }),
  effect: 'read',
  approval: 'never',
  execute: (input) => input,
});
const harness = createHarness({ tools: [echo], limits: { maxToolCalls: CALLS } });

await shortScripts();
const script = await leftBehind(shortScripts);
await manyCalls();
const call = await leftBehind(manyCalls);
await harness.close();
console.log(JSON.stringify({ script, call }));

/** Runs short scripts. Returns their number. */
async function shortScripts() {
  const end = performance.now() + seconds * 1_000;
  let ran = 0;
  const caller = async () => {
    for (; performance.now() < end; ran++)
      if ((await harness.runScript('return 1+1')).value !== 2) throw new Error('a wrong answer');
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return ran;
}

/** Makes many calls. Returns their number. */
async function manyCalls() {
  const end = performance.now() + seconds * 1_000;
  let ran = 0;
  for (; performance.now() < end; ran += CALLS)
    if ((await harness.runScript(LOOP)).value !== (CALLS * (CALLS - 1)) / 2) throw new Error('a wrong answer');
  return ran;
}

/** The bytes for each unit of the number that `work` returns. */
async function leftBehind(work) {
  const session = new inspector.Session();
  session.connect();
  await session.post('HeapProfiler.enable');
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 4_096,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: false,
  });
  const count = await work();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  return sizeOf(profile.head) / count;
}

function sizeOf(node) {
  return node.children.reduce((sum, child) => sum + sizeOf(child), node.selfSize);
}
