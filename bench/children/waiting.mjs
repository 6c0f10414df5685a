// The memory that COUNT scripts need while they wait for a tool.
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const count = Number(process.argv[2]);
let answer = () => {};
const answered = new Promise((resolve) => (answer = resolve));
let called = 0;
let onAllCalled = () => {};
const allCalled = new Promise((resolve) => (onAllCalled = resolve));
const wait = defineTool({
  name: 'wait',
  description: 'Waits',
  input: z.object({}),
  approval: 'never',
  effect: 'read',
  async execute() {
    if (++called === count) onAllCalled();
    await answered;
    return 1;
  },
});
const workers = { queueWaitMs: 600_000 };
const harness = createHarness({ tools: [wait], workers, limits: { timeoutMs: 600_000 } });
await harness.runScript('return 1');
const before = process.memoryUsage.rss();
const runs = Array.from({ length: count }, () => harness.runScript('return await tools.wait({})'));
await allCalled;
const megabytes = (process.memoryUsage.rss() - before) / 1e6 / count;
answer();
const ran = (await Promise.all(runs)).every(({ value }) => value === 1);
console.log(JSON.stringify({ ran, megabytes }));
await harness.close();
