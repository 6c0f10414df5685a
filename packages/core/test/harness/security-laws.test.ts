import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import type { ErrorCode, Outcome } from '#core/protocol/index.js';
import { failureOf, valueOf } from './open-harness.js';
import { sampleTools, type SampleTools } from './sample-tools.js';

const LIMIT_MS = 150;
/**
 * The maximum delay between a limit and the end of the script. It is compared with the script's own processor time: on
 * a busy machine, elapsed time does not measure the engine.
 */
const MARGIN_MS = 1_000;

let sample: SampleTools;
let harness: Harness;

beforeAll(async () => {
  sample = sampleTools();
  harness = createHarness({
    tools: sample.tools,
    approvals: 'auto',
    // The laws must hold for scripts that no user reads first.
    typecheck: 'off',
    limits: { computeMs: 20_000 },
  });
  await harness.warm();
});

afterAll(() => harness.close());

/** Runs a script, and then a harmless one that must run normally. */
async function attack(source: string): Promise<Outcome> {
  const outcome = await harness.runScript(source, { limits: { computeMs: LIMIT_MS } });
  expect(valueOf(await harness.runScript('return [({}).hack, [].hack, typeof leaked, 1 + 1]'))).toEqual([
    null,
    null,
    'undefined',
    2,
  ]);
  return outcome;
}

async function expectThrow(source: string, message: RegExp): Promise<void> {
  const error = failureOf(await attack(source));
  expect(error.code, source).toBe('ScriptRuntimeError');
  expect(error.message, source).toMatch(message);
}

async function expectCode(source: string, code: ErrorCode): Promise<void> {
  expect(failureOf(await attack(source)).code, source).toBe(code);
}

async function expectTimeout(source: string): Promise<void> {
  const { status, metadata, ...outcome } = await attack(source);
  expect({ status, code: outcome.error?.code }, source).toEqual({
    status: 'failed',
    code: 'ScriptTimeoutError',
  });
  expect(metadata.computeMs, source).toBeLessThan(LIMIT_MS + MARGIN_MS);
}

describe('a script cannot change the prototype of all objects', () => {
  it.each([
    'Object.prototype.hack = 1',
    '({}).__proto__.hack = 1',
    'Object.defineProperty(Array.prototype, "hack", { value: 1 })',
    'Object.setPrototypeOf(Object.prototype, { hack: 1 })',
    'Array.prototype.push = () => 1',
    'String.prototype.split = null',
    'delete Object.prototype.hasOwnProperty',
    'Reflect.getPrototypeOf(async () => {}).hack = 1',
    'Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())).next = null',
    'JSON.parse = () => 1',
    'JSON = {}',
    'globalThis.Object = null',
  ])('%s', async (source) => {
    await expectThrow(source, /^TypeError: /u);
  });

  it('a swallowed attempt leaves nothing behind in the same script', async () => {
    const source = `
      const parsed = JSON.parse('{"__proto__": {"hack": 1}, "constructor": {"prototype": {"hack": 1}}}');
      try { Object.prototype.hack = 1; } catch {}
      try { Object.assign(Object.prototype, { hack: 1 }); } catch {}
      try { Reflect.set(Object.prototype, 'hack', 1); } catch {}
      const merge = (a, b) => { for (const k in b) typeof b[k] === 'object' && a[k] ? merge(a[k], b[k]) : (a[k] = b[k]); return a; };
      try { merge({}, parsed); } catch {}
      return [({}).hack, [].hack, (() => {}).hack];`;
    expect(valueOf(await attack(source))).toEqual([null, null, null]);
  });
});

describe('a script cannot change tools', () => {
  it.each([
    'tools.echo = null',
    'tools.extra = 1',
    'delete tools.echo',
    'tools = {}',
    'globalThis.tools = {}',
    'Object.defineProperty(tools, "echo", { value: 1 })',
    'Object.setPrototypeOf(tools, { hack: 1 })',
    'tools.echo.hack = 1',
    'Object.assign(tools, { echo: 1 })',
    'catalog.search = null',
    'context = {}',
  ])('%s', async (source) => {
    await expectThrow(source, /^TypeError: /u);
  });

  it('its members are its own names only: no then, no symbols, no prototype', async () => {
    const source =
      'return [typeof tools.then, typeof tools[Symbol.iterator], Object.getPrototypeOf(tools), Object.keys(tools), "constructor" in tools, (await tools) === tools]';
    const names = sample.tools.map(({ name }) => name);
    expect(valueOf(await attack(source))).toEqual(['undefined', 'undefined', null, names, false, true]);
  });
});

describe('require is rejected before anything runs', () => {
  it.each([
    "require('fs')",
    "const fs = (0, require)('fs')",
    "tools.echo({ value: 1 }); require('child_process').exec('id')",
  ])('%s', async (source) => {
    const before = sample.deeds.length;
    await expectCode(source, 'ScriptPolicyError');
    expect(sample.deeds).toHaveLength(before);
  });

  it('and does not exist at run time either', async () => {
    expect(valueOf(await attack('return [typeof require, typeof module, typeof globalThis["req" + "uire"]]'))).toEqual([
      'undefined',
      'undefined',
      'undefined',
    ]);
  });
});

describe('modules cannot be imported', () => {
  it.each([
    "import('fs')",
    "const fs = await import('node:' + 'fs')",
    "import fs from 'fs'; return fs",
    "import 'fs'",
    'return import.meta.url',
    "export * from 'fs'",
    "import fs = require('fs')",
  ])('%s', async (source) => {
    await expectCode(source, 'ScriptPolicyError');
  });
});

describe('an endless loop ends at its limit', () => {
  it.each([
    'while(true){}',
    'for(;;);',
    'try { while(true){} } finally { while(true){} }',
    'try { while(true){} } catch { while(true){} }',
    'const spin = function* () { while (true) yield 1; }; for (const x of spin());',
    'await tools.echo({ value: 1 }); while(true){}',
    'return { get x() { while(true){} } }',
    'return { toJSON() { while(true){} } }',
    'throw { get message() { while(true){} }, toString() { while(true){} } }',
    'await tools.echo({ get value() { while(true){} } })',
    'console.log({ get x() { while(true){} } })',
  ])('%s', expectTimeout);

  it('the failure names the limit', async () => {
    expect(failureOf(await attack('while(true){}')).metadata).toMatchObject({ clock: 'compute', completedTools: 0 });
  });

  it('the wall clock ends a script that only waits', async () => {
    const outcome = await harness.runScript('await new Promise(() => {}); ', { limits: { timeoutMs: 200 } });
    expect(outcome.status).toBe('failed');
    const slept = await harness.runScript('await sleep(60_000)', { limits: { timeoutMs: 200 } });
    expect(failureOf(slept)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'wall' } });
  });
});

describe('a flood of microtasks ends at its limit', () => {
  it.each([
    'const f = () => Promise.resolve().then(f); await f()',
    'const f = async () => { await null; return f(); }; await f()',
    'const f = () => queueMicrotask(f); f(); await new Promise(() => {})',
    'await { then(resolve) { resolve(this); } }',
    'for await (const x of { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1, done: false }) }) });',
    'const f = () => { Promise.resolve().then(f); Promise.resolve().then(f); }; f(); await sleep(100_000)',
  ])('%s', async (source) => {
    const error = failureOf(await attack(source));
    expect(['ScriptTimeoutError', 'ScriptMemoryError'], source).toContain(error.code);
  });
});

describe('a script that exhausts its memory fails with ScriptMemoryError', () => {
  it.each([
    'const a = new Array(1e9); a.fill(0); return a.length',
    'const a = []; for (;;) a.push(new Array(1e5).fill(1))',
    'return new Uint8Array(1e9).length',
    'return new ArrayBuffer(2 ** 30).byteLength',
    'const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })',
    'const a = []; for (let i = 0; ; i++) a.push("x".repeat(1e6) + i)',
    'return Array.from({ length: 1e9 }, () => ({})).length',
    'return "x".repeat(5e8).split("").length',
    'let o = {}; for (;;) o = { o, a: new Array(100).fill(o) }',
    'const p = []; for (;;) p.push(Promise.resolve({}))',
  ])('%s', async (source) => {
    const outcome = await harness.runScript(source, { limits: { computeMs: 10_000, timeoutMs: 20_000, memoryMb: 32 } });
    expect(failureOf(outcome).code, failureOf(outcome).message).toBe('ScriptMemoryError');
    expect(valueOf(await harness.runScript('return 1 + 1'))).toBe(2);
  });

  it('catching the error again and again does not help', async () => {
    const source = 'const keep = []; for (;;) { try { for (;;) keep.push(new Array(1000).fill(keep)); } catch {} }';
    const outcome = await attack(source);
    expect(['ScriptTimeoutError', 'ScriptMemoryError']).toContain(failureOf(outcome).code);
    expect(outcome.metadata.computeMs).toBeLessThan(LIMIT_MS + MARGIN_MS);
  });
});

describe('recursion beyond the stack fails with ScriptStackError', () => {
  it.each([
    'const f = () => f() + 1; return f()',
    'const f = async () => { await f(); }; await f()',
    'class A { get x() { return this.x; } } return new A().x',
    'const o = { toString() { return `${this}`; } }; return `${o}`',
    'const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x',
    'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity).length',
    'const f = () => [1, 2].sort(f); return f()',
    'const f = () => "a".replace(/a/, f); return f()',
    'const f = () => JSON.parse("[1]", f); return f()',
  ])('%s', async (source) => {
    const outcome = await harness.runScript(source, { limits: { computeMs: 5_000 } });
    expect(failureOf(outcome).code, failureOf(outcome).message).toBe('ScriptStackError');
    expect(valueOf(await harness.runScript('return 1 + 1'))).toBe(2);
  });

  it('a script may catch it and continue', async () => {
    const source =
      'const f = (n) => f(n + 1) + 1; try { f(0); } catch (e) { return [e instanceof RangeError, await tools.echo({ value: "on" })]; }';
    expect(valueOf(await attack(source))).toEqual([true, 'on']);
  });

  it.each([
    'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)',
    'let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return structuredClone(a)',
    'return JSON.parse("[".repeat(1e5) + "]".repeat(1e5)).length',
    'return new RegExp("(".repeat(5e4) + ")".repeat(5e4)).test("x")',
    'let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; console.log(a); return a',
    'return "(".repeat(1e5).match(/^(\\((?=(.*)))*$/) === null',
  ])('deep data ends as a classified failure or a value: %s', async (source) => {
    const outcome = await attack(source);
    if (outcome.status === 'failed')
      expect([
        'ScriptStackError',
        'ScriptRuntimeError',
        'SerializationError',
        'ScriptTimeoutError',
        'ScriptMemoryError',
      ]).toContain(outcome.error.code);
    else expect(outcome.status).toBe('completed');
  });
});

describe('code cannot be made from text by eval', () => {
  it.each([
    'eval("1 + 1")',
    '(0, eval)("1")',
    'globalThis.eval("1")',
    'const f = (eval as any)("1")',
    'eval?.("1")',
    'Reflect.apply(eval, null, ["1"])',
    'eval.call(null, "1")',
    'eval`1`',
  ])('%s is rejected before the run', async (source) => {
    await expectCode(source, 'ScriptPolicyError');
  });

  it.each([
    'const g = globalThis; return g["ev" + "al"]("1")',
    'const e = eval; return e("1")',
    'const { ["ev" + "al"]: e } = globalThis; return e("1")',
  ])('it does not exist behind the policy: %s', async (source) => {
    await expectThrow(source, /not a function|not defined/u);
  });

  it('typeof says undefined', async () => {
    expect(valueOf(await attack('return [typeof eval, typeof globalThis.eval, "eval" in globalThis]'))).toEqual([
      'undefined',
      'undefined',
      false,
    ]);
  });
});

describe('code cannot be made from text by the constructors of functions', () => {
  it.each([
    'new Function("return this")()',
    'Function("return 1")()',
    '(() => {}).constructor("return 1")()',
    'const F = (async () => {}).constructor; return new F("return 1")()',
    'Object.getPrototypeOf(function* () {}).constructor("yield 1")',
    'Reflect.construct(Function, ["return 1"])',
    '[].constructor.constructor("return 1")()',
    'Function.prototype.constructor("return 1")()',
    'Function.call(null, "return 1")',
  ])('%s is rejected before the run', async (source) => {
    await expectCode(source, 'ScriptPolicyError');
  });

  it.each([
    'const k = "constr" + "uctor"; return (() => {})[k]("return 1")()',
    'const k = "constr" + "uctor"; return (async () => {})[k]("return 1")()',
    'const k = "constr" + "uctor"; return (function* () {})[k]("yield 1")().next()',
    'const k = "constr" + "uctor"; return (async function* () {})[k]("yield 1")().next()',
    'const k = "constr" + "uctor"; return tools.echo[k]("return 1")()',
    'const k = "constr" + "uctor"; return console.log[k]("return 1")()',
    'const k = "constr" + "uctor"; return Reflect.construct(Array[k], ["return 1"])()',
    'const F = [Function][0]; return F("return 1")()',
    'const { constructor: F } = () => {}; return F("return 1")()',
    'class X extends Function {} return new X("return 1")()',
    'return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(async () => {}), "constr" + "uctor").value("return 1")()',
  ])('past the policy it throws: %s', async (source) => {
    const error = failureOf(await attack(source));
    expect(['ScriptRuntimeError', 'ScriptPolicyError'], source).toContain(error.code);
  });

  it('reading a constructor is ordinary', async () => {
    expect(
      valueOf(
        await attack(
          'return [[].constructor === Array, new TypeError("x").constructor.name, (() => {}).constructor === Function]',
        ),
      ),
    ).toEqual([true, 'TypeError', true]);
  });
});

describe('nothing of the host can be reached', () => {
  it('the globals of Node and of browsers are absent', async () => {
    const names = [
      'process',
      'require',
      'module',
      'global',
      'setImmediate',
      'fetch',
      'XMLHttpRequest',
      'WebSocket',
      'Worker',
      'window',
      'self',
      'document',
      'SharedArrayBuffer',
      'Atomics',
      'WebAssembly',
      'std',
      'os',
      'bjson',
      'print',
      'scriptArgs',
      'gc',
      'navigator',
      'eval',
      'InternalError',
    ];
    const outcome = await attack(
      `return { found: [${names.map((name) => `typeof ${name}`).join(', ')}], on: ${JSON.stringify(names)}.filter((name) => name in globalThis) }`,
    );
    expect(valueOf(outcome)).toEqual({ found: names.map(() => 'undefined'), on: [] });
  });

  it('a missing global that scripts often use has a hint about its replacement', async () => {
    expect(failureOf(await attack('return process.env'))).toMatchObject({
      code: 'ScriptRuntimeError',
      line: 1,
      hint: expect.stringContaining('workingDirectory') as unknown,
    });
    expect(failureOf(await attack('setImmediate(() => {})')).hint).toContain('sleep');
  });

  it('errors and stacks show no path of the host and no function of the bridge', async () => {
    const sources = [
      'throw new Error("x")',
      'await tools.fail({ message: "m" })',
      'await tools.echo(1)',
      'tools.nope()',
      'return { a: /a/ }',
      'JSON.parse("{")',
    ];
    for (const source of sources) {
      const report = JSON.stringify(failureOf(await attack(source)));
      expect(report, source).not.toMatch(
        /file:|node:|\/(?:work|tmp|home|usr|root)\/|node_modules|\.js:|bootstrap|lockdown/u,
      );
    }
    const seen = await attack(
      'try { await tools.fail({ message: "m" }); } catch (e) { return [e.stack, Object.getOwnPropertyNames(e).sort(), typeof Error.prepareStackTrace] }',
    );
    expect(JSON.stringify(valueOf(seen))).not.toMatch(
      /file:|node:|\/(?:work|tmp|home|usr|root)\/|bootstrap|lockdown|evalScript/u,
    );
    expect((valueOf(seen) as unknown[])[2]).toBe('undefined');
  });
});

describe('a script cannot change its context', () => {
  it.each([
    'context.turnId = "x"',
    'context.sandbox.timeoutMs = 1e9',
    'delete context.turnId',
    'context.extra = 1',
    'context.capabilities.tools.push("x")',
    'context.telemetry.emitProgress = null',
    'Object.defineProperty(context, "turnId", { value: 1 })',
  ])('%s', async (source) => {
    await expectThrow(source, /^TypeError: /u);
  });
});

describe('the prototypes of the context are frozen', () => {
  it.each([
    'context.__proto__.hack = 1',
    'context.__proto__ = { hack: 1 }',
    'Object.setPrototypeOf(context, { hack: 1 })',
    'context.sandbox.__proto__.hack = 1',
  ])('%s', async (source) => {
    await expectThrow(source, /^TypeError: /u);
  });

  it('Object.isFrozen says so', async () => {
    expect(
      valueOf(
        await attack(
          'return [context.__proto__, context, context.sandbox, context.capabilities.tools, context.telemetry].map(Object.isFrozen)',
        ),
      ),
    ).toEqual([true, true, true, true, true]);
  });
});

describe('a script cannot change Promise', () => {
  it.each([
    'Promise.constructor = null',
    'Promise.prototype.then = null',
    'Promise.resolve = () => 1',
    'Promise = null',
    'Promise.all = null',
    'Object.defineProperty(Promise, Symbol.species, { value: null })',
    'delete Promise.prototype.finally',
  ])('%s', async (source) => {
    await expectThrow(source, /^TypeError: /u);
  });

  it('a promise with a then of its own fools neither the bridge nor the outcome', async () => {
    const source = `
      const p = tools.echo({ value: 1 });
      p.then = (resolve) => resolve('faked');
      return [await p, await tools.echo({ value: 2 })];`;
    expect(valueOf(await attack(source))).toEqual([1, 2]);
  });
});

describe('a hung script is terminated, without harm to the host and the next script', () => {
  it.each([
    'return new Array(1e8).sort().length',
    'return new Array(1e8).reverse().length',
    'return new Array(1e8).join("x").length',
    'return new Array(2 ** 32 - 1).indexOf(1)',
    'return Array.prototype.includes.call({ length: 2 ** 52 }, 1)',
    'return /^(a+)+$/.test("a".repeat(40) + "b")',
    'return /(?:a|aa|aaa)*$/.exec("a".repeat(5000) + "b")',
    'return "x".repeat(2e6).indexOf("x".repeat(1e6) + "y")',
    'let x = 3n; for (;;) x = x * x',
    'return (2n ** 1_000_000n).toString().length + (3n ** 2_000_000n).toString().length',
    'return JSON.stringify(Array(1e7).fill({ a: [1] })).length',
    'return "ab".repeat(1e6).replaceAll("a", "b".repeat(10)).split("b").map((x) => x.padEnd(50)).join().length',
    'return String.raw({ raw: { length: 2 ** 40 } })',
    'const a = []; a.length = 2 ** 32 - 1; return a.flatMap((x) => x).length',
    'return [...Array(1e6).keys()].sort(() => Math.random() - 0.5).sort((a, b) => { for (;;); }).length',
  ])('%s', async (source) => {
    const outcome = await attack(source);
    expect(outcome.metadata.computeMs, source).toBeLessThan(LIMIT_MS + MARGIN_MS);
    if (outcome.status === 'failed')
      expect(
        ['ScriptTimeoutError', 'ScriptMemoryError', 'ScriptRuntimeError', 'SerializationError'],
        outcome.error.message,
      ).toContain(outcome.error.code);
  });

  it('the host continues while a script hangs', async () => {
    const stop = new AbortController();
    const hung = harness.runScript('while(true){}', { signal: stop.signal });
    await expect.poll(() => harness.stats().sandbox.executing).toBe(1);
    for (let tick = 0; tick < 5; tick += 1) await delay(10);
    expect(harness.stats().sandbox.executing).toBe(1);
    stop.abort();
    expect(failureOf(await hung).code).toBe('ScriptCancelledError');
  });

  it('other scripts are answered while one hangs', async () => {
    const stop = new AbortController();
    const hung = harness.runScript('while(true){}', { signal: stop.signal });
    const others = await Promise.all(
      Array.from({ length: 10 }, (_, value) => harness.runScript(`return await tools.echo({ value: ${value} })`)),
    );
    expect(others.map(valueOf)).toEqual(Array.from({ length: 10 }, (_, value) => value));
    stop.abort();
    expect(failureOf(await hung).code).toBe('ScriptCancelledError');
  });
});

describe('a script sees no state of the script before it', () => {
  it.each([
    'globalThis.leaked = "secret"',
    'var leaked = "secret"; globalThis["leaked"] = leaked',
    'console.leaked = 1; globalThis.leaked = 1',
    'Object.defineProperty(globalThis, "leaked", { value: "secret", configurable: false })',
    'Symbol.for("leaked"); globalThis.leaked = Symbol.for("leaked").description',
    'const never = () => Promise.resolve().then(() => { globalThis.leaked = 1; }); never(); never(); return 1',
  ])('%s', async (source) => {
    await harness.runScript(source);
    const names = (
      valueOf(await harness.runScript('return Object.getOwnPropertyNames(globalThis)')) as string[]
    ).toSorted();
    const pristine = (
      valueOf(await harness.runScript('return Object.getOwnPropertyNames(globalThis)')) as string[]
    ).toSorted();
    expect(names).toEqual(pristine);
    expect(names).not.toContain('leaked');
    expect(valueOf(await harness.runScript('return typeof leaked'))).toBe('undefined');
  });

  it('a late answer does not reach the current script', async () => {
    const first = await harness.runScript(
      'void tools.wait({ ms: 100, value: "late" }); await tools.echo({ value: 0 }); return 1',
    );
    expect(valueOf(first)).toBe(1);
    expect(
      valueOf(await harness.runScript('const own = await tools.wait({ ms: 120, value: "own" }); return own')),
    ).toBe('own');
  });

  it('the random numbers and ids of two scripts differ', async () => {
    const [first, second] = await Promise.all([
      harness.runScript('return Math.random()'),
      harness.runScript('return Math.random()'),
    ]);
    expect(first.scriptId).not.toBe(second.scriptId);
    expect(valueOf(first)).not.toBe(valueOf(second));
  });
});

describe('a call that is not awaited is aborted when the script ends', () => {
  it('the tool’s signal aborts, and the operation is aborted', async () => {
    const { tools, deeds } = sampleTools();
    const own = createHarness({ tools });
    const outcome = await own.runScript('void tools.wait({ ms: 60_000 }); await tools.wait({ ms: 5 }); return "done"');
    await own.close();
    expect(valueOf(outcome)).toBe('done');
    expect(outcome.operations.map(({ status }) => status)).toEqual(['aborted', 'completed']);
    expect(deeds.filter(({ what }) => what === 'aborted')).toHaveLength(1);
  });

  it('even if the script threw', async () => {
    const outcome = await attack('void tools.wait({ ms: 60_000 }); await tools.wait({ ms: 5 }); throw new Error("no")');
    expect(outcome.operations.map(({ status }) => status)).toEqual(['aborted', 'completed']);
  });
});

describe('there are no workers and no shared memory', () => {
  it.each([
    "new Worker('x')",
    'new SharedWorker("x")',
    'new SharedArrayBuffer(8)',
    'Atomics.wait(1)',
    'new WebAssembly.Module(new Uint8Array())',
  ])('%s', async (source) => {
    await expectThrow(source, /^ReferenceError: '?\w+'? is not defined/u);
  });
});

describe('a value that is too large is rejected with its size', () => {
  it('the failure names the size, the limit, the largest keys and the start of the value', async () => {
    const error = failureOf(await attack('return { small: 1, big: "x".repeat(200_000), medium: "y".repeat(1000) }'));
    expect(error).toMatchObject({ code: 'SerializationError', phase: 'finalizing' });
    expect(error.message).toMatch(/\d{6} bytes.*131072/u);
    expect(error.metadata).toMatchObject({
      bytes: expect.any(Number) as unknown,
      largestKeys: [
        expect.stringContaining('big') as unknown,
        expect.stringContaining('medium') as unknown,
        expect.anything(),
      ],
    });
    expect((error.metadata['head'] as string).length).toBeLessThanOrEqual(1024);
  });

  it('bytes are counted, not characters', async () => {
    const limits = { maxReturnBytes: 1000 };
    expect(valueOf(await harness.runScript('return "x".repeat(998)', { limits }))).toHaveLength(998);
    expect(failureOf(await harness.runScript('return "x".repeat(999)', { limits })).code).toBe('SerializationError');
    expect(failureOf(await harness.runScript('return "é".repeat(500)', { limits })).code).toBe('SerializationError');
    expect(valueOf(await harness.runScript('return "é".repeat(499)', { limits }))).toHaveLength(499);
    expect(valueOf(await harness.runScript('return "🎉".repeat(249)', { limits }))).toHaveLength(498);
    expect(failureOf(await harness.runScript('return "🎉".repeat(250)', { limits })).code).toBe('SerializationError');
  });
});

describe('a dry run checks and runs nothing', () => {
  it('the checks are reported, no tool is called, the value is undefined', async () => {
    const before = sample.deeds.length;
    const outcome = await harness.runScript(
      'tools.echo({ value: 1 });\nfor (const a of [1]) await tools.add({ a });\nreturn 1',
      { mode: 'dry-run' },
    );
    expect(outcome).toMatchObject({ status: 'completed', operations: [], metadata: { toolCallsMade: 0 } });
    expect(valueOf(outcome)).toBeUndefined();
    expect(outcome.plan).toMatchObject([
      { tool: 'echo', line: 1, input: { value: 1 }, repeated: false },
      { tool: 'add', line: 2, repeated: true },
    ]);
    expect(outcome.diagnostics).toContainEqual(
      expect.objectContaining({ severity: 'warning', line: 1, code: 'repair-floating-call' }),
    );
    expect(sample.deeds).toHaveLength(before);
  });

  it('a script that the checks reject fails with their code', async () => {
    expect(failureOf(await harness.runScript('return eval("1")', { mode: 'dry-run' })).code).toBe('ScriptPolicyError');
    expect(failureOf(await harness.runScript('return (', { mode: 'dry-run' })).code).toBe('ScriptSyntaxError');
  });
});
