import { setTimeout as sleep } from 'node:timers/promises';
import { createHarness } from '@toolscript/core';
import { benchTools } from '../contenders/toolscript.mjs';

const idleMs = Number(process.argv[2]);
const harness = createHarness({ tools: benchTools() });
// An empty harness that warms up does not hold the process open by itself.
const open = setTimeout(() => {}, 60_000);
await harness.warm();
const values = await Promise.all(
  Array.from({ length: 8 }, () => harness.runScript('return (await tools.wait({ ms: 5 })).ms')),
);
await sleep(300);
clearTimeout(open);
const timers = process.getActiveResourcesInfo().filter((resource) => /^(Timeout|Immediate)$/u.test(resource)).length;
const before = process.cpuUsage();
const began = performance.now();
await sleep(idleMs);
const { user, system } = process.cpuUsage(before);
const share = (user + system) / 1_000 / (performance.now() - began);
console.log(JSON.stringify({ ran: values.every(({ value }) => value === 5), timers, percent: 100 * share }));
await harness.close();
