import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';

const { sample, harness } = sharedHarness();

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
    ['return [new Number(1), new String("s"), new Boolean(false)]', [1, 's', false]],
    ['return { [Symbol("s")]: 1, a: 2 }', { a: 2 }],
    ['const shared = { a: 1 }; return [shared, shared]', [{ a: 1 }, { a: 1 }]],
    ['return new URL("http://h.example/a")', 'http://h.example/a'],
    ['return Promise.resolve({ a: Promise.resolve(1) && 2 })', { a: 2 }],
    ['return await tools.echo({ value: { a: [1, null] } })', { a: [1, null] }],
  ])('%s', async (source, expected) => {
    expect(await value(source)).toEqual(expected);
  });

  it('keys such as __proto__, constructor and then cross as plain data', async () => {
    const outcome = await harness.runScript(
      'return JSON.parse(\'{"__proto__": {"a": 1}, "constructor": 2, "then": 3, "toString": 4}\')',
    );
    const crossed = valueOf(outcome) as object;
    expect(Object.keys(crossed)).toEqual(['__proto__', 'constructor', 'then', 'toString']);
    expect(Object.getOwnPropertyDescriptor(crossed, '__proto__')!.value).toEqual({ a: 1 });
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it.each([
    ['return { a: [1, { b: new WeakSet() }] }', 'value.a[1].b', 'WeakSet'],
    ['return [/a/]', 'value[0]', 'RegExp'],
    ['return { s: Symbol("x") }', 'value.s', 'Symbol'],
    ['return { f() {} }', 'value.f', 'function'],
    ['return class {}', 'value', 'function'],
    ['return { p: Promise.resolve(1) }', 'value.p', 'Promise'],
    ['return { "odd key": /a/ }', 'odd key', 'RegExp'],
  ])('%s is a SerializationError that names the path', async (source, path, kind) => {
    const error = await failure(source);
    expect(error).toMatchObject({ code: 'SerializationError', phase: 'finalizing' });
    expect(error.message).toContain(path);
    expect(error.message.toLowerCase()).toContain(kind.toLowerCase());
  });

  it.each(['return { toJSON() { return new WeakMap() } }', 'return { a: { toJSON() { return () => 1 } } }'])(
    'the result of toJSON follows the same rules: %s',
    async (source) => {
      expect((await failure(source)).code).toBe('SerializationError');
    },
  );

  it.each([
    ['{ get a() { throw new Error("mine") } }', 'value.a'],
    ['{ toJSON() { throw new Error("mine") } }', 'value'],
    ['[1, { get "b c"() { throw new Error("mine") } }]', 'value[1].b c'],
    ['{ x: {}, y: [[], { z: 1 }], w: { toJSON() { throw new Error("mine") } } }', 'value.w'],
    ['{ a: [{ b: 1 }, { get c() { throw new Error("mine") } }], d: 1 }', 'value.a[1].c'],
    ['[Object.assign(new Error("x"), { inner: { get y() { throw new Error("mine") } } })]', 'value[0].inner.y'],
    [
      '{ e: Object.defineProperty(new Error("x"), "f", { enumerable: true, get() { throw new Error("mine") } }) }',
      'value.e.f',
    ],
    ['{ e: new Proxy({ a: 1 }, { get(target, key) { if (key === "a") throw new Error("mine") } }) }', 'value.e.a'],
  ])(
    'what a getter or toJSON throws is the script’s own error, and says where it was read: %s',
    async (source, path) => {
      const error = await failure(`return ${source}`);
      expect(error).toMatchObject({ code: 'ScriptRuntimeError', line: 1 });
      expect(error.message).toBe(`Error: mine (thrown while ${path} was read)`);
    },
  );

  it('an argument whose getter throws is rejected with its path', async () => {
    for (const [args, path] of [
      ['{ get value() { throw new Error("mine") } }', 'args.value'],
      ['{ value: [1, { get b() { throw new Error("mine") } }] }', 'args.value[1].b'],
    ])
      expect(await value(`try { await tools.echo(${args}) } catch (error) { return error.message }`)).toContain(
        `${path}: cannot be written as JSON (Error: mine)`,
      );
  });

  it('an error whose name or message cannot be read still crosses', async () => {
    const unreadable = 'Object.defineProperty(new Error("x"), "message", { get() { throw new Error("mine") } })';
    expect(await value(`return { e: ${unreadable} }`)).toEqual({
      e: { name: 'Error', message: '[a value that cannot be shown]' },
    });
  });

  it('a hundred levels cross, a hundred and one do not', async () => {
    const nested = (levels: number) => `let v = 1; for (let i = 0; i < ${levels}; i++) v = { v }; return v`;
    expect(JSON.stringify(await value(nested(100)))).toHaveLength(1 + 100 * 6);
    expect(await failure(nested(101))).toMatchObject({
      code: 'SerializationError',
      message: expect.stringContaining('100') as unknown,
    });
  });
});

describe('a last value without a return', () => {
  it.each([
    ['[1, 2].values()', 'an Iterator'],
    ['[/a/]', 'value[0] is a RegExp'],
    ['"x".repeat(3_000_000)', 'at most'],
  ])('does not fail a script that has done its work: %s', async (last, fault) => {
    const outcome = await harness.runScript(`await tools.echo({ value: 1 });\n${last}`);
    expect(valueOf(outcome)).toBeUndefined();
    const told = outcome.diagnostics.filter(({ severity }) => severity === 'warning');
    expect(told).toMatchObject([
      { code: 'value-left-out', line: 2, message: expect.stringContaining(fault) as unknown },
    ]);
  });
});

describe('every outcome', () => {
  it('has its id, output, logs, operations, diagnostics, plan and metadata, also when it failed', async () => {
    for (const source of [
      'text("a"); console.log("b", { c: 1 }); await tools.echo({ value: 1 }); return 1',
      'text("a"); console.log("b", { c: 1 }); await tools.echo({ value: 1 }); throw new Error("x")',
    ]) {
      const outcome = await harness.runScript(source);
      expect(outcome).toMatchObject({
        scriptId: expect.stringMatching(/^scr_/u) as unknown,
        output: 'a',
        logs: [{ level: 'log', text: 'b { c: 1 }', atMs: expect.any(Number) as unknown }],
        operations: [
          {
            callId: expect.stringContaining(outcome.scriptId) as unknown,
            tool: 'echo',
            input: { value: 1 },
            effect: 'read',
            status: 'completed',
            result: 1,
            line: 1,
          },
        ],
        diagnostics: [],
        plan: [{ tool: 'echo', line: 1 }],
        metadata: {
          approvalWaitMs: 0,
          toolCallsMade: 1,
          compilationCacheHit: expect.any(Boolean) as unknown,
          cacheHit: false,
          runtime: expect.stringContaining('quickjs') as unknown,
        },
      });
      const { durationMs, computeMs, memoryUsedMb } = outcome.metadata;
      expect(durationMs).toBeGreaterThan(0);
      expect(computeMs).toBeGreaterThan(0);
      expect(memoryUsedMb).toBeGreaterThan(0);
    }
  });

  it('lists its operations in call order, each with its status', async () => {
    const own = openHarness({ tools: sample.tools, approvals: 'deny' });
    const source = `
      const calls = [tools.wait({ ms: 30, value: 'slow' }), tools.fail({ message: 'no' }), tools.write({ path: 'p' }), tools.add({ a: JSON.parse('"x"') }), tools.echo({ value: 'fast' })];
      const settled = await Promise.allSettled(calls);
      void tools.wait({ ms: 60_000 });
      await tools.wait({ ms: 5 });
      return settled.map((one) => one.status === 'fulfilled' ? one.value : one.reason.name);`;
    const outcome = await own.runScript(source);
    expect(valueOf(outcome)).toEqual([
      'slow',
      'ToolExecutionError',
      'ApprovalDeniedError',
      'ToolValidationError',
      'fast',
    ]);
    expect(outcome.operations.map(({ tool, status, line }) => [tool, status, line])).toEqual([
      ['wait', 'completed', 2],
      ['fail', 'failed', 2],
      ['write', 'denied', 2],
      ['add', 'failed', 2],
      ['echo', 'completed', 2],
      ['wait', 'aborted', 4],
      ['wait', 'completed', 5],
    ]);
    for (const operation of outcome.operations)
      expect(operation).toMatchObject({
        startedAtMs: expect.any(Number) as unknown,
        durationMs: expect.any(Number) as unknown,
      });
  });

  it('is plain data', async () => {
    const outcome = await harness.runScript(
      'const { sum } = await tools.add({ a: 1 }); await tools.fail({ message: String(sum) })',
    );
    expect(JSON.parse(JSON.stringify(outcome))).toEqual(outcome);
  });

  it('carries the effective input: validated, defaults applied', async () => {
    const outcome = await harness.runScript('return await tools.add({ a: 4 })');
    expect(valueOf(outcome)).toEqual({ sum: 5 });
    expect(outcome.operations[0]!.input).toEqual({ a: 4, b: 1 });
  });
});

describe('an error', () => {
  it('of the script has its class and message, its place, a frame and a stack in script.ts only', async () => {
    const error = await failure(
      'function inner() {\n  throw new RangeError("out of range");\n}\nconst outer = () => inner();\nouter();',
    );
    expect(error).toMatchObject({
      code: 'ScriptRuntimeError',
      message: 'RangeError: out of range',
      phase: 'executing',
      line: 2,
      column: 13,
      retryable: true,
      metadata: {},
    });
    expect(error.frame).toMatch(/> 2 \| {3}throw new RangeError/u);
    expect(error.stack).toMatch(
      /^RangeError: out of range\n {4}at inner \(script\.ts:2:\d+\)\n {4}at outer \(script\.ts:4:\d+\)/u,
    );
  });

  it('has at most ten frames', async () => {
    const error = await failure(
      'const f = (n) => { if (n === 0) throw new Error("deep"); return f(n - 1) + 1; }; f(50)',
    );
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

  it('cannot choose its own code, whatever the script writes', async () => {
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
    const outcome = await harness.runScript(
      'const ok = await tools.echo({ value: 1 });\n\n  await tools.fail({ message: "disk full" });',
    );
    const error = failureOf(outcome);
    expect(error).toMatchObject({
      code: 'ToolExecutionError',
      message: 'disk full',
      toolName: 'fail',
      callId: outcome.operations[1]!.callId,
      line: 3,
      metadata: { completedTools: 1 },
    });
    expect(error.frame).toContain('> 3 |');
  });

  it('of a tool keeps its code when it was thrown again or passed through then', async () => {
    expect(await failure('try { await tools.fail({ message: "m" }); } catch (e) { throw e; }')).toMatchObject({
      code: 'ToolExecutionError',
      message: 'm',
    });
    expect(await failure('await tools.fail({ message: "m" }).then(() => 1).finally(() => 2)')).toMatchObject({
      code: 'ToolExecutionError',
    });
    expect(await failure('await Promise.all([tools.echo({ value: 1 }), tools.fail({ message: "m" })])')).toMatchObject({
      code: 'ToolExecutionError',
      toolName: 'fail',
    });
    expect(
      await failure(
        'try { await tools.fail({ message: "m" }); } catch (e) { throw new Error("wrapped", { cause: e }); }',
      ),
    ).toMatchObject({ code: 'ScriptRuntimeError', message: 'Error: wrapped' });
    expect(await failure('await tools.add({ a: JSON.parse("null") })')).toMatchObject({
      code: 'ToolValidationError',
      toolName: 'add',
    });
    expect(await failure('await tools.write({ path: "x" })')).toMatchObject({
      code: 'ApprovalDeniedError',
      toolName: 'write',
      retryable: false,
    });
    expect(await failure('return tools["no" + "where"]({})')).toMatchObject({ code: 'ToolNotFoundError', line: 1 });
  });

  it('carries to the script only data that its tool chose', async () => {
    const { ToolCallError } = await import('#core/protocol/index.js');
    const odd = defineTool({
      name: 'odd',
      description: 'x',
      effect: 'read',
      input: z.object({ how: z.string() }),
      execute: ({ how }) => {
        if (how === 'data') throw new ToolCallError('ToolExecutionError', 'with data', { left: 3 });
        throw Object.assign(new Error('plain', { cause: new Error('secret cause') }), {
          secret: 'token',
          path: '/host/path',
        });
      },
    });
    const own = openHarness({ tools: [odd] });
    const source =
      'const seen = []; for (const how of ["data", "plain"]) try { await tools.odd({ how }); } catch (e) { seen.push([e.message, e.data ?? null, e.cause ?? null, e.secret ?? null, Object.keys(e)]); } return seen';
    expect(valueOf(await own.runScript(source))).toEqual([
      ['with data', { left: 3 }, null, null, ['data']],
      ['plain', null, null, null, []],
    ]);
  });

  it.each([
    ['a fence around it', '```ts\nconst a = 1;\nnull.x;\nreturn;\n```', 3, 1],
    ['a function around it', 'async function main() {\n  const a = 1;\n  null.x();\n}\nmain();', 3, 3],
    ['an arrow around it', 'async () => {\n  const a = 1;\n  null.x();\n}', 3, 3],
    ['export default', 'export default async function run() {\n  null.x();\n}', 2, 3],
    ['entities', 'const a = 1;\nif (a &lt; 2 &amp;&amp; a &gt; 0) null.x;', 2, 35],
    ['a byte order mark', '\ufeffconst a = 1;\nnull.x; return', 2, 1],
    ['Windows line ends', 'const a = 1;\r\n\r\nnull.x; return', 3, 1],
    [
      'types taken out before it',
      'interface A { b: string }\ntype C = A | null;\nconst a: C = null as C; (a as any)!.b;',
      3,
      26,
    ],
    ['an enum before it', 'enum E {\n  A,\n  B,\n}\nnamespace N { export const x = 1 }\n  null.x; return', 6, 3],
    ['a last value', 'const a: any = null;\n  a.x;', 2, 3],
    ['a name of a tool', 'async () => {\n  await echo({ value: 1 }); const a: any = null; a.x();\n}', 2, 50],
    ['words around a fence', 'Here:\n```ts\nconst a: any = null;\nreturn a.x;\n```\nDone.', 4, 8],
    ['a call that nobody awaited', 'tools.echo({ value: 1 }); const a: any = null; return a.x;', 1, 55],
    ['wide characters before it', 'const s = "🎉é"; /* 日本 */ null.x; return', 1, 27],
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

  it('of an unhandled rejection is reported as a warning', async () => {
    const outcome = await harness.runScript(
      'Promise.reject(new Error("lost"));\nawait tools.echo({ value: 1 });\nreturn 1',
    );
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.diagnostics).toContainEqual(
      expect.objectContaining({
        severity: 'warning',
        code: 'unhandled-rejection',
        line: 1,
        message: expect.stringContaining('lost') as unknown,
      }),
    );
    const tool = await harness.runScript(
      'void tools.fail({ message: "nobody looks" });\nawait tools.wait({ ms: 10 });\nreturn 1',
    );
    expect(tool.diagnostics).toContainEqual(expect.objectContaining({ code: 'unhandled-rejection' }));
  });

  it('is reported at once for a script that waits for a promise that never settles', async () => {
    const error = await failure('await new Promise(() => {}); return 1');
    expect(error.code).toBe('ScriptRuntimeError');
    expect(error.message).toMatch(/nothing will settle|never/u);
  });
});
