// Counts what one warm script and one call cost in the host's thread, and prints the counts as JSON:
// `node --expose-gc FLAGS bench/counters/count.mjs [FOLDER]`. FOLDER is a built checkout; default: this one.
// Nothing here is a time except `ratios`, which no test asserts. `counters.mjs` starts this program.
import { createHook } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { serialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { median } from '../statistics.mjs';

const [folder = new URL('../../', import.meta.url).pathname] = process.argv.slice(2);
/** A test plants one more Map in each script and sees that the counters find it. */
const isPlanted = process.env.PLANT === 'map';
const made = { maps: 0, sets: 0, timers: 0, messages: 0, promises: 0, parses: 0, stringifies: 0, sent: 0 };

// The constructors and functions are replaced before core is loaded.
countNew('Map', 'maps');
countNew('Set', 'sets');
for (const name of ['setTimeout', 'setInterval', 'setImmediate']) countCalls(globalThis, name, 'timers');
countCalls(JSON, 'parse', 'parses');
countCalls(JSON, 'stringify', 'stringifies');
countCalls(Worker.prototype, 'postMessage', 'messages', (message) => {
  // The first message has shared memory, which cannot be measured.
  if (Array.isArray(message)) made.sent += serialize(message).length;
});
const core = await import(pathToFileURL(`${folder}/packages/core/dist/index.js`).href);

const SCRIPTS = 200;
const CALLS = 200;
const SCRIPT = 'return 1+1';
const CALLING = `let sum = 0; for (let i = 0; i < ${CALLS}; i++) sum += (await tools.echo({ i })).i; return sum`;
let sink = 0;
const SUM = (CALLS * (CALLS - 1)) / 2;

const counts = { ...(await countScripts()), ...(await countCallsOfTools()), ...(await countMessages()) };
delete counts['script sent'];
delete counts['call sent'];
const { 'script bytes allocated': scriptBytesAllocated, ...allocatedBytes } = await bytesOfScripts();
const bytes = { ...allocatedBytes, ...(await bytesInFlight()), ...(await bytesSent()) };
// Two numbers of bytes alternate from process to process for scripts that run at once, so this one is only reported.
const ratios = { ...(await ratiosToLoop()), scriptBytesAllocated };
process.stdout.write(`${JSON.stringify({ counts, bytes, ratios })}\n`);
process.exit(0);

async function countScripts() {
  const harness = core.createHarness({ tools: [echo()], runtime: fakeRuntime() });
  return perPart('script', SCRIPTS, async () => {
    for (let index = 0; index < SCRIPTS; index++) await run(harness, SCRIPT, 2);
  });
}

async function countCallsOfTools() {
  const harness = core.createHarness({
    tools: [echo()],
    runtime: fakeRuntime(CALLS),
    limits: { maxToolCalls: 10_000 },
  });
  return perPart('call', CALLS, () => run(harness, CALLING, SUM));
}

/** Only the real sandbox has messages. Scripts and calls follow one another, so that none share a message. */
async function countMessages() {
  const harness = core.createHarness({ tools: [echo()], limits: { maxToolCalls: 10_000 } });
  const one = await perPart('script', SCRIPTS, async () => {
    for (let index = 0; index < SCRIPTS; index++) await run(harness, SCRIPT, 2);
  });
  const calls = await perPart('call', CALLS, () => run(harness, CALLING, SUM));
  await harness.close();
  return { 'script messages': one['script messages'], 'call messages': calls['call messages'] };
}

/** Sizes of the messages to the sandbox. With 5 000 tools they are the same as with one. */
async function bytesSent() {
  const sent = async (tools, part) => {
    const harness = core.createHarness({ tools, limits: { maxToolCalls: 10_000 } });
    const scripts = await perPart(part, SCRIPTS, async () => {
      for (let index = 0; index < SCRIPTS; index++) await run(harness, SCRIPT, 2);
    });
    await harness.close();
    return { [`${part} bytes sent`]: Math.round(scripts[`${part} sent`]) };
  };
  const many = Array.from({ length: 5_000 }, (_, index) => ({ ...echo(), name: `space${index % 20}.tool_${index}` }));
  return { ...(await sent([echo()], 'script')), ...(await sent(many, 'script of 5000 tools')) };
}

/** The medians over several rounds, because another part of the process may act in one of them. */
async function perPart(part, times, work) {
  for (let round = 0; round < 3; round++) await work();
  const rounds = [];
  for (let round = 0; round < 5; round++) {
    const before = { ...made };
    const hook = createHook({ init: (_id, type) => void (made.promises += type === 'PROMISE' ? 1 : 0) }).enable();
    await work();
    hook.disable();
    rounds.push(Object.keys(made).map((name) => (made[name] - before[name]) / times));
  }
  return Object.fromEntries(
    Object.keys(made).map((name, index) => [`${part} ${name}`, round(median(rounds.map((row) => row[index])))]),
  );
}

function round(value) {
  return Math.round(value * 100) / 100;
}

async function bytesOfScripts() {
  const harness = core.createHarness({ tools: [echo()], runtime: fakeRuntime() });
  const calling = core.createHarness({
    tools: [echo()],
    runtime: fakeRuntime(CALLS),
    limits: { maxToolCalls: 10_000 },
  });
  const scripts = () => Promise.all(Array.from({ length: 100 }, () => run(harness, SCRIPT, 2)));
  return {
    'script bytes allocated': await allocated(scripts, 100),
    'call bytes allocated': await allocated(() => run(calling, CALLING, SUM), CALLS),
  };
}

async function allocated(work, times) {
  for (let index = 0; index < 5; index++) await work();
  const samples = [];
  for (let index = 0; index < 15; index++) {
    gc();
    const before = process.memoryUsage().heapUsed;
    await work();
    samples.push((process.memoryUsage().heapUsed - before) / times);
  }
  return Math.round(median(samples));
}

/** The heap that a started script holds while its runtime has not answered. */
async function bytesInFlight() {
  const runtime = { ...fakeRuntime(), run: (_job, observer) => hold(observer) };
  const harness = core.createHarness({ tools: [echo()], runtime });
  const answers = [];
  const hold = (observer) => {
    observer.onStart();
    answers.push(observer);
    return { settle() {}, cancel() {}, capture() {} };
  };
  // Compiles the script.
  const first = harness.runScript(SCRIPT);
  while (answers.length < 1) await turn();
  answers.pop().onSegment(segment([], { type: 'returned', json: '2', unhandled: [] }));
  await first;
  const samples = [];
  for (let sample = 0; sample < 3; sample++) {
    gc();
    const before = process.memoryUsage().heapUsed;
    const all = answers.length + 2_000;
    for (let index = 0; index < 2_000; index++) void harness.runScript(SCRIPT);
    while (answers.length < all) await turn();
    gc();
    samples.push((process.memoryUsage().heapUsed - before) / 2_000);
  }
  return { 'script bytes in flight': Math.round(median(samples)) };
}

function turn() {
  return new Promise((resolve) => originals.setImmediate(resolve));
}

/** The time of the main thread for one script and one call, as a multiple of a fixed loop in the same process. */
async function ratiosToLoop() {
  const harness = core.createHarness({ tools: [echo()], runtime: fakeRuntime() });
  const calling = core.createHarness({
    tools: [echo()],
    runtime: fakeRuntime(CALLS),
    limits: { maxToolCalls: 10_000 },
  });
  const works = {
    loop: fixedLoop,
    script: () => run(harness, SCRIPT, 2),
    call: () => run(calling, CALLING, SUM),
  };
  const times = { loop: [], script: [], call: [] };
  for (let index = 0; index < 15; index++)
    for (const [name, work] of Object.entries(works)) {
      const before = threadMicroseconds();
      for (let repeat = 0; repeat < (name === 'call' ? 2 : 200); repeat++) await work();
      times[name].push((threadMicroseconds() - before) / (name === 'call' ? 2 * CALLS : 200));
    }
  const loop = median(times.loop);
  return {
    script: round(median(times.script) / loop),
    call: round(median(times.call) / loop),
    loopMicroseconds: round(loop),
  };
}

/** Some microseconds of objects and texts. */
function fixedLoop() {
  for (let index = 0; index < 20; index++)
    sink += originals.parse(originals.stringify({ index, list: [index, 'text'] })).list.length;
}

function threadMicroseconds() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000;
  } catch {
    return performance.now() * 1_000;
  }
}

async function run(harness, source, value) {
  const outcome = await harness.runScript(source);
  if (outcome.value !== value) throw new Error(`a wrong answer was counted: ${JSON.stringify(outcome)}`);
}

function echo() {
  return core.defineTool({
    name: 'echo',
    description: 'Returns its input.',
    effect: 'read',
    approval: 'never',
    inputSchema: { type: 'object', properties: { i: { type: 'number' } } },
    execute: async (input) => input,
  });
}

/** A runtime that answers at once in this thread: first `calls` calls, one after the other, then the value. */
function fakeRuntime(calls = 0) {
  const start = (observer) => {
    let next = 0;
    let sum = 0;
    const step = () => {
      const callIndex = next++;
      if (callIndex < calls)
        return observer.onSegment(
          segment([{ callIndex, name: 'echo', argsJson: `{"i":${callIndex}}`, line: 1, column: 20 }]),
        );
      observer.onSegment(segment([], { type: 'returned', json: String(calls === 0 ? 2 : sum), unhandled: [] }));
    };
    queueMicrotask(() => {
      observer.onStart();
      step();
    });
    return {
      settle(settlements) {
        for (const { json } of settlements) sum += originals.parse(json).i;
        queueMicrotask(step);
      },
      cancel() {},
      capture() {},
    };
  };
  return {
    name: 'fake',
    warm: async () => {},
    close: async () => {},
    stats: () => ({}),
    images: async () => new globalThis.Map(),
    run(_job, observer) {
      if (isPlanted) new globalThis.Map();
      return start(observer);
    },
  };
}

function segment(calls, end) {
  return {
    calls,
    logs: [],
    output: '',
    progress: [],
    dropped: { logs: 0, progress: 0 },
    unobservable: [],
    ...(end === undefined ? {} : { end }),
    computeMs: 0.01,
    memoryBytes: 1_000,
    compilationCacheHit: true,
  };
}

function countNew(name, counter) {
  globalThis[name] = new Proxy(globalThis[name], {
    construct(target, values, newTarget) {
      made[counter]++;
      return Reflect.construct(target, values, newTarget);
    },
  });
}

function countCalls(holder, name, counter, note = () => {}) {
  const original = holder[name];
  (originals ??= {})[name] = original;
  const counted = function (...values) {
    made[counter]++;
    note(...values);
    return Reflect.apply(original, this, values);
  };
  holder[name] = Object.assign(counted, original);
}

// oxlint-disable-next-line no-var -- used before this line, by the functions that replace
var originals;
