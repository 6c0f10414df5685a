// Runs COUNT scripts of mixed kinds through one harness; see scripts/soak.mjs. Prints one JSON line.
import { strictEqual } from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const count = Number(process.argv[2] ?? 20_000);
const CALLERS = 20;
/**
 * The growth during the second half that counts as a leak: of the host's heap, and of the whole process. A short run is
 * still warming up in its second half.
 */
const isLong = count >= 20_000;
const MAX_HEAP_GROWTH = isLong ? 0.05 : 0.1;
const MAX_RSS_GROWTH = isLong ? 0.15 : 0.75;

let unheard = 0;
process.on('unhandledRejection', () => unheard++);

const echo = defineTool({
  name: 'echo',
  description: 'Gives back',
  input: z.looseObject({}),
  approval: 'never',
  effect: 'read',
  execute: (input) => input,
});
const fail = defineTool({
  name: 'fail',
  description: 'Fails',
  input: z.looseObject({}),
  approval: 'never',
  effect: 'read',
  execute: () => Promise.reject(new Error('no')),
});
const slow = defineTool({
  name: 'slow',
  description: 'Takes a moment',
  input: z.looseObject({}),
  approval: 'never',
  effect: 'read',
  execute: (_input, { signal }) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, 5, 1);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(new Error('aborted'));
      });
    }),
});

/** For each kind: the source for a number, and the final status. */
const KINDS = [
  [() => 'return 1 + 1', 'completed'],
  [(n) => `return ${n} + 1`, 'completed'],
  [() => 'return (await Promise.all([1, 2, 3].map((i) => tools.echo({ i })))).length', 'completed'],
  [() => 'const r = await Promise.race([tools.slow({}), tools.echo({})]); return r', 'completed'],
  [() => 'try { await tools.fail({}) } catch (e) { return e.message }', 'completed'],
  [() => 'await tools.fail({})', 'failed'],
  [() => 'tools.slow({}); return 1', 'completed'],
  [() => 'Promise.reject(new Error("lost")); return 1', 'completed'],
  [(n) => `throw new Error("${n % 50}")`, 'failed'],
  [() => 'return (', 'failed'],
  [() => 'const a = []; for (let i = 0; i < 3000; i++) a.push({ i }); return a.length', 'completed'],
  [() => 'for (let i = 0; i < 30; i++) console.log(i); text("x"); return new Map([[1, 2]]).size', 'completed'],
];
/** Expensive scripts, which run from time to time: a limit, a growth, a cancellation. */
const RARE = [
  [() => 'while (true) {}', 'failed', { computeMs: 50 }],
  [() => 'return new Array(1e6).fill(1.5).length', 'completed'],
  [() => 'const a = []; for (;;) a.push("x".repeat(1e6) + a.length)', 'failed'],
];

const harness = createHarness({
  typecheck: 'off',
  tools: [echo, fail, slow],
  limits: { memoryMb: 32, queueWaitMs: 120_000 },
});
let started = 0;
let halfway;

async function caller() {
  while (started < count) {
    const n = started++;
    if (n === Math.floor(count / 2)) halfway = await memory();
    const [source, status, limits = {}] = n % 97 === 0 ? RARE[(n / 97) % RARE.length] : KINDS[n % KINDS.length];
    const controller = n % 101 === 0 ? new AbortController() : undefined;
    const pending = harness.runScript(source(n), {
      limits,
      ...(controller === undefined ? {} : { signal: controller.signal }),
    });
    controller?.abort();
    const outcome = await pending;
    if (controller === undefined) strictEqual(outcome.status, status, JSON.stringify(outcome));
  }
}

async function memory() {
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { heap: process.memoryUsage().heapUsed, rss: process.memoryUsage.rss() };
}

await Promise.all(Array.from({ length: CALLERS }, caller));
const end = await memory();
const stats = harness.stats();
await harness.close();
const growth = { heap: end.heap / halfway.heap - 1, rss: end.rss / halfway.rss - 1 };
console.log(JSON.stringify({ scripts: count, unheard, halfway, end, growth, stats }));
strictEqual(unheard, 0, 'promises were rejected unheard');
if (growth.heap > MAX_HEAP_GROWTH || growth.rss > MAX_RSS_GROWTH) throw new Error('memory grew');

// No handle may keep the process open now. The timer reports a failure, and does not keep it open either.
setTimeout(() => {
  console.error('still open:', process.getActiveResourcesInfo());
  process.exit(1);
}, 5_000).unref();
