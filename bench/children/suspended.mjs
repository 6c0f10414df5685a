// The memory that COUNT suspended scripts need in the form of their outcomes' text.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const count = Number(process.argv[2]);
const ask = defineTool({
  name: 'ask',
  description: 'Asks',
  input: z.object({ n: z.number() }),
  approval: 'always',
  effect: 'external',
  execute: ({ n }) => n,
});
const harness = createHarness({ tools: [ask] });
const run = (n) => harness.runScript(`return await tools.ask({ n: ${n % 50} })`);
for (let n = 0; n < 50; n++) await run(n);
collect();
const before = process.memoryUsage().rss;
const kept = [];
for (let n = 0; n < count; n++) kept.push((await run(n)).suspension);
collect();
const megabytes = (process.memoryUsage().rss - before) / 1e6;
const ran = kept.every((suspension) => suspension?.startsWith('{"kind"'));
console.log(JSON.stringify({ ran, megabytes, running: harness.stats().sandbox.running }));
await harness.close();
