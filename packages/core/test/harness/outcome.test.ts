import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, type Harness, type HarnessOptions } from '#core/index.js';
import type { ApprovalRequest, Decision, Operation, StreamEvent } from '#core/protocol/index.js';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools, type SampleTools } from './sample-tools.js';

let sample: SampleTools;
let harness: Harness;

beforeAll(async () => {
  sample = sampleTools();
  harness = createHarness({ tools: sample.tools });
  await harness.warm();
});

afterAll(() => harness.close());

const value = async (source: string) => valueOf(await harness.runScript(source));
const failure = async (source: string) => failureOf(await harness.runScript(source));

describe('a value is plain JSON data', () => {
  it.each([
    ['return 1', 1],
    ['return "ü🎉"', 'ü🎉'],
    ['return null', null],
    ['return false', false],
    ['return undefined', undefined],
    ['const a = 1', undefined],
    ['return', undefined],
    ['return new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['return { at: new Date(Date.UTC(2024, 1, 29)) }', { at: '2024-02-29T00:00:00.000Z' }],
    ['return { at: new Date("nope") }', { at: null }],
    ['return { a: undefined, b: 1 }', { b: 1 }],
    ['return [undefined, 1]', [null, 1]],
    ['return [NaN, Infinity, -Infinity, -0]', [null, null, null, 0]],
    ['return NaN', null],
    ['return { toJSON() { return { as: "said" } } }', { as: 'said' }],
    ['class P { x = 1; #y = 2; get z() { return 3 } } return new P()', { x: 1 }],
    ['return Object.create(null, { a: { value: 1, enumerable: true }, b: { value: 2 } })', { a: 1 }],
    ['return [, 1]', [null, 1]],
    ['return /x/', {}],
    ['return new Error("x")', {}],
    ['return [new Number(1), new String("s"), new Boolean(false)]', [1, 's', false]],
    ['return { [Symbol("s")]: 1, a: 2 }', { a: 2 }],
    ['return new Uint8Array([1, 2])', { 0: 1, 1: 2 }],
    ['const shared = { a: 1 }; return [shared, shared]', [{ a: 1 }, { a: 1 }]],
    ['return new URL("http://h.example/a")', 'http://h.example/a'],
    ['return Promise.resolve({ a: Promise.resolve(1) && 2 })', { a: 2 }],
    ['return await tools.echo({ value: { a: [1, null] } })', { a: [1, null] }],
  ])('%s', async (source, expected) => {
    expect(await value(source)).toEqual(expected);
  });

  it('keys such as __proto__, constructor and then cross as plain data', async () => {
    const outcome = await harness.runScript('return JSON.parse(\'{"__proto__": {"a": 1}, "constructor": 2, "then": 3, "toString": 4}\')');
    const crossed = valueOf(outcome) as object;
    expect(Object.keys(crossed)).toEqual(['__proto__', 'constructor', 'then', 'toString']);
    expect(Object.getOwnPropertyDescriptor(crossed, '__proto__')!.value).toEqual({ a: 1 });
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it.each([
    ['return new Map([[1, 2]])', 'value', 'Map'],
    ['return { a: [1, { b: new Set() }] }', 'value.a[1].b', 'Set'],
    ['return [1n]', 'value[0]', 'BigInt'],
    ['return { s: Symbol("x") }', 'value.s', 'Symbol'],
    ['return { f() {} }', 'value.f', 'function'],
    ['return class {}', 'value', 'function'],
    ['const o = { x: {} }; o.x.y = o; return o', 'value.x.y', 'cycle'],
    ['const a = []; a.push(a); return { a }', 'value.a[0]', 'cycle'],
    ['return { p: tools.echo({ value: 1 }) }', 'value.p', 'Promise'],
    ['return { "odd key": 1n }', 'odd key', 'BigInt'],
  ])('%s is a SerializationError that names the path', async (source, path, kind) => {
    const error = await failure(source);
    expect(error).toMatchObject({ code: 'SerializationError', phase: 'finalizing' });
    expect(error.message).toContain(path);
    expect(error.message.toLowerCase()).toContain(kind.toLowerCase());
  });

  it.each(['return { toJSON() { return 1n } }', 'const o = { toJSON() { return o2 } }; const o2 = { o: 1 }; o2.self = o2; return o', 'return { toJSON() { return new Map([[1, 2]]) } }', 'return { a: { toJSON() { return () => 1 } } }'])('what toJSON gives is held to the same rules: %s', async (source) => {
    expect((await failure(source)).code).toBe('SerializationError');
  });

  it('what a getter or toJSON throws is the script’s own error', async () => {
    expect(await failure('return { get a() { throw new Error("mine") } }')).toMatchObject({ code: 'ScriptRuntimeError', message: 'Error: mine' });
    expect(await failure('return { toJSON() { throw new TypeError("mine") } }')).toMatchObject({ code: 'ScriptRuntimeError', message: 'TypeError: mine' });
  });

  it('a hundred levels cross, a hundred and one do not', async () => {
    const nested = (levels: number) => `let v = 1; for (let i = 0; i < ${levels}; i++) v = { v }; return v`;
    expect(JSON.stringify(await value(nested(100)))).toHaveLength(1 + 100 * 6);
    expect(await failure(nested(101))).toMatchObject({ code: 'SerializationError', message: expect.stringContaining('100') as unknown });
  });
});

describe('every outcome', () => {
  it('has its id, output, logs, operations, diagnostics, plan and metadata, also when it failed', async () => {
    for (const source of ['text("a"); console.log("b", { c: 1 }); await tools.echo({ value: 1 }); return 1', 'text("a"); console.log("b", { c: 1 }); await tools.echo({ value: 1 }); throw new Error("x")']) {
      const outcome = await harness.runScript(source);
      expect(outcome).toMatchObject({
        scriptId: expect.stringMatching(/^scr_/u) as unknown,
        output: 'a',
        logs: [{ level: 'log', text: 'b { c: 1 }', atMs: expect.any(Number) as unknown }],
        operations: [{ callId: expect.stringContaining(outcome.scriptId) as unknown, tool: 'echo', input: { value: 1 }, effect: 'read', status: 'completed', result: 1, line: 1 }],
        diagnostics: [],
        plan: [{ tool: 'echo', line: 1 }],
        metadata: { approvalWaitMs: 0, toolCallsMade: 1, compilationCacheHit: expect.any(Boolean) as unknown, cacheHit: false, runtime: expect.stringContaining('quickjs') as unknown },
      });
      const { durationMs, computeMs, memoryUsedMb } = outcome.metadata;
      expect(durationMs).toBeGreaterThan(0);
      expect(computeMs).toBeGreaterThan(0);
      expect(memoryUsedMb).toBeGreaterThan(0);
    }
  });

  it('tells its operations in call order, each with its status', async () => {
    const own = openHarness({ tools: sample.tools, approvals: 'deny' });
    const source = `
      const calls = [tools.wait({ ms: 30, value: 'slow' }), tools.fail({ message: 'no' }), tools.write({ path: 'p' }), tools.add({ a: 'x' } as any), tools.echo({ value: 'fast' })];
      const settled = await Promise.allSettled(calls);
      const lost = tools.wait({ ms: 60_000 });
      await tools.wait({ ms: 5 });
      return settled.map((one) => one.status === 'fulfilled' ? one.value : one.reason.name);`;
    const outcome = await own.runScript(source);
    expect(valueOf(outcome)).toEqual(['slow', 'ToolExecutionError', 'ApprovalDeniedError', 'ToolValidationError', 'fast']);
    expect(outcome.operations.map(({ tool, status, line }) => [tool, status, line])).toEqual([
      ['wait', 'completed', 2],
      ['fail', 'failed', 2],
      ['write', 'denied', 2],
      ['add', 'failed', 2],
      ['echo', 'completed', 2],
      ['wait', 'aborted', 4],
      ['wait', 'completed', 5],
    ]);
    for (const operation of outcome.operations) expect(operation).toMatchObject({ startedAtMs: expect.any(Number) as unknown, durationMs: expect.any(Number) as unknown });
  });

  it('is plain data', async () => {
    const outcome = await harness.runScript('const { sum } = await tools.add({ a: 1 }); await tools.fail({ message: String(sum) })');
    expect(JSON.parse(JSON.stringify(outcome))).toEqual(outcome);
  });

  it('carries the effective input: validated, defaults applied', async () => {
    const outcome = await harness.runScript('return await tools.add({ a: 4 })');
    expect(valueOf(outcome)).toEqual({ sum: 5 });
    expect(outcome.operations[0]!.input).toEqual({ a: 4, b: 1 });
  });

  it('results are deep-frozen plain values of the script’s own', async () => {
    const source = `
      const sent = { list: [{ x: 1 }] };
      const got = await tools.echo({ value: sent });
      const problems = [];
      for (const change of [() => { got.y = 1; }, () => { got.list.push(1); }, () => { got.list[0].x = 2; }, () => { delete got.list; }]) try { change(); } catch (e) { problems.push(e.name); }
      return [problems, got !== sent, Object.getPrototypeOf(got) === Object.prototype, Array.isArray(got.list)];`;
    expect(await value(source)).toEqual([['TypeError', 'TypeError', 'TypeError', 'TypeError'], true, true, true]);
  });
});

describe('an error', () => {
  it('of the script has its class and message, its place, a frame and a stack in script.ts only', async () => {
    const error = await failure('function inner() {\n  throw new RangeError("out of range");\n}\nconst outer = () => inner();\nouter();');
    expect(error).toMatchObject({ code: 'ScriptRuntimeError', message: 'RangeError: out of range', phase: 'executing', line: 2, column: 13, retryable: true, metadata: {} });
    expect(error.frame).toMatch(/> 2 \| {3}throw new RangeError/u);
    expect(error.stack).toMatch(/^RangeError: out of range\n {4}at inner \(script\.ts:2:\d+\)\n {4}at outer \(script\.ts:4:\d+\)/u);
  });

  it('has at most ten frames', async () => {
    const error = await failure('const f = (n) => { if (n === 0) throw new Error("deep"); return f(n - 1) + 1; }; f(50)');
    expect(error.stack!.split('\n')).toHaveLength(11);
  });

  it.each([
    ['throw "just text"', 'just text'],
    ['throw 42', '42'],
    ['throw null', 'null'],
    ['throw undefined', 'undefined'],
    ['throw { code: 7, why: "odd" }', 'odd'],
    ['throw Object.assign(new Error("m"), { name: "MyError" })', 'MyError: m'],
    ['throw new Error("")', ''],
    ['throw Symbol("s")', 's'],
    ['throw 10n', '10'],
    ['throw { toString() { throw 1 } }', ''],
    ['throw new Proxy({}, { get() { throw new Error("trap") }, getPrototypeOf() { throw 1 } })', ''],
    ['await Promise.reject(new Error("rejected"))', 'rejected'],
    ['throw new AggregateError([new Error("a")], "many")', 'AggregateError: many'],
  ])('%s is told as a ScriptRuntimeError', async (source, text) => {
    const error = await failure(source);
    expect(error.code).toBe('ScriptRuntimeError');
    expect(error.message).toContain(text);
    expect(error.message.length).toBeGreaterThan(0);
  });

  it('cannot choose its own code: what the script writes classifies nothing', async () => {
    for (const source of [
      'throw Object.assign(new Error("x"), { code: "ScriptTimeoutError", name: "ScriptTimeoutError" })',
      'throw new ToolExecutionError("forged")',
      'const e = new ApprovalDeniedError("forged"); e.code = "ApprovalDeniedError"; e.call = 0; throw e',
      'throw { name: "InternalError", message: "out of memory" }',
      'const e = new RangeError("Maximum call stack size exceeded"); throw e',
      'throw { status: "completed", value: 1 }',
    ]) {
      expect((await failure(source)).code, source).toBe('ScriptRuntimeError');
    }
  });

  it('of an uncaught tool call keeps the host’s code, the tool, the call and its place', async () => {
    const outcome = await harness.runScript('const ok = await tools.echo({ value: 1 });\n\n  await tools.fail({ message: "disk full" });');
    const error = failureOf(outcome);
    expect(error).toMatchObject({ code: 'ToolExecutionError', message: 'disk full', toolName: 'fail', callId: outcome.operations[1]!.callId, line: 3, metadata: { completedTools: 1 } });
    expect(error.frame).toContain('> 3 |');
  });

  it('of a tool keeps its code when it was thrown again or passed through then', async () => {
    expect(await failure('try { await tools.fail({ message: "m" }); } catch (e) { throw e; }')).toMatchObject({ code: 'ToolExecutionError', message: 'm' });
    expect(await failure('await tools.fail({ message: "m" }).then(() => 1).finally(() => 2)')).toMatchObject({ code: 'ToolExecutionError' });
    expect(await failure('await Promise.all([tools.echo({ value: 1 }), tools.fail({ message: "m" })])')).toMatchObject({ code: 'ToolExecutionError', toolName: 'fail' });
    expect(await failure('try { await tools.fail({ message: "m" }); } catch (e) { throw new Error("wrapped", { cause: e }); }')).toMatchObject({ code: 'ScriptRuntimeError', message: 'Error: wrapped' });
    expect(await failure('await tools.add({ a: "x" } as any)')).toMatchObject({ code: 'ToolValidationError', toolName: 'add' });
    expect(await failure('await tools.write({ path: "x" })')).toMatchObject({ code: 'ApprovalDeniedError', toolName: 'write', retryable: false });
    expect(await failure('return tools.nothere({})')).toMatchObject({ code: 'ToolNotFoundError', line: 1 });
  });

  it('data that a tool chose to give reaches the script, nothing else does', async () => {
    const { ToolCallError } = await import('#core/protocol/index.js');
    const odd = defineTool({
      name: 'odd',
      description: 'x',
      effect: 'read',
      input: z.object({ how: z.string() }),
      execute: ({ how }) => {
        if (how === 'data') throw new ToolCallError('ToolExecutionError', 'with data', { left: 3 });
        throw Object.assign(new Error('plain', { cause: new Error('secret cause') }), { secret: 'token', path: '/host/path' });
      },
    });
    const own = openHarness({ tools: [odd] });
    const source = 'const seen = []; for (const how of ["data", "plain"]) try { await tools.odd({ how }); } catch (e) { seen.push([e.message, e.data ?? null, e.cause ?? null, e.secret ?? null, Object.keys(e)]); } return seen';
    expect(valueOf(await own.runScript(source))).toEqual([
      ['with data', { left: 3 }, null, null, ['data']],
      ['plain', null, null, null, []],
    ]);
  });

  it.each([
    ['a fence around it', '```ts\nconst a = 1;\nnull.x;\n```', 3, 1],
    ['a function around it', 'async function main() {\n  const a = 1;\n  null.x;\n}\nmain();', 3, 3],
    ['an arrow around it', 'async () => {\n  const a = 1;\n  null.x;\n}', 3, 3],
    ['export default', 'export default async function run() {\n  null.x;\n}', 2, 3],
    ['entities', 'const a = 1;\nif (a &lt; 2 &amp;&amp; a &gt; 0) null.x;', 2, 35],
    ['a byte order mark', '\ufeffconst a = 1;\nnull.x;', 2, 1],
    ['Windows line ends', 'const a = 1;\r\n\r\nnull.x;', 3, 1],
    ['types taken out before it', 'interface A { b: string }\ntype C = A | null;\nconst a: C = null as C; (a as any)!.b;', 3, 26],
    ['an enum before it', 'enum E {\n  A,\n  B,\n}\nnamespace N { export const x = 1 }\n  null.x;', 6, 3],
    ['wide characters before it', 'const s = "🎉é"; /* 日本 */ null.x;', 1, 27],
  ])('has the line and column of the model’s own text after a repair: %s', async (_, source, line, column) => {
    const error = await failure(source);
    expect(error.code, error.message).toBe('ScriptRuntimeError');
    expect([error.line, error.column]).toEqual([line, column]);
    expect(error.frame).toContain(`> ${line} |`);
  });

  it.each([
    ['return x +;', 1, 11],
    ['const a = 1;\nconst a = 2;', 2, 7],
    ['if (true) {\n  return 1;', 2, undefined],
    ['```ts\nconst x = ;\n```', 2, 11],
    ['return "unclosed;\n', 1, 8],
    ['await = 5', 1, undefined],
    ['let x: = 5', 1, 8],
  ])('of the syntax has its place: %j', async (source, line, column) => {
    const error = await failure(source);
    expect(error).toMatchObject({ code: 'ScriptSyntaxError', phase: 'parsing', line });
    if (column !== undefined) expect(Math.abs(error.column! - column)).toBeLessThanOrEqual(1);
  });

  it.each([
    ['an object', 'const r = await tools.echo({ value: null });\n\nconst { a } = r;', 3],
    ['an array', 'const r = await tools.echo({ value: null });\n\nconst [a] = r;', 3],
    ['a parameter', 'const f = ({ a }) => a;\n\nf(null);', 1],
    ['the rest of it', 'console.log(1);\n\nconst { a, ...rest } = undefined;', 3],
    ['a loop over it', 'const r = await tools.echo({ value: 5 });\n\nfor (const x of r) text(x);', 3],
  ])('of taking apart what is not there has its line: %s', async (_, source, line) => {
    expect(await failure(source)).toMatchObject({ code: 'ScriptRuntimeError', line });
  });

  it('of a rejection that nobody handled is reported as a warning', async () => {
    const outcome = await harness.runScript('Promise.reject(new Error("lost"));\nawait tools.echo({ value: 1 });\nreturn 1');
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.diagnostics).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'unhandled-rejection', line: 1, message: expect.stringContaining('lost') as unknown }));
    const tool = await harness.runScript('const p = tools.fail({ message: "nobody looks" });\nawait tools.wait({ ms: 10 });\nreturn 1');
    expect(tool.diagnostics).toContainEqual(expect.objectContaining({ code: 'unhandled-rejection' }));
  });

  it('a script that waits for what never settles is told so at once', async () => {
    const error = await failure('await new Promise(() => {}); return 1');
    expect(error.code).toBe('ScriptRuntimeError');
    expect(error.message).toMatch(/nothing will settle|never/u);
  });
});

describe('each limit has its code', () => {
  it.each<[string, string, object]>([
    ['ScriptTimeoutError', 'while (true) {}', { computeMs: 150 }],
    ['ScriptTimeoutError', 'await tools.wait({ ms: 60_000 })', { timeoutMs: 150 }],
    ['ScriptTimeoutError', 'await sleep(60_000)', { timeoutMs: 150 }],
    ['ScriptMemoryError', 'const a = []; for (;;) a.push(new Array(1000).fill(0))', { memoryMb: 8 }],
    ['ScriptStackError', 'const f = () => f() + 1; f()', { maxStackBytes: 65_536 }],
    ['ScriptTooLargeError', `return ${'1 + '.repeat(50)} 1`, { maxSourceBytes: 100 }],
    ['SerializationError', 'return "x".repeat(200)', { maxReturnBytes: 100 }],
    ['ToolBudgetExceededError', 'await tools.echo({ value: 1 }); await tools.echo({ value: 2 })', { maxToolCalls: 1 }],
    ['ToolValidationError', 'await tools.echo({ value: "x".repeat(2000) })', { maxToolInputBytes: 1000 }],
    ['ToolExecutionError', 'await tools.wait({ ms: 1, value: "x".repeat(2000) })', { maxToolResultBytes: 1000 }],
  ])('%s: %s', async (code, source, limits) => {
    expect(failureOf(await harness.runScript(source, { limits })).code).toBe(code);
  });

  it('a source of exactly the limit runs; the limit counts bytes', async () => {
    const limits = { maxSourceBytes: 20 };
    expect(valueOf(await harness.runScript('return "123456789ab"', { limits }))).toBe('123456789ab');
    expect(failureOf(await harness.runScript('return "123456789abc"', { limits })).code).toBe('ScriptTooLargeError');
    expect(failureOf(await harness.runScript('return "ééééééé"', { limits })).code).toBe('ScriptTooLargeError');
    expect(failureOf(await harness.runScript(`return "${'x'.repeat(70_000)}"`, { limits: { maxSourceBytes: 65_536 } })).code).toBe('ScriptTooLargeError');
  });

  it('a result that is too large to carry: the effect happened, the operation is completed and says so', async () => {
    const outcome = await harness.runScript('try { await tools.wait({ ms: 1, value: "x".repeat(2000) }); } catch (e) { return e.message; }', { limits: { maxToolResultBytes: 1000 } });
    expect(valueOf(outcome)).toMatch(/2002 bytes/u);
    expect(outcome.operations).toMatchObject([{ status: 'completed', resultOmitted: true }]);
    expect(outcome.operations[0]).not.toHaveProperty('result');
  });

  it('at most so many calls run at once, the others wait in order', async () => {
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    const busy = defineTool({
      name: 'busy',
      description: 'x',
      effect: 'read',
      input: z.object({ n: z.number() }),
      async execute({ n }) {
        order.push(n);
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside--;
      },
    });
    const own = openHarness({ tools: [busy], limits: { maxConcurrentToolCalls: 3, maxToolCalls: 20 } });
    await own.runScript('await Promise.all(Array.from({ length: 12 }, (_, n) => tools.busy({ n })))');
    expect(most).toBe(3);
    expect(order).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  it('console lines beyond the limits are dropped, counted, and said once', async () => {
    const outcome = await harness.runScript('for (let i = 0; i < 500; i++) console.log("line " + i); return 1', { limits: { logRatePerSec: 1000, maxLogEvents: 50 } });
    expect(outcome.logs).toHaveLength(51);
    expect(outcome.logs.at(-1)).toMatchObject({ level: 'warn', text: expect.stringContaining('450') as unknown });
    const rated = await harness.runScript('for (let i = 0; i < 100; i++) console.log("line " + i); return 1');
    expect(rated.logs.length).toBeGreaterThanOrEqual(21);
    expect(rated.logs.length).toBeLessThan(40);
  });

  it('every console level is told apart', async () => {
    const outcome = await harness.runScript('for (const level of ["log", "info", "warn", "error", "debug"]) console[level](level, 1, { a: [new Map([[1, 2]])] }); ');
    expect(outcome.logs.map(({ level }) => level)).toEqual(['log', 'info', 'warn', 'error', 'debug']);
    expect(outcome.logs[0]!.text).toBe('log 1 { a: [Map {1 => 2}] }');
  });
});

describe('calls that nobody awaits', () => {
  it('a call with effects that does not stop fails the script with DetachedPromiseError', async () => {
    const { tools, release } = sampleTools();
    onTestFinished(release);
    const own = openHarness({ tools });
    const outcome = await own.runScript('const lost = tools.hold();\nawait tools.echo({ value: 1 });\nreturn 1');
    expect(failureOf(outcome)).toMatchObject({ code: 'DetachedPromiseError', phase: 'finalizing', toolName: 'hold', line: 1 });
    expect(outcome.operations.map(({ status }) => status)).toEqual(['unknown', 'completed']);
  });

  it('one that stops when it is aborted fails nothing', async () => {
    const outcome = await harness.runScript('const lost = tools.send({ ms: 60_000 });\nawait tools.wait({ ms: 5 });\nreturn 1');
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations[0]).toMatchObject({ tool: 'send', status: 'aborted' });
  });

  it('with allowDetachedPromises they are waited for', async () => {
    const outcome = await harness.runScript('tools.send({ ms: 40 });\nconst other = tools.wait({ ms: 20, value: 2 });\nawait tools.echo({ value: 1 });\nreturn 1', { limits: { allowDetachedPromises: true } });
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });

  it('with allowDetachedPromises, also calls of the very last moment', async () => {
    const outcome = await harness.runScript('tools.send({ ms: 10 }); return 1', { limits: { allowDetachedPromises: true } });
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations).toMatchObject([{ tool: 'send', status: 'completed' }]);
  });

  it('a floating call is warned of before the run', async () => {
    const outcome = await harness.runScript('await tools.echo({ value: 0 });\ntools.echo({ value: 1 });\nreturn 1');
    expect(outcome.diagnostics).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'floating-promise', line: 2 }));
  });
});

describe('approvals', () => {
  const run = (approvals: HarnessOptions['approvals'], source: string, extra: Partial<HarnessOptions> = {}) => {
    const made = sampleTools();
    const own = openHarness({ tools: made.tools, ...extra, ...(approvals === undefined ? {} : { approvals }) });
    return { ...made, own, outcome: own.runScript(source) };
  };
  const names = 'const seen = []; for (const path of PATHS) try { seen.push((await tools.write({ path })).path); } catch (e) { seen.push(e.name); } return seen';
  const attempt = (...paths: string[]) => names.replace('PATHS', JSON.stringify(paths));

  it('auto lets all pass, deny refuses all, and reads are asked about by neither', async () => {
    expect(valueOf(await run('auto', attempt('a', 'b')).outcome)).toEqual(['a', 'b']);
    expect(valueOf(await run('deny', attempt('a', 'b')).outcome)).toEqual(['ApprovalDeniedError', 'ApprovalDeniedError']);
    expect(valueOf(await run('deny', 'return await tools.echo({ value: 1 })').outcome)).toBe(1);
  });

  it('left out, a call that needs one is denied with a reason', async () => {
    const error = failureOf(await run(undefined, 'await tools.write({ path: "x" })').outcome);
    expect(error).toMatchObject({ code: 'ApprovalDeniedError', message: expect.stringContaining('no approvals are configured') as unknown });
  });

  it('rules decide by tool, argument, effect and permission; the first that matches holds', async () => {
    const rules = [
      { tool: 'write', input: { path: 'secret*' }, action: 'deny' },
      { tool: 'wri*', permission: 'file:src/*', action: 'approve' },
      { effect: 'write', input: { path: 'docs/*' }, action: 'approve' },
    ] as const;
    expect(valueOf(await run(rules, attempt('src/a', 'secret.txt', 'docs/b', 'other')).outcome)).toEqual(['src/a', 'ApprovalDeniedError', 'docs/b', 'ApprovalDeniedError']);
  });

  it('rules may send a call to a person', async () => {
    const asked: string[] = [];
    const approvals = { rules: [{ tool: 'write', input: { path: 'auto*' }, action: 'approve' }, { tool: 'write', action: 'ask' }], ask: ({ inputJson }: ApprovalRequest): Decision => (asked.push(inputJson), 'approve') } as const;
    expect(valueOf(await run(approvals, attempt('auto1', 'x')).outcome)).toEqual(['auto1', 'x']);
    expect(asked).toEqual(['{"path":"x","content":""}']);
  });

  it('a run may bring its own approvals', async () => {
    const { own } = run('deny', 'return 1');
    expect(valueOf(await own.runScript(attempt('a'), { approvals: 'auto' }))).toEqual(['a']);
    expect(valueOf(await own.runScript(attempt('a')))).toEqual(['ApprovalDeniedError']);
  });

  it('the request holds the exact text that will run, its place, the plan and a safe rendering', async () => {
    const requests: ApprovalRequest[] = [];
    const { outcome, deeds } = run((request) => (requests.push(request), 'approve'), 'const path = "a\\u202eb";\nawait tools.write({ path, content: "c", approvalContext: "why" });');
    const { scriptId } = await outcome;
    expect(requests).toMatchObject([{ scriptId, tool: 'write', effect: 'write', line: 2, snippet: 'await tools.write({ path, content: "c", approvalContext: "why" });', context: 'why', input: { path: 'a\u202eb', content: 'c', approvalContext: 'why' }, plan: [{ tool: 'write', line: 2 }] }]);
    expect(JSON.parse(requests[0]!.inputJson)).toEqual(requests[0]!.input);
    expect(requests[0]!.rendered).not.toContain('\u202e');
    expect(deeds[0]!.input).toEqual(requests[0]!.input);
    expect((await outcome).operations[0]!.input).toEqual(requests[0]!.input);
  });

  it('the script may change its object after the call: what was approved runs', async () => {
    const { outcome, deeds } = run(() => new Promise((resolve) => setTimeout(() => resolve('approve'), 20)), 'const args = { path: "safe" }; const p = tools.write(args); args.path = "evil"; await p;');
    await outcome;
    expect(deeds[0]!.input).toMatchObject({ path: 'safe' });
  });

  it('a person may edit the arguments; what was put in place is validated and runs', async () => {
    const edit = (input: unknown) => () => ({ decision: 'approve', input }) as const;
    const edited = run(edit({ path: 'edited' }), 'return await tools.write({ path: "x", content: "abc" })');
    expect(valueOf(await edited.outcome)).toEqual({ path: 'edited', bytes: 0 });
    expect((await edited.outcome).operations[0]!.input).toEqual({ path: 'edited', content: '' });
    const wrong = run(edit({ path: 5 }), 'return await tools.write({ path: "x" })');
    expect(failureOf(await wrong.outcome)).toMatchObject({ code: 'ApprovalDeniedError' });
    expect(wrong.deeds).toEqual([]);
  });

  it('remember: script answers every further call of that tool in this script, and in no other', async () => {
    let asked = 0;
    const { own, outcome } = run(() => (asked++, { decision: 'approve', remember: 'script' }), attempt('a', 'b', 'c'));
    expect(valueOf(await outcome)).toEqual(['a', 'b', 'c']);
    expect(asked).toBe(1);
    expect(valueOf(await own.runScript(attempt('d')))).toEqual(['d']);
    expect(asked).toBe(2);
  });

  it('a callback that throws, or answers something else, is a denial', async () => {
    for (const approvals of [
      () => {
        throw new Error('broken');
      },
      async () => Promise.reject(new Error('broken')),
      () => 'maybe',
      () => undefined,
      () => ({ decision: 'approve', remember: 'forever' }),
    ]) {
      const { outcome, deeds } = run(approvals as never, attempt('a'));
      expect(valueOf(await outcome)).toEqual(['ApprovalDeniedError']);
      expect(deeds).toEqual([]);
    }
  });

  it('nobody decides in time: an ApprovalTimeoutError that the script can catch', async () => {
    const { outcome, deeds } = run(() => new Promise(() => {}), 'try { await tools.write({ path: "x" }); } catch (e) { return [e instanceof ApprovalTimeoutError, e.name]; }', { limits: { approvalTimeoutMs: 50 } });
    expect(valueOf(await outcome)).toEqual([true, 'ApprovalTimeoutError']);
    expect(deeds).toEqual([]);
    const uncaught = run(() => new Promise(() => {}), 'await tools.write({ path: "x" })', { limits: { approvalTimeoutMs: 50 } });
    expect(failureOf(await uncaught.outcome)).toMatchObject({ code: 'ApprovalTimeoutError', retryable: false });
    expect((await uncaught.outcome).operations).toMatchObject([{ status: 'denied' }]);
  });

  it('the wall clock stands still while approvals are all that is waited for', async () => {
    const late = () => new Promise<Decision>((resolve) => setTimeout(() => resolve('approve'), 700));
    const { outcome } = run(late, 'await tools.write({ path: "a" }); await tools.echo({ value: 1 }); return "done"', { limits: { timeoutMs: 400 } });
    expect(valueOf(await outcome)).toBe('done');
    expect((await outcome).metadata.approvalWaitMs).toBeGreaterThanOrEqual(600);
  });

  it('the wall clock runs while a tool runs beside the approval', async () => {
    const { outcome } = run(() => new Promise(() => {}), 'await Promise.all([tools.write({ path: "a" }), tools.wait({ ms: 60_000 })])', { limits: { timeoutMs: 300 } });
    expect(failureOf(await outcome)).toMatchObject({ code: 'ScriptTimeoutError' });
    expect((await outcome).operations.map(({ status }) => status)).toEqual(['not_started', 'aborted']);
  });

  it('a call that waits for approval holds no place', async () => {
    const approve: (() => void)[] = [];
    const waiting = () => new Promise<Decision>((resolve) => approve.push(() => resolve('approve')));
    const { outcome, own } = run(waiting, 'const writes = [1, 2, 3].map((n) => tools.write({ path: "p" + n })); const e = await tools.echo({ value: "passed" }); context.emitProgress("echoed"); return [e, (await Promise.all(writes)).length]', { limits: { maxConcurrentToolCalls: 1 }, onEvent: ({ payload }) => void (payload.type === 'script_progress' && approve.forEach((go) => go())) });
    expect(valueOf(await outcome)).toEqual(['passed', 3]);
    expect(own.stats().sandbox.running).toBe(0);
  });

  it('a cancellation while it is waited for ends the script; a later answer runs nothing', async () => {
    const { tools, deeds } = sampleTools();
    const stop = new AbortController();
    let answer: (decision: Decision) => void = () => {};
    const own = openHarness({
      tools,
      approvals: () => {
        setTimeout(() => stop.abort(), 10);
        return new Promise((resolve) => (answer = resolve));
      },
    });
    const outcome = await own.runScript('await tools.write({ path: "x" })', { signal: stop.signal });
    answer('approve');
    await own.runScript('await tools.wait({ ms: 10 })');
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations).toMatchObject([{ tool: 'write', status: 'not_started' }]);
    expect(deeds.filter(({ tool }) => tool === 'write')).toEqual([]);
  });

  it('is told as events: requested, then resolved with who decided', async () => {
    const events: StreamEvent[] = [];
    const { own, outcome } = run(() => ({ decision: 'deny', note: 'too risky' }), 'return 1', { onEvent: (event) => void events.push(event) });
    await outcome;
    await own.runScript('await tools.write({ path: "x" }).catch(() => {})');
    const told = events.map(({ payload }) => payload).filter(({ type }) => type.startsWith('approval_'));
    expect(told).toMatchObject([
      { type: 'approval_requested', approval: { tool: 'write', input_json: '{"path":"x","content":""}', line: 1 } },
      { type: 'approval_resolved', decision: 'deny', by: 'person', note: 'too risky' },
    ]);
    expect((told[1] as { approval_id: string }).approval_id).toBe((told[0] as { approval: { approval_id: string } }).approval.approval_id);
  });

  it('a tool may say for each call whether it needs one', async () => {
    const picky = defineTool({ name: 'picky', description: 'x', effect: 'external', approval: ({ big }: { big: boolean }) => big, input: z.object({ big: z.boolean() }), execute: ({ big }) => big });
    const own = openHarness({ tools: [picky], approvals: 'deny' });
    expect(valueOf(await own.runScript('return [await tools.picky({ big: false }), await tools.picky({ big: true }).catch((e) => e.name)]'))).toEqual([false, 'ApprovalDeniedError']);
  });
});

describe('callTool', () => {
  it('goes through the same checks and gives one operation', async () => {
    const operation = await harness.callTool('add', { a: 2 });
    expect(operation).toMatchObject({ tool: 'add', input: { a: 2, b: 1 }, effect: 'read', status: 'completed', result: { sum: 3 }, callId: expect.any(String) as unknown });
    expect(operation.line).toBeUndefined();
  });

  it.each<[string, unknown, Partial<Operation>]>([
    ['add', { a: 'x' }, { status: 'failed', error: { code: 'ToolValidationError', message: expect.stringContaining('args.a') as never } }],
    ['add', { a: 1, zzz: 1 }, { status: 'failed', error: { code: 'ToolValidationError', message: expect.stringContaining('zzz') as never } }],
    ['ad', { a: 1 }, { status: 'failed', error: { code: 'ToolNotFoundError', message: expect.stringContaining('add') as never } }],
    ['fail', { message: 'm' }, { status: 'failed', error: { code: 'ToolExecutionError', message: 'm' } }],
    ['write', { path: 'x' }, { status: 'denied', error: { code: 'ApprovalDeniedError', message: expect.any(String) as never } }],
    ['echo', { value: 1n }, { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } }],
    ['echo', undefined, { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } }],
    ['echo', 'text', { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } }],
  ])('%s(%o) is told, never thrown', async (name, input, expected) => {
    expect(await harness.callTool(name, input)).toMatchObject(expected);
  });

  it('asks for approval as a script does', async () => {
    const operation = await harness.callTool('write', { path: 'x', content: 'ab' }, { approvals: ({ scriptId, inputJson }) => (scriptId === undefined && inputJson === '{"path":"x","content":"ab"}' ? 'approve' : 'deny') });
    expect(operation).toMatchObject({ status: 'completed', result: { path: 'x', bytes: 2 } });
  });

  it('is aborted by its signal, before and while it runs', async () => {
    expect(await harness.callTool('wait', { ms: 60_000 }, { signal: AbortSignal.abort() })).toMatchObject({ status: expect.stringMatching(/not_started|aborted/u) as never });
    const stop = new AbortController();
    const pending = harness.callTool('wait', { ms: 60_000 }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    expect(await pending).toMatchObject({ status: 'aborted' });
  });

  it('is told as events of a run of its own', async () => {
    const events: StreamEvent[] = [];
    await harness.callTool('add', { a: 1 }, { onEvent: (event) => void events.push(event) });
    expect(events.map(({ payload }) => payload.type)).toEqual(['tool_call_start', 'tool_call_done']);
    expect(events.map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it('carries app and principal, and an idempotency key', async () => {
    const seen: unknown[] = [];
    const spy = defineTool({ name: 'spy', description: 'x', effect: 'read', execute: (_, { app, principal, scriptId, idempotencyKey }) => void seen.push({ app, principal, scriptId, key: typeof idempotencyKey }) });
    const own = openHarness({ tools: [spy] });
    await own.callTool('spy', {}, { app: { db: 1 }, principal: 'ann' });
    expect(seen).toEqual([{ app: { db: 1 }, principal: 'ann', scriptId: undefined, key: 'string' }]);
  });

  it('does not reach a tool that is not exposed', async () => {
    const own = openHarness({ tools: sample.tools, expose: { tools: ['echo'] } });
    expect(await own.callTool('add', { a: 1 })).toMatchObject({ status: 'failed', error: { code: 'ToolNotFoundError' } });
    expect(valueOf(await own.runScript('return Object.keys(tools)'))).toEqual(['echo']);
    expect(failureOf(await own.runScript('return await tools.add({ a: 1 })')).code).toBe('ToolNotFoundError');
  });
});

describe('asTool', () => {
  it('is run_script: a name, a description, a schema and a function that answers with text', async () => {
    const tool = harness.asTool();
    expect(tool).toMatchObject({ name: 'run_script', description: expect.stringContaining('tools.') as unknown, inputSchema: { type: 'object', required: ['code'] } });
    const said = await tool.execute({ code: 'text("hello"); return { sum: (await tools.add({ a: 1, b: 2 })).sum }' });
    expect(said).toContain('"sum":3'.replace(':', said.includes('"sum": 3') ? ': ' : ':'));
    expect(said).toContain('hello');
  });

  it('tells of a failure: the error, a frame and the operations', async () => {
    const said = await harness.asTool().execute({ code: 'await tools.echo({ value: 1 });\nawait tools.fail({ message: "disk full" });' });
    expect(said).toContain('ToolExecutionError');
    expect(said).toContain('disk full');
    expect(said).toContain('> 2 |');
    expect(said).toMatch(/echo/u);
  });

  it.each([{}, { code: 5 }, null, undefined, { code: '' }])('wrong arguments %o are an answer, not an exception', async (input) => {
    expect(await harness.asTool().execute(input as never)).toEqual(expect.any(String));
  });

  it('ends with the signal of the agent library', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    expect(await harness.asTool().execute({ code: 'await sleep(60_000)' }, { abortSignal: stop.signal })).toContain('ScriptCancelledError');
  });
});

describe('the host programmer’s mistakes are thrown as a ToolscriptUsageError', () => {
  const tools = () => sample.tools;
  it.each<[string, () => unknown, RegExp]>([
    ['an unknown option', () => createHarness({ tools: tools(), aprovals: 'auto' } as never), /aprovals.*approvals/u],
    ['an unknown limit', () => createHarness({ tools: tools(), limits: { timoutMs: 5 } } as never), /timoutMs.*timeoutMs/u],
    ['an unknown worker option', () => createHarness({ tools: tools(), workers: { slots: 1 } } as never), /slots.*slotsPerWorker/u],
    ['an unknown exposure', () => createHarness({ tools: tools(), expose: { tool: [] } } as never), /tool.*tools/u],
    ['an unknown detect option', () => createHarness({ tools: tools(), detect: { tag: [] } } as never), /tag.*tags/u],
    ['an unknown mode', () => createHarness({ tools: tools(), mode: 'dryrun' } as never), /mode/u],
    ['no tools', () => createHarness({} as never), /tools/u],
    ['no options', () => createHarness(undefined as never), /./u],
    ['tools that are none', () => createHarness({ tools: [{ name: 'x' }] } as never), /defineTool|tool/u],
    ['two tools of one name', () => createHarness({ tools: [tools()[0]!, tools()[0]!] }), /echo/u],
    ['a tool that is not there', () => createHarness({ tools: tools(), expose: { tools: ['ecoh'] } }), /ecoh.*echo/u],
    ['a pack that is not there', () => createHarness({ tools: tools(), expose: { pack: 'file-op' } }), /file-op.*file-ops/u],
    ['a limit out of range', () => createHarness({ tools: tools(), limits: { timeoutMs: -1 } }), /timeoutMs/u],
    ['a limit of the wrong type', () => createHarness({ tools: tools(), limits: { memoryMb: '96' } } as never), /memoryMb/u],
    ['approvals that are none', () => createHarness({ tools: tools(), approvals: 'always' } as never), /approvals/u],
    ['a rule with an unknown member', () => createHarness({ tools: tools(), approvals: [{ tols: 'x', action: 'deny' }] } as never), /tols/u],
    ['a runtime that is none', () => createHarness({ tools: tools(), runtime: 'v8' } as never), /runtime/u],
    ['a reserved name', () => defineTool({ name: 'then', description: 'x', execute: () => 1 }), /then/u],
  ])('%s', async (_, act, message) => {
    let thrown: unknown;
    try {
      await (act() as Harness).close();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ name: 'ToolscriptUsageError', message: expect.stringMatching(message) as unknown });
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['a script that is no text', () => harness.runScript(5 as never), /string/u],
    ['an unknown limit of a run', () => harness.runScript('return 1', { limits: { memoryMB: 5 } as never }), /memoryMB.*memoryMb/u],
    ['an unknown option of a run', () => harness.runScript('return 1', { timeoutMs: 5 } as never), /timeoutMs/u],
    ['wrong approvals of a run', () => harness.runScript('await tools.write({ path: "x" })', { approvals: 'always' as never }), /approvals/u],
    ['an unknown mode of a run', () => harness.runScript('return 1', { mode: 'dryrun' as never }), /mode/u],
    ['an unknown limit of a call', () => harness.callTool('echo', { value: 1 }, { limits: { memoryMB: 5 } as never }), /memoryMB/u],
  ])('%s', async (_, act, message) => {
    await expect((async () => act())()).rejects.toMatchObject({ name: 'ToolscriptUsageError', message: expect.stringMatching(message) as unknown });
  });

  it('what returns a promise rejects and never throws in the caller’s face', async () => {
    const calls = [() => harness.runScript(5 as never), () => harness.runScript('return 1', { limits: { nope: 1 } as never }), () => harness.callTool('echo', {}, { limits: { nope: 1 } as never })];
    for (const call of calls) {
      let promise: unknown;
      expect(() => (promise = call())).not.toThrow();
      await expect(promise).rejects.toMatchObject({ name: 'ToolscriptUsageError' });
    }
  });
});

describe('limits and context of a run', () => {
  it('limits of a run replace those of the harness for this run only', async () => {
    const own = openHarness({ tools: sample.tools, limits: { maxToolCalls: 2, timeoutMs: 5_000 } });
    const budget = 'return [context.sandbox.remainingToolBudget, context.sandbox.timeoutMs]';
    expect(valueOf(await own.runScript(budget))).toEqual([2, 5_000]);
    expect(valueOf(await own.runScript(budget, { limits: { maxToolCalls: 1 } }))).toEqual([1, 5_000]);
    expect(valueOf(await own.runScript(budget))).toEqual([2, 5_000]);
  });

  it('the context has defaults for every member, and the host’s own members win', async () => {
    const data = 'return JSON.parse(JSON.stringify(context))';
    const defaults = valueOf(await harness.runScript(data)) as Record<string, unknown>;
    for (const key of ['conversationId', 'sessionId', 'turnId', 'scriptId', 'workingDirectory', 'provider', 'model']) expect(defaults[key], key).toEqual(expect.any(String));
    const own = valueOf(await harness.runScript(data, { context: { model: 'm1', turnId: 'turn', custom: { deep: [1] } } })) as Record<string, unknown>;
    expect(own).toMatchObject({ model: 'm1', turnId: 'turn', custom: { deep: [1] } });
  });

  it('what the host says cannot forge the script’s id, its sandbox or its tools', async () => {
    const outcome = await harness.runScript('return JSON.parse(JSON.stringify(context))', { context: { scriptId: 'forged', sandbox: { timeoutMs: 1 }, capabilities: { tools: ['rm'] } } });
    expect(valueOf(outcome)).toMatchObject({ scriptId: outcome.scriptId, sandbox: { timeoutMs: 30_000 }, capabilities: { tools: expect.arrayContaining(['echo']) as unknown } });
  });

  it('the context can be returned whole: its functions are no data', async () => {
    expect(await value('return context')).toMatchObject({ sandbox: { timeoutMs: 30_000 }, scriptId: expect.any(String) as unknown });
  });

  it('a context that JSON cannot carry is the host programmer’s mistake', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const context of [cyclic, { big: 1n }, 5, []]) {
      await expect((async () => harness.runScript('return 1', { context: context as never }))(), String(context)).rejects.toMatchObject({ name: 'ToolscriptUsageError', message: expect.stringContaining('context') as unknown });
    }
  });

  it('the clock stands still between two settlements', async () => {
    const source = 'const a = Date.now(); for (let i = 0; i < 1e6; i++); const b = Date.now(); await tools.wait({ ms: 20 }); return [b - a, Date.now() - b >= 15, new Date() - performance.timeOrigin >= 0]';
    expect(await value(source)).toEqual([0, true, true]);
  });
});

describe('a tool is told', () => {
  it('the host’s context, the principal, the script and a key that is the same for the same call', async () => {
    const seen: Record<string, unknown>[] = [];
    const spy = defineTool({
      name: 'spy',
      description: 'x',
      effect: 'read',
      execute: (_, { app, principal, signal, callId, scriptId, idempotencyKey, maxOutputBytes }) => void seen.push({ app, principal, aborted: signal.aborted, callId, scriptId, idempotencyKey, maxOutputBytes }),
    });
    const own = openHarness({ tools: [spy], limits: { maxToolOutputBytes: 1234 } });
    const app = { db: Symbol('not JSON') };
    const outcome = await own.runScript('await tools.spy(); await tools.spy({})', { app, principal: 'ann' });
    expect(seen).toMatchObject([0, 1].map((index) => ({ app, principal: 'ann', aborted: false, callId: outcome.operations[index]!.callId, scriptId: outcome.scriptId, maxOutputBytes: 1234 })));
    expect(seen[0]!['app']).toBe(app);
    const keys = seen.map(({ idempotencyKey }) => idempotencyKey as string);
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key, index) => key.startsWith(outcome.scriptId) && key.endsWith(String(index)))).toBe(true);
  });

  it('its progress is told as the script’s', async () => {
    const events: StreamEvent[] = [];
    const chatty = defineTool({ name: 'chatty', description: 'x', effect: 'read', execute: (_, { progress }) => progress('half way') });
    const own = openHarness({ tools: [chatty] });
    const outcome = await own.runScript('await tools.chatty()', { onEvent: (event) => void events.push(event) });
    expect(events.map(({ payload }) => payload)).toContainEqual(expect.objectContaining({ type: 'script_progress', message: 'half way', call_id: outcome.operations[0]!.callId }));
  });
});

describe('a cancellation', () => {
  const cancelAfter = (ms: number) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), ms);
    return stop.signal;
  };

  it('ends a script in a loop', async () => {
    const outcome = await harness.runScript('while (true) {}', { signal: cancelAfter(50) });
    expect(failureOf(outcome)).toMatchObject({ code: 'ScriptCancelledError', retryable: false });
  });

  it('ends a script while its tool runs, and the tool with it', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    const outcome = await own.runScript('await tools.echo({ value: 1 }); await tools.wait({ ms: 60_000 })', { signal: cancelAfter(600) });
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations.map(({ status }) => status)).toEqual(['completed', 'aborted']);
    expect(deeds.at(-1)!.what).toBe('aborted');
  });

  it('cannot be caught by the script', async () => {
    const outcome = await harness.runScript('for (;;) try { await tools.wait({ ms: 60_000 }); } catch { await tools.echo({ value: "caught" }); } finally { for (;;); }', { signal: cancelAfter(50) });
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations.map(({ tool }) => tool)).not.toContain('echo');
  });

  it('before the start runs nothing', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    expect(failureOf(await own.runScript('await tools.echo({ value: 1 })', { signal: AbortSignal.abort() })).code).toBe('ScriptCancelledError');
    expect(deeds).toEqual([]);
  });

  it('while the script waits for a free sandbox', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: { size: 1, slotsPerWorker: 1 } });
    const first = own.runScript('await tools.wait({ ms: 400 }); return "first"');
    const stop = new AbortController();
    const second = own.runScript('return await tools.echo({ value: "never" })', { signal: stop.signal });
    await new Promise((resolve) => setTimeout(resolve, 150));
    stop.abort();
    expect(failureOf(await second)).toMatchObject({ code: 'ScriptCancelledError' });
    expect((await second).operations).toEqual([]);
    expect(valueOf(await first)).toBe('first');
    expect(valueOf(await own.runScript('return 3'))).toBe(3);
    expect(own.stats().sandbox).toMatchObject({ running: 0, waiting: 0 });
  });
});

describe('a harness that is full', () => {
  it('answers a burst far beyond its sandboxes, each script with its own value', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: { queueWaitMs: 30_000 } });
    const outcomes = await Promise.all(Array.from({ length: 1000 }, (_, n) => own.runScript(`const { sum } = await tools.add({ a: ${n % 20} }); return sum`)));
    expect(outcomes.map(valueOf)).toEqual(Array.from({ length: 1000 }, (_, n) => (n % 20) + 1));
    expect(own.stats().sandbox).toMatchObject({ completed: 1000, running: 0, waiting: 0 });
  });

  it('says so when no sandbox became free in time, and the script can be tried again', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: { size: 1, slotsPerWorker: 1, queueWaitMs: 50 } });
    await own.warm();
    const first = own.runScript('await tools.wait({ ms: 400 }); return "first"');
    const second = await own.runScript('return await tools.echo({ value: 2 })');
    expect(failureOf(second)).toMatchObject({ code: 'HarnessBusyError', retryable: true });
    expect(second.operations).toEqual([]);
    expect(valueOf(await first)).toBe('first');
    expect(valueOf(await own.runScript('return await tools.echo({ value: 2 })'))).toBe(2);
  });

  it('serves waiting scripts in order, and principals in turn', async () => {
    const order: string[] = [];
    const mark = defineTool({ name: 'mark', description: 'x', effect: 'read', input: z.object({ who: z.string() }), execute: ({ who }) => void order.push(who) });
    const own = openHarness({ tools: [mark, ...sampleTools().tools], workers: { size: 1, slotsPerWorker: 1 } });
    await own.warm();
    const blocker = own.runScript('await tools.wait({ ms: 300 })');
    const mine = (who: string, principal: string) => own.runScript(`await tools.mark({ who: '${who}' })`, { principal });
    await Promise.all([blocker, mine('a1', 'ann'), mine('a2', 'ann'), mine('a3', 'ann'), mine('b1', 'bob'), mine('b2', 'bob')]);
    expect(order.filter((who) => who.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(order.indexOf('b1')).toBeLessThan(order.indexOf('a3'));
  });

  it('scripts that wait on tools do not hold a worker', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: { size: 1 } });
    const outcomes = await Promise.all(Array.from({ length: 8 }, (_, n) => own.runScript(`await tools.wait({ ms: 200 }); return ${n}`)));
    expect(outcomes.map(valueOf)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(own.stats().sandbox.workersReplaced).toBe(0);
  });
});
