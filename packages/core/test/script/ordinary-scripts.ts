/**
 * Scripts of the kinds models write, each with its expected answer. A script without an expected answer is plain
 * JavaScript, and Node computes the answer.
 */
export const ORDINARY: readonly { name: string; source: string; answer?: unknown }[] = [
  { name: 'an expression', source: 'return 1 + 1' },
  { name: 'nothing to return', source: 'const x = 1;' },
  { name: 'an empty script', source: '' },
  { name: 'a comment without a line end', source: 'return 3 // three' },
  {
    name: 'one tool call',
    source: 'return (await tools.readFile({ path: "a.txt" })).content.trim();',
    answer: 'alpha\nbeta',
  },
  {
    name: 'parallel calls',
    source: `const [a, b] = await Promise.all([tools.readFile({ path: 'a.txt' }), tools.readFile({ path: 'b.json' })]);
return { a: a.content.length, b: JSON.parse(b.content).n };`,
    answer: { a: 11, b: 3 },
  },
  {
    name: 'types and interfaces',
    source: `interface Row { id: number; name?: string }
type Rows = Row[];
const rows: Rows = [{ id: 1 }, { id: 2, name: 'b' }];
const byId = new Map<number, Row>(rows.map((row): [number, Row] => [row.id, row]));
return { n: byId.size, name: byId.get(2)!.name ?? null };`,
    answer: { n: 2, name: 'b' },
  },
  {
    name: 'enums',
    source: `enum Level { Low = 1, High }
enum Text { A = 'a', B = 'b' }
const enum K { X = 5 }
return [Level.High, Level[1], Text.B, K.X];`,
    answer: [2, 'Low', 'b', 5],
  },
  {
    name: 'parameter properties and abstract classes',
    source: `abstract class Shape { constructor(protected readonly size: number) {} abstract area(): number; }
class Square extends Shape { area(): number { return this.size ** 2; } }
return new Square(3).area();`,
    answer: 9,
  },
  {
    name: 'namespaces',
    source:
      'namespace Util { export const twice = (n: number) => n * 2; export namespace Deep { export const x = 1 } }\nreturn Util.twice(4) + Util.Deep.x;',
    answer: 9,
  },
  {
    name: 'classes that extend Error',
    source: `class NotFound extends Error { constructor(public readonly path: string) { super('missing ' + path); this.name = 'NotFound'; } }
try { throw new NotFound('x'); } catch (error) { return { name: (error as Error).name, ours: error instanceof NotFound, constructor: error.constructor.name }; }`,
    answer: { name: 'NotFound', ours: true, constructor: 'NotFound' },
  },
  {
    name: 'a caught tool failure',
    source: `try { await tools.readFile({ path: 'zzz' }); return 'found'; } catch (e: unknown) { return (e as { code: string }).code; } finally { }`,
    answer: 'ToolExecutionError',
  },
  { name: 'generators', source: 'function* count(n) { for (let i = 0; i < n; i++) yield i; }\nreturn [...count(4)];' },
  {
    name: 'async generators',
    source: `async function* pages() { yield 1; yield 2; }
let sum = 0;
for await (const page of pages()) sum += page;
return sum;`,
  },
  {
    name: 'destructuring',
    source: 'const { a, b: [c, ...d], ...e } = { a: 1, b: [2, 3, 4], f: 5, g: 6 };\nreturn { a, c, d, e };',
  },
  {
    name: 'defaults and rest',
    source: 'function f(a, b = a + 1, ...c) { return [a, b, ...c]; }\nreturn f(1, undefined, 3, 4);',
  },
  {
    name: 'labelled loops',
    source:
      'let n = 0;\nouter: for (let i = 0; i < 5; i++) { for (let j = 0; j < 5; j++) { if (j === 3) continue outer; if (i === 3) break outer; n++; } }\nreturn n;',
  },
  {
    name: 'getters, setters and statics',
    source:
      'class A { static #made = 0; #v = 1; get v() { return this.#v; } set v(x) { this.#v = x; } static { this.#made = 7; } static made() { return this.#made; } }\nconst a = new A(); a.v = 5;\nreturn [a.v, A.made()];',
  },
  {
    name: 'tagged templates',
    source: 'const tag = (parts, ...values) => parts.raw.join("|") + values.join(",");\nreturn tag`a\\n${1}b${2}c`;',
  },
  {
    name: 'raw templates with a closing script tag',
    source: 'return [String.raw`</script>\\n${1}</SCRIPT>`, `</script>`, "</script>"];',
  },
  {
    name: 'optional chaining and nullish',
    source: 'const o = { a: { b: null } };\nreturn [o?.a?.b?.c ?? "none", o.x?.(), o.a?.["b"]];',
  },
  { name: 'logical assignment', source: 'let a = null; a ??= 1; a &&= a + 1; let b = 0; b ||= 9;\nreturn [a, b];' },
  {
    name: 'regular expressions',
    source:
      'return ["2024-01-02".replace(/(\\d+)-(\\d+)-(\\d+)/, "$3.$2.$1"), /[/(]\\/`"\'{/.test("//`\\"\'{"), "a1b22".match(/(?<n>\\d+)$/).groups.n, [..."aXbX".matchAll(/X/g)].length];',
  },
  {
    name: 'division that looks like a regular expression',
    source: 'const a = 8, b = 2, g = 1;\nconst f = () => 4;\nreturn [a / b / g, f() / 2 / g, (a) / b, [a][0] / b];',
  },
  {
    name: 'all kinds of Promise combinators',
    source:
      'const fail = () => Promise.reject(new Error("x"));\nreturn [await Promise.any([fail(), Promise.resolve(1)]), (await Promise.allSettled([fail(), 2])).map((r) => r.status), await Promise.race([3])];',
  },
  {
    name: 'sorting and grouping',
    source:
      'const words = ["pear", "fig", "apple"];\nconst by = {};\nfor (const word of words) (by[word.length] ??= []).push(word);\nreturn [words.toSorted((a, b) => a.localeCompare(b)), by];',
  },
  {
    name: 'objects keyed like built-ins',
    source:
      'const counts = Object.create(null);\nfor (const key of ["constructor", "toString", "constructor"]) counts[key] = (counts[key] || 0) + 1;\nreturn Object.entries(counts);',
  },
  {
    name: 'sets, maps and weak maps',
    source:
      'const w = new WeakMap(); const k = {}; w.set(k, 1);\nreturn [[...new Set([1, 1, 2])], [...new Map([["a", 1]]).entries()], w.get(k)];',
  },
  {
    name: 'numbers',
    source:
      'return [1_000, 0xff, 0b11, 0o17, 1e3, .5, 5., 2 ** 10, 7 % 3, -2 ** 0 === -1 ? 1 : 0, Number.MAX_SAFE_INTEGER].map(String);'.replace(
        '-2 ** 0 === -1 ? 1 : 0, ',
        '',
      ),
  },
  { name: 'big integers', source: 'return [(2n ** 64n).toString(), String(1_0n / 3n)];' },
  {
    name: 'strings of every kind',
    source:
      'return ["\\u00e9\\u{1f600}\\x41\\0", \'it\\\'s\', "a\\\nb", `x\ny\\``, "\u2028", "\ufeff"].map((s) => [...s].map((c) => c.codePointAt(0)));',
  },
  {
    name: 'nested templates',
    source: 'const xs = [1, 2];\nreturn `a${xs.map((x) => `<${x > 1 ? `${x}!` : `{${x}}`}>`).join("")}b`;',
  },
  {
    name: 'switch',
    source:
      'const out = [];\nfor (const x of [1, 2, 3]) { switch (x) { case 1: out.push("one"); break; case 2: { out.push("two"); } default: out.push("rest"); } }\nreturn out;',
  },
  { name: 'do and while', source: 'let i = 0; do i++; while (i < 5)\nwhile (i --> 0);\nreturn i;' },
  {
    name: 'no semicolons',
    source:
      'const a = 1\nlet b = a\n  + 2\nconst f = (x) => x * 2\nconst list = [a, b]\n;[b] = [f(b)]\nreturn [a, b, ...list]',
  },
  {
    name: 'comma and void',
    source: 'let a = (1, 2);\nvoid a;\nreturn [a, typeof undefined, typeof nope, delete {}.x];',
  },
  {
    name: 'closures in loops',
    source: 'const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i);\nreturn fs.map((f) => f());',
  },
  {
    name: 'recursion and hoisting',
    source: 'return fact(5);\nfunction fact(n) { return n < 2 ? 1 : n * fact(n - 1); }',
  },
  { name: 'early return', source: 'if (true) { return { early: true }; }\nreturn { early: false };' },
  {
    name: 'an immediately called function in the middle',
    source:
      'const x = await (async () => 4)();\nconst y = (function () { return this; })();\nreturn [x, y === undefined];',
  },
  {
    name: 'generics and overloads',
    source: `function pick<T extends object, K extends keyof T>(o: T, ...keys: K[]): Pick<T, K> { return Object.fromEntries(keys.map((k) => [k, o[k]])) as Pick<T, K>; }
function over(a: string): string; function over(a: number): number; function over(a: any) { return a; }
const id = <T,>(x: T): T => x;
return [pick({ a: 1, b: 2 }, 'a'), over(3), id<string>('s'), <number>(4 as unknown)];`,
    answer: [{ a: 1 }, 3, 's', 4],
  },
  {
    name: 'satisfies, as const, non-null and definite assignment',
    source: `let later!: string; later = 'x';
const config = { port: 80 } as const satisfies { port: number };
function assertIsString(v: unknown): asserts v is string { if (typeof v !== 'string') throw new TypeError('no'); }
assertIsString(later);
return [config.port, later!.length, (later as any as string)!];`,
    answer: [80, 1, 'x'],
  },
  {
    name: 'type-only syntax of many kinds',
    source: `type Mapped<T> = { readonly [K in keyof T]?: T[K] extends infer U ? U : never };
type Fn = new (...args: any[]) => object; declare const nothing: number; declare function ghost(): void;
type Tpl = \`\${string}-\${number}\`; unique: { const s: unique symbol = Symbol() as any; break unique; }
let x: import('x').Y | typeof globalThis | (abstract new () => void);
class C<in out T> implements Iterable<T> { declare y: T; private z?: T; static readonly q: number = 1; [key: string]: any; override?(): void; *[Symbol.iterator](): Iterator<T> {} }
return C.q;`,
    answer: 1,
  },
  {
    name: 'keywords as names',
    source:
      'const o = { if: 1, class: 2, await: 3, return: 4, typeof: 5, new: 6 };\nreturn o.if + o.class + o.await + o.return + o.typeof / 5 + o.new;',
  },
  {
    name: 'JSON of many rows',
    source: `return [${Array.from({ length: 300 }, (_, i) => `{ id: ${i}, tags: ["a", "b"], ok: ${i} < 5 ? true : false }`).join(', ')}].length;`,
  },
  {
    name: 'a long chain of else if',
    source: `const n = 70;\n${Array.from({ length: 100 }, (_, i) => `if (n === ${i}) { return ${i}; }`).join(' else ')} else { return -1; }`,
  },
  {
    name: 'a long text joined with plus',
    source: `return (${Array.from({ length: 600 }, (_, i) => `'line ${i}\\n'`).join(' +\n')}).length;`,
  },
  {
    name: 'markup in a template',
    source: `const page = \`<html>{{[[((${'<div class="a">'.repeat(300)}\`;\nreturn page.length;`,
  },
  { name: 'Windows line ends and tabs', source: 'const a = 1;\r\n\tconst b = `x\r\ny`;\r\nreturn [a, b];\r\n' },
  {
    name: 'identifiers in other scripts',
    source: 'const größe = 2, 变量 = 3, \\u0061b = 4;\nreturn größe * 变量 + ab;',
  },
  {
    name: 'dates and maths',
    source: 'return [new Date(0).toISOString(), Math.max(...[1, 2, 3]), (12.345).toFixed(1), parseInt("12px", 10)];',
  },
];
