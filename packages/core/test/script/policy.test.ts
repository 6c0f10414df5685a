import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
import { compiled, refused } from './running.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

const BANNED: readonly [construct: string, source: string][] = [
  ['import', 'import fs from "node:fs";'],
  ['import', 'import { type A, b } from "x";\nreturn 1'],
  ['import', 'import "x";\nreturn 1'],
  ['import', 'import fs = require("fs")'],
  ['export', 'export { x } from "y"'],
  ['export', 'export * from "x"'],
  ['export', 'export default class A {}'],
  ['export', 'export = 3'],
  ['require', 'const fs = require("fs")'],
  ['import()', 'const x = await import("node:fs")'],
  ['import.meta', 'return import.meta.url'],
  ['with', 'with (Math) { max(1) }'],
  ['decorator', '@dec class A {}'],
  ['decorator', 'class A { @dec m() {} }'],
  ['eval', 'eval("1")'],
  ['eval', 'eval?.("1")'],
  ['eval', '(0, eval)("1")'],
  ['eval', '(eval as any)("1")'],
  ['eval', 'globalThis.eval("1")'],
  ['eval', 'globalThis["eval"]("1")'],
  ['eval', 'globalThis[`eval`]("1")'],
  ['eval', 'eval.call(null, "1")'],
  ['eval', 'Reflect.apply(eval, null, ["1"])'],
  ['Function', 'new Function("return 1")'],
  ['Function', 'Function("return 1")()'],
  ['Function', 'Function`return 1`()'],
  ['Function', 'new globalThis.Function("x")'],
  ['Function', 'Function.bind(null, "x")()'],
  ['Function', 'Reflect.construct(Function, ["x"])'],
  ['constructor', 'x.constructor.constructor("return this")()'],
  ['constructor', 'x["constructor"]["constructor"]("return this")()'],
  ['constructor', '(async () => {}).constructor("x")()'],
  ['constructor', '(function* () {}).constructor("x")()'],
  ['constructor', 'new (async () => {}).constructor("x")'],
  ['constructor', 'const fn = () => 1; fn.constructor("x")()'],
  ['constructor', 'function fn() {} fn.constructor.call(null, "x")()'],
  ['constructor', 'Function.prototype.constructor("x")'],
  ['constructor', 'Object.getPrototypeOf(async function () {}).constructor("x")'],
  ['AsyncFunction', 'const AsyncFunction = (async () => {}).constructor;\nnew AsyncFunction("x")'],
  ['Make', 'const Make = Object.getPrototypeOf(function* () {}).constructor; Make("x")'],
];

const ALLOWED: readonly string[] = [
  'try { x() } catch (err) { return err.constructor.name }',
  'return {}.constructor === Object',
  'class A { static n = 0; constructor() { this.constructor.n++ } clone() { return new this.constructor() } }',
  'class Model { static create(...a) { return new this(...a) } copy() { return this.constructor.create(1) } }',
  'return typeof eval === "undefined" && typeof Function',
  'return (() => 1) instanceof Function',
  'function require(name) { return name }\nreturn require("x")',
  'const f = (require) => require("x"); return f(String)',
  'const o = { eval: (x) => x, require: 1, import: 2, Function: String }; return o.eval(o.import) + o.Function(1)',
  'class Function2 {} new Function2(); const math = { evaluate(x) { return x } }; math.evaluate("1")',
  'return "import x from y; eval(1); require(2)" // eval("x") import("y")',
  'const meta = { import: { meta: 1 } }; return meta.import.meta',
  'return [].map.call([1], String).constructor.name',
  'const { constructor } = {}; return constructor === Object',
  'Foo.prototype.constructor = Foo; function Foo() {}',
];

describe('banned constructs', () => {
  it.each(BANNED)('%s is rejected by name with its replacement: %s', async (construct, source) => {
    const failure = await refused(compiler, `const padding = 1;\n${source}`);
    expect(failure.code).toBe('ScriptPolicyError');
    expect(failure.phase).toBe('checking');
    expect(failure.metadata).toEqual({ construct });
    expect(failure.line).toBeGreaterThanOrEqual(2);
    expect(failure.message).toMatch(/line 2|line 3/);
    expect(failure.hint).toMatch(/\w+/);
    expect(failure.frame).toContain('> ');
  });

  it.each(ALLOWED)('ordinary code is not rejected: %s', async (source) => {
    await compiled(compiler, source);
  });

  it('are all reported, the first one as the failure', async () => {
    const result = await compiler.compile('require("a");\neval("b");\nreturn import("c");', {
      language: 'js',
      maxSourceBytes: 1000,
    });
    expect(result.ok).toBe(false);
    if (result.ok) return;
    expect(result.failure).toMatchObject({ line: 1, column: 1 });
    expect(result.diagnostics.map(({ code, line }) => [code, line])).toEqual([
      ['policy-require', 1],
      ['policy-eval', 2],
      ['policy-import', 3],
    ]);
  });
});
