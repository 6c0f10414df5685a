import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, defineTool, type Harness, type HarnessOptions } from '@toolscript/core';
import { QuickJsPool } from '@toolscript/core/internal';
import type { Outcome } from '@toolscript/core/protocol';
import { driveRun, returnedValue } from '@toolscript/core/testing';
import { isolatedVm } from '@toolscript/isolated-vm';
import { z } from 'zod';
import { ordinaryScripts } from '../../core/test/corpus/ordinary-scripts.js';
import { makeWorld, worldTools } from '../../core/test/corpus/world.js';
import { isolatedVmPath, whyNoIsolatedVm } from './support/installed.js';

/*
 * One harness on QuickJS and one on isolated-vm run the same script. Everything that a host, a user or a model can see
 * of it must be the same: its end, its value, its output, its logs and its calls.
 */

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  effect: 'read',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});

const guarded = defineTool({
  name: 'guarded',
  description: 'Needs approval',
  effect: 'write',
  approval: 'always',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => ({ done: text }),
});

const broken = defineTool({
  name: 'broken',
  description: 'Fails',
  effect: 'read',
  input: z.object({}),
  execute: () => {
    throw new Error('it broke');
  },
});

const zone = process.env['TZ'];
let engines: readonly Harness[] = [];

beforeAll(() => {
  if (whyNoIsolatedVm !== undefined) return;
  process.env['TZ'] = 'UTC';
  const open = (runtime: HarnessOptions['runtime']) =>
    createHarness({
      tools: [...worldTools(), add, guarded, broken] as never,
      limits: { maxToolCalls: 200 },
      ...(runtime === undefined ? {} : { runtime }),
    });
  engines = [open(undefined), open(isolatedVm({ modulePath: isolatedVmPath! }))];
});

afterAll(async () => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
  await Promise.all(engines.map((harness) => harness.close()));
});

function visible(outcome: Outcome) {
  return {
    status: outcome.status,
    value: outcome.status === 'completed' ? JSON.stringify(outcome.value) : undefined,
    error: outcome.status === 'failed' ? [outcome.error.code, outcome.error.message, outcome.error.line] : undefined,
    output: outcome.output,
    logs: outcome.logs.map(({ level, text }) => [level, text]),
    operations: outcome.operations.map(({ tool, input, status, result, error, line }) => ({
      tool,
      input,
      status,
      result,
      error: error === undefined ? undefined : [error.code, error.message],
      line,
    })),
  };
}

async function onBoth(source: string, language: 'ts' | 'js' = 'ts') {
  const [first, second] = await Promise.all(
    engines.map(async (harness) => {
      const outcome = await harness.runScript(source, {
        language,
        app: makeWorld(),
        context: { workingDirectory: '/w' },
      });
      return visible(outcome);
    }),
  );
  return { quickjs: first!, v8: second! };
}

/** The scripts of the laws that every engine must keep: what a script is for, and every way it can end. */
const LAWS: readonly (readonly [name: string, source: string])[] = [
  ['calls in parallel', 'return await Promise.all([1, 2, 3].map((n) => tools.add({ a: n, b: n })))'],
  ['a race, and its losers', 'return await Promise.race([tools.add({ a: 1, b: 2 }), sleep(5_000)])'],
  ['a failure that is caught', 'try { await tools.broken({}); } catch (e) { return [e.name, e.code, e.message] }'],
  ['a failure that is not caught', 'text("before");\nawait tools.broken({});\nreturn 1'],
  ['results that feed calls', 'const { sum } = await tools.add({ a: 1, b: 2 });\nreturn tools.add({ a: sum, b: sum })'],
  ['nested values, dates, maps', 'return { at: new Date(0), deep: { list: [1, { m: [...new Map([[1, 2]])] }] } }'],
  ['no value', 'await tools.add({ a: 1, b: 2 });'],
  [
    'text, logs and levels',
    'text("a"); console.log("b", { c: [1] }); console.warn("d"); console.error(new Error("e").message)',
  ],
  [
    'types, enums and classes',
    'enum E { A = 2, B }\nclass P<T> { constructor(readonly v: T) {} }\nreturn [E.B, new P(E.A).v]',
  ],
  ['a wrong argument', 'await tools.add({ a: "x", b: 2 } as never)'],
  ['an unknown tool', 'await (tools as any).addd({ a: 1, b: 2 })'],
  ['a syntax error', 'const = 1'],
  ['an error of its own, with its line', 'const f = () => {\n  throw new TypeError("mine");\n};\nf()'],
  ['a value that is not an error', 'throw { code: 7, message: "odd" }'],
  ['too many calls', 'for (let i = 0; i < 500; i++) await tools.add({ a: i, b: 1 })'],
  ['a call that nobody awaits', 'tools.add({ a: 1, b: 2 });\nreturn "first"'],
  ['a computation without an end', 'let n = 0; for (;;) n = (n + 1) % 7'],
  ['an endless wait', 'await new Promise(() => {})'],
  ['code from text', 'try { return eval("1") } catch (e) { return e.name }'],
  [
    'code from a hidden constructor',
    'const name = "const" + "ructor"; try { return (() => {})[name]("return 7")() } catch (e) { return "refused" }',
  ],
  [
    'timers in their order',
    'const l = []; setTimeout(() => l.push(2), 2); setTimeout(() => l.push(1), 1); await sleep(10); return l',
  ],
  [
    'microtasks in their order',
    'const l = []; queueMicrotask(() => l.push("m")); Promise.resolve().then(() => l.push("p")); l.push("s"); await sleep(1); return l',
  ],
  ['a microtask that fails', 'queueMicrotask(() => { throw new Error("x") }); await sleep(1); return 1'],
  [
    'sorting, regular expressions, numbers',
    'return [[3, 1, 2].toSorted(), "a-b".replace(/(?<x>a)/u, "$<x>!"), (0.1 + 0.2).toFixed(3), (1e21).toLocaleString("en")]',
  ],
];

/** V8 leaves the frames of constructors out of a stack, so it names the line of `new`, not that of `super`. */
const OTHER_LINE: readonly string[] = ['error uncaught custom'];

function withoutLine(seen: ReturnType<typeof visible>) {
  return { ...seen, error: seen.error?.slice(0, 2) };
}

describe.skipIf(whyNoIsolatedVm !== undefined)('QuickJS and isolated-vm show the same of', () => {
  it.each(LAWS)('%s', async (_name, source) => {
    const { quickjs, v8 } = await onBoth(source);
    expect(v8).toEqual(quickjs);
  });

  it.each(ordinaryScripts.map((script) => [script.name, script] as const))('%s', async (name, { source, language }) => {
    const { quickjs, v8 } = await onBoth(source, language);
    if (!OTHER_LINE.includes(name)) return expect(v8).toEqual(quickjs);
    expect(v8).not.toEqual(quickjs);
    expect(withoutLine(v8)).toEqual(withoutLine(quickjs));
  });

  it.each(['approve', 'deny'] as const)(
    'a suspended script, and its end after the decision to %s',
    async (decision) => {
      const source = 'text("a"); try { return await tools.guarded({ text: "x" }) } catch (e) { return e.code }';
      const ends = await Promise.all(
        engines.map(async (harness) => {
          const outcome = await harness.runScript(source);
          if (outcome.status !== 'suspended') throw new Error(`the script ended: ${outcome.status}`);
          const decisions = Object.fromEntries(
            outcome.pendingApprovals.map(({ approvalId }) => [approvalId, decision]),
          );
          return [visible(outcome), visible(await harness.resume(outcome.suspension, decisions))];
        }),
      );
      expect(ends[1]).toEqual(ends[0]);
      expect(ends[0]![1]).toMatchObject({ status: 'completed' });
    },
  );

  it('random numbers and the clock of the same job', async () => {
    const job = { seed: [1, 2, 3, 4] as const, clockMs: 1_700_000_000_123 };
    const body = 'return [Math.random(), Math.random(), Date.now(), new Date().toISOString()]';
    const pools = [new QuickJsPool(), isolatedVm({ modulePath: isolatedVmPath! })];
    const values = await Promise.all(
      pools.map(async (pool) => returnedValue(await driveRun(pool, body, { job: job as never }))),
    );
    await Promise.all(pools.map((pool) => pool.close()));
    expect(values[1]).toEqual(values[0]);
    expect(values[0]).toHaveLength(4);
  });

  it('the globals that every supported release of V8 has', async () => {
    const { quickjs, v8 } = await onBoth('return Object.getOwnPropertyNames(globalThis).sort()');
    const names = ({ value }: ReturnType<typeof visible>) => JSON.parse(value!) as string[];
    const missing = names(quickjs).filter((name) => !names(v8).includes(name));
    expect(names(v8).filter((name) => !names(quickjs).includes(name))).toEqual([]);
    expect(missing.filter((name) => !NEWER_GLOBALS.includes(name))).toEqual([]);
  });

  it('nothing by accident: another value is seen, and a script after it sees no trace of it', async () => {
    const source = (value: number) => `return [${value}, Object.keys(globalThis)]`;
    for (const value of [1, 2, 3]) {
      const { quickjs, v8 } = await onBoth(source(value));
      expect(v8).toEqual(quickjs);
      expect(v8).not.toEqual((await onBoth(source(value + 1))).quickjs);
    }
  });
});

/** V8 has them from Node.js 24 on. */
const NEWER_GLOBALS = ['AsyncDisposableStack', 'DisposableStack', 'Float16Array', 'SuppressedError'];
