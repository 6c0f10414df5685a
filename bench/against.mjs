// Compares this checkout with another built one: `node bench/against.mjs FOLDER [NAME]`. Both are loaded into this
// process and take turns, so the machine disturbs both equally; processor time is read instead of the clock.
// `npm run bench -- --against REV` builds the revision into a temporary folder and starts this program.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { readCounters } from './counters/counters.mjs';
import { median } from './statistics.mjs';

const ROUNDS = 11;
const CALLS = 100;
const [folder, name = folder] = process.argv.slice(2);
const here = new URL('../', import.meta.url).pathname;
const sides = [
  { name, core: await loadCore(folder) },
  { name: 'now', core: await loadCore(here) },
];

const CALLING = `let sum = 0; for (let i = 0; i < ${CALLS}; i++) sum += (await tools.echo({ i })).i; return sum`;
const SUM = (CALLS * (CALLS - 1)) / 2;
const ROWS = [
  { title: 'script, 100 callers', tools: 1, parts: 1, block: (harness) => crowd(harness, 1_000) },
  { title: 'script, 5 000 tools', tools: 5_000, parts: 1, block: (harness) => crowd(harness, 200) },
  { title: 'sequential call', tools: 1, parts: CALLS, block: (harness) => inTurn(harness, 10) },
];

console.log(
  `| µs of processor time | ${name}: main thread · process | now: main thread · process | now ÷ ${name} |\n|---|---|---|---|`,
);
for (const row of ROWS) console.log(await compare(row));
console.log(`\n| counter | ${name} | now |\n|---|---|---|`);
for (const line of compareCounters()) console.log(line);
process.exit(0);

async function loadCore(at) {
  return import(pathToFileURL(`${at}/packages/core/dist/index.js`).href);
}

/** A ratio is the median over the rounds of the ratio within a round. */
async function compare({ title, tools, parts, block }) {
  const harnesses = sides.map(({ core }) => openHarness(core, tools));
  const rounds = [];
  for (let round = -1; round < ROUNDS; round++) {
    const measured = [];
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0])
      measured[index] = await timed(block, harnesses[index], parts);
    // The first round only warms up.
    if (round >= 0) rounds.push(measured);
  }
  await Promise.all(harnesses.map((harness) => harness.close()));
  const side = (index) =>
    ['main', 'process'].map((part) => median(rounds.map((round) => round[index][part])).toFixed(1));
  const ratio = (part) => median(rounds.map(([then, now]) => now[part] / then[part])).toFixed(3);
  return `| ${title} | ${side(0).join(' · ')} | ${side(1).join(' · ')} | ${ratio('main')} · ${ratio('process')} |`;
}

async function timed(block, harness, parts) {
  const [main, all] = [threadMicroseconds(), process.cpuUsage()];
  const times = (await block(harness)) * parts;
  const { user, system } = process.cpuUsage(all);
  return { main: (threadMicroseconds() - main) / times, process: (user + system) / times };
}

/** Returns the number of scripts. */
async function crowd(harness, count) {
  let left = count;
  const caller = async () => {
    while (left-- > 0) await run(harness, 'return 1+1', 2);
  };
  await Promise.all(Array.from({ length: 100 }, caller));
  return count;
}

async function inTurn(harness, count) {
  for (let index = 0; index < count; index++) await run(harness, CALLING, SUM);
  return count;
}

async function run(harness, source, value) {
  const outcome = await harness.runScript(source);
  if (outcome.value !== value) throw new Error(`a wrong answer was timed: ${JSON.stringify(outcome)}`);
}

function openHarness(core, count) {
  const tool = (toolName) =>
    core.defineTool({
      name: toolName,
      description: 'Returns its input.',
      effect: 'read',
      approval: 'never',
      inputSchema: { type: 'object', properties: { i: { type: 'number' } } },
      execute: async (input) => input,
    });
  const more = Array.from({ length: count - 1 }, (_, index) => tool(`space${index % 20}.tool_${index}`));
  return core.createHarness({ tools: [tool('echo'), ...more], limits: { maxToolCalls: 10_000, queueWaitMs: 60_000 } });
}

function compareCounters() {
  const [then, now] = [readCounters({ folder }), readCounters()];
  return ['counts', 'bytes', 'ratios'].flatMap((kind) =>
    Object.entries(now[kind]).map(([counter, value]) => `| ${counter} | ${then[kind][counter]} | ${value} |`),
  );
}

/** Only Linux reports the processor time of one thread; elsewhere the clock takes its place. */
function threadMicroseconds() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000;
  } catch {
    return performance.now() * 1_000;
  }
}
