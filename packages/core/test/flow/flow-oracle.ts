import type { DrivenRun } from '#core/testing/drive-run.js';
import { flowWorld } from './explicit-flows.js';
import { runLabelled, runPlain, sourcesAt, type FlowWorld } from './label-runs.js';

/** Ways in which a text reaches another text. `A` and `B` stand for texts. */
export const FLOWS: readonly string[] = [
  'A.toUpperCase()',
  'A.slice(1, 5)',
  'A.split("").reverse().join("")',
  'A.replace(/[aeiou]/g, (x) => x + x)',
  'A.replaceAll("e", B)',
  'A.padEnd(12, B)',
  'A + "-" + B',
  '`${A}/${B}`',
  'A.charAt(2) + B.at(-1)',
  'encodeURIComponent(A)',
  'JSON.parse(JSON.stringify({ a: [A] })).a[0]',
  '(A.match(/\\w+/) ?? ["none"])[0]',
  '[...A.matchAll(/\\w/g)].map(([x]) => x).join("")',
  '[...A].map((c) => c.codePointAt(0)).join()',
  'Array.from(A, (c) => c + ".").join("")',
  'btoa(encodeURIComponent(A))',
  'String(new URLSearchParams({ q: A }))',
  'structuredClone({ a: A }).a',
  'Object.keys({ [A]: 1 })[0]',
  'Object.values({ a: A, b: B }).join()',
  'Object.fromEntries([["k", A], ["l", B]]).k',
  'Object.assign({}, { a: A }).a',
  '({ ...{ a: A } }).a',
  'new Map([[A, 1]]).keys().next().value',
  'new Map([["k", A]]).get("k")',
  '[...new Set([A, B])].join()',
  '(await Promise.all([A, B]))[1]',
  '(await Promise.allSettled([Promise.resolve(A)]))[0].value',
  'await Promise.resolve(A).then((x) => x + B)',
  'await Promise.any([Promise.resolve(A)])',
  'await new Promise((ok) => ok(A))',
  'await (async () => A)()',
  '(() => { try { throw new Error(A); } catch (error) { return error.message; } })()',
  '(() => { try { throw A; } catch (error) { return error; } finally { void B; } })()',
  '(await Promise.reject(new Error(A)).catch((error) => error)).message',
  '(class { #a = A; get a() { return this.#a; } })',
  '[...(function* () { yield A; yield B; })()].join()',
  '(await (async () => { let all = ""; for await (const x of (async function* () { yield A; })()) all += x; return all; })())',
  '(() => { let all = ""; for (const c of A) all += c; return all; })()',
  '(() => { let all = ""; for (const key in { [A]: 1 }) all += key; return all; })()',
  '(() => { const [x, ...rest] = A; return rest.join("") + x; })()',
  '(({ a, ...rest }) => rest.b + a)({ a: A, b: B })',
  '((x = A, ...rest) => x + rest)(undefined, B)',
  '(function () { return arguments[0]; })(A)',
  '(function () { return this.a; }).bind({ a: A })()',
  '(function (x) { return x; }).call(null, A)',
  'Reflect.apply((x) => x, null, [A])',
  'Reflect.get({ a: A }, "a")',
  '(() => { const o = {}; Object.defineProperty(o, "a", { value: A }); return o.a; })()',
  '(() => { const o = { get a() { return A; } }; return o.a; })()',
  'new Proxy({}, { get: () => A }).a',
  'Object.create({ a: A }).a',
  '(() => { const l = [A]; l.push(B); l.unshift("x"); return l.pop() + l.shift() + l[0]; })()',
  '[A, B, "m"].sort()[0]',
  '[A, B].toSorted((x, y) => (x < y ? -1 : 1)).join()',
  '[A, B].reverse()[0]',
  '["x"].concat([A], B)[1]',
  '[[A], [B]].flat().join()',
  '[A].flatMap((x) => [x, B]).join()',
  '[A, B].reduce((all, x) => all + x, "")',
  '[A, B].filter((x) => x !== "").at(0)',
  '["a", "i", "e"].find((c) => A.includes(c)) ?? "none"',
  '["J", "p"].some((c) => A.startsWith(c))',
  '[B, A].pop()',
  '[A, B].shift()',
  '(() => { const l = ["x"]; l.unshift(A); return l[0]; })()',
  '["m", B, A].sort()[0]',
  '["a", "b", A].indexOf(B)',
  '[A, B].entries().next().value[1]',
  '[A, "q"].with(1, B).join()',
  '[A, B, "c"].toSpliced(0, 1).join()',
  '(() => { const l = [1, 2, 3]; l.splice(1, 1, A); return l.join(); })()',
  'new Array(2).fill(A).join()',
  'Object.entries(Object.groupBy([A], (x) => x + B))[0][0]',
  'A.charCodeAt(0) ^ 3',
  'A.charCodeAt(0) > 100',
  'A < B',
  'A === B',
  'A ? A : B',
  'A.length > 3 && A',
  'A || B',
  '(A ?? B) + 1',
  'typeof A + A.length',
  '-A.charCodeAt(0)',
  'Math.max(A.charCodeAt(0), 3)',
  '(A.charCodeAt(0)).toString(2)',
  'parseInt(A, 36)',
  'Number.parseFloat(A.charCodeAt(0) + ".5").toFixed(2)',
  'new Date(A.charCodeAt(0) * 1e9).toISOString()',
  'BigInt(A.charCodeAt(0)) * 2n',
  'new Uint8Array([A.charCodeAt(0)])[0]',
  'new TextDecoder().decode(new TextEncoder().encode(A))',
  'Symbol(A).description',
  '(/(?<x>\\w)/.exec(A) ?? { groups: { x: "" } }).groups.x',
  'String.raw`a${A}`',
  '((s, x) => x + s.raw[0])`b${A}`',
  '(() => { const m = new WeakMap(), k = {}; m.set(k, A); return m.get(k); })()',
  '(() => { const m = new Map(); m.set("k", A); let all = ""; m.forEach((x) => { all += x; }); return all; })()',
  '(() => { let x = "o"; x += A; x &&= x + B; return x; })()',
  '(() => { const o = { n: A.charCodeAt(0) }; o.n++; o["n"] += 1; return o.n; })()',
  '(() => { switch (1) { default: return A; } })()',
  '(() => { do { return A; } while (false); })()',
  '(() => { let i = 0; const out = []; while (i < 2) out.push(A[i++]); return out.join(""); })()',
  'Object.getOwnPropertyNames({ [A]: 1 })[0]',
  'Object.hasOwn({ [A]: 1 }, B)',
  'A in { abc: 1 }',
  'A.localeCompare(B)',
  'A.normalize().trim().repeat(2)',
  'A.lastIndexOf(B.at(0))',
  'A.search(/[m-z]/)',
  'isNaN(A) + String(Boolean(A))',
  'new URL("https://x.org/" + encodeURIComponent(A)).href',
  'Array.of(A, B).join()',
  'globalThis.Iterator.from([A]).map((x) => x + B).toArray()[0]',
  '["x"].map(function () { return this.a; }, { a: A })[0]',
  '["x"].map(function () { return `${this}`; }, A)[0]',
  '(() => { let all = ""; new Map([[1, 2]]).forEach(function () { all += this; }, A); return all; })()',
  'Array.from("x", function () { return this + B; }, A)[0]',
  // Whole results: objects whose parts have no label of their own.
  'structuredClone(m).from',
  '["x"].map(function () { return this.from; }, m)[0]',
  'Object.assign({}, m).tags[0] + Object.freeze(m).from',
  'new Map([[1, m]]).get(1).from + [...new Set([m])][0].body',
  'JSON.stringify([m]) + String(Object.values(m))',
  'Object.values(l[1]).join() + Object.keys(m).join()',
  '[...l].at(1).n + l.toReversed()[0].n + l.with(0, { n: A })[1].n',
  'Object.entries(m).flat().join()',
  'Object.keys(Object.groupBy(l, (x) => x.n)).join()',
  'l.find((x) => x.id === 1).n + l.filter((x) => x.id > 1).map(({ n }) => n).join()',
  '[...l].sort((x, y) => x.id - y.id)[0].n + l.toSorted((x, y) => y.id - x.id)[0].n',
  '(() => { try { throw m; } catch (error) { return error.from; } })()',
  '(await Promise.reject(m).catch((error) => error)).from',
  'new Proxy(m, {}).from + new Proxy({}, { get: () => m }).a.from',
  'Reflect.get(m, "from") + Object.create(m).body',
  'new WeakRef(m).deref().from',
  '(() => { const k = {}, w = new WeakMap([[k, m]]); return w.get(k).from; })()',
  'new (class extends Map {})([[1, A]]).get(1) + [...new (class extends Set {})([B])].join()',
  'new (class P extends (class { constructor(x) { this.x = x; } }) {})(m).x.from',
  'new (class extends Array { n = ((x) => x)(1); })(A, B).at(0)',
  'new (class extends Error { name = "E"; })(A).message',
  'new (class extends Array { constructor(...x) { super(...x); } })(m, 1)[0].from',
  'Reflect.construct(class { constructor(x) { this.x = x; } }, [m]).x.from',
  'Reflect.construct(Array, [m, 1])[0].from + new Array(m, 1)[0].body',
  'Array.prototype.map.call([m], (x) => x.from)[0] + [].map.apply(l, [(x) => x.n])[0]',
  'Object.groupBy([m], () => "k").k[0].from + Map.groupBy(l, (x) => x.id).get(1)[0].n',
  '(() => { const s = new WeakSet([m]); return s.has(m) + m.from; })()',
  'Promise.withResolvers ? await (() => { const d = Promise.withResolvers(); d.resolve(m); return d.promise; })().then((x) => x.from) : m.from',
  'Object.defineProperties({}, { a: { value: m } }).a.from + Object.create({}, { a: { value: A } }).a',
  '[m].copyWithin(0, 0)[0].from + [1].fill(m)[0].from + [[m]].flatMap((x) => x)[0].from',
  '(() => { const a = [1, 2]; a.splice(0, 1, m); a.unshift(l); return a[1].from + a.shift()[0].n; })()',
  'new Set([m]).union(new Set([l])).size + [...new Set([A]).union(new Set([B]))].join()',
  'JSON.parse(A === "" ? "1" : JSON.stringify(m), (key, x) => x).from',
  'structuredClone(new Map([[1, m]])).get(1).from + structuredClone([l])[0][0].n',
  '(await Promise.allSettled([Promise.reject(m)]))[0].reason.from',
  '[...[m].entries()][0][1].from + [...l.keys()].length + Object.entries({ m })[0][1].body',
  'globalThis.Iterator.from([m]).filter(() => true).take(1).flatMap((x) => [x.from]).toArray()[0]',
  '(await Array.fromAsync([m]))[0].from + (await Array.fromAsync(l, (x) => x.n)).join()',
  '(() => { const o = { toJSON: () => m }; return JSON.stringify({ o }); })()',
  '(() => { const o = Object.setPrototypeOf({}, m); return o.from + ("from" in o); })()',
  '(() => { const o = {}; o.__proto__ = m; return o.from; })() + ({ __proto__: m }).body',
  '(() => { const o = {}; Reflect.set(o, "a", m); Reflect.defineProperty(o, "b", { value: l }); return o.a.from + o.b[0].n; })()',
  'A.replace(/./, () => m.from) + [1, 2].sort(() => m.meta.id)[0]',
  '(() => { label: for (const x of [m]) { for (;;) { return x.from; } } })()',
  '(() => { let x; ({ from: x = "d" } = m); [, x = x] = [1, x]; return x; })()',
  '(() => { let x = m; x = x?.meta?.["id"] ?? 0; x **= 2; return x; })()',
  '[].concat(l)[1].n + [l, [m]].flat()[3].from + l.slice(1)[0].n',
  'globalThis.Iterator.from(l).map((x) => x.n).toArray().join()',
  'l.values().drop(1).next().value.n + l.entries().next().value[1].n',
  '(({ meta: { id }, ...rest }) => id + rest.from)(m)',
  '(class { constructor(x = m) { this.x = x; } get a() { return this.x.from; } })',
  '(class { #x = m; get a() { return this.#x.from; } })',
  '(function () { return arguments[0].from; })(m) + (function () { return this.from; }).call(m)',
  'await (async () => m)().then((x) => x.from) + (await Promise.all([m, l]))[1][0].n',
  '(await Promise.race([m])).from + (await Promise.any([m])).body',
  'Object.fromEntries([["k", m]]).k.from + Object.getOwnPropertyDescriptor(m, "from").value',
  'Object.getOwnPropertyDescriptors(m).from.value + Object.entries(l[0]).join()',
  '[...(function* () { yield m; yield* l; })()].map((x) => x.from ?? x.n).join()',
  '(await (async () => { let all = ""; for await (const x of [m]) all += x.from; return all; })())',
  '(() => { let all = ""; for (const { n } of l) all += n; for (const key in m) all += m[key]; return all; })()',
  '((x) => x.from)(((o) => o)(m)) + (A ? m : l).from + (null ?? m).body',
  'l.reduce((all, x) => all + x.n, "") + l.map((x) => x).at(-1).n',
  '(() => { const o = { m }; o.l = l; const { m: a, ...rest } = { ...o }; return a.from + rest.l[0].n; })()',
  '(() => { const f = ((x) => x.from).bind(null, m); return f() + Reflect.apply((x) => x.n, null, [l[0]]); })()',
  '(() => { const o = { get a() { return m; }, set b(x) { this.x = x; } }; o.b = l; return o.a.from + o.x[0].n; })()',
  '(await new Promise((ok) => setTimeout(ok, 0, m))).from',
  '((s, x) => x.from)`b${m}`',
  '`${{ toString: () => m.from }}` + [{ toString: () => m.body }].join()',
  '(() => { const e = new Error("x", { cause: m }); return e.cause.from; })()',
  'new (class extends Array {})(...l).at(0).n + Array.of(m)[0].from',
  '[3, 1].map((x) => l[x]?.n ?? m.tags[0]).join()',
  '[...A].length + [...l, 1].length + [...A].map((x) => x).length',
  '(() => { const a = []; a[1] = m; a.length = 2; return a[1].from + Object.hasOwn(m, A); })()',
];

/** The fixed beginning of a program: its sources. */
const SOURCES = `const w = await tools.web({});
const m = await tools.mail({ i: 1 });
const c = await tools.config({});
const l = await tools.list({});
const t = ['own', w, m.from, m.body, c.owner, l[1].n, c.table];
`;
const SOURCE_COUNT = 7;

/** A generator of numbers from 0 up to a limit. */
export function seededNumbers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function stepOf(flow: string, a: number, b: number): string {
  const text = flow.replaceAll(/\bA\b/gu, `t[${a}]`).replaceAll(/\bB\b/gu, `t[${b}]`);
  return `t.push(String(${flow.startsWith('(class') ? `new ${text}().a` : text}));\n`;
}

const END = `await tools.send({ to: t.slice(${SOURCE_COUNT}), last: { it: t.at(-1) } });`;

/** A program with each of these flows, from a page and the sender of a mail. */
export function programOf(flows: readonly string[]): string {
  return SOURCES + flows.map((flow) => stepOf(flow, 1, 2)).join('') + END;
}

/** A program whose call of `send` has texts that came there in `steps` steps. `first`: the flow of the first step. */
export function makeProgram(next: (limit: number) => number, steps: number, first?: number): string {
  let code = SOURCES;
  for (let step = 0; step < steps; step++) {
    const flow = FLOWS[step === 0 && first !== undefined ? first : next(FLOWS.length)]!;
    const known = SOURCE_COUNT + step;
    const a = step === 0 ? 1 + next(SOURCE_COUNT - 1) : next(known);
    const b = next(known);
    code += stepOf(flow, a, b);
  }
  return code + END;
}

const rotated = (text: string) =>
  text
    .replaceAll(/[a-z]/gu, (c) => String.fromCodePoint(97 + ((c.codePointAt(0)! - 96) % 26)))
    .replaceAll(/[A-Z]/gu, (c) => String.fromCodePoint(65 + ((c.codePointAt(0)! - 64) % 26)));

/** The value with other contents and other lengths. */
function changed(value: unknown): unknown {
  if (typeof value === 'string') return `${rotated(value)}q`;
  if (typeof value === 'number') return value + 1;
  if (Array.isArray(value)) return [...value, value.at(-1)].map(changed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, changed(member)]));
}

/** The world, in which the result of one call is another one. */
function changedWorld(target: number): FlowWorld {
  let index = -1;
  return Object.fromEntries(
    Object.entries(flowWorld()).map(([name, run]) => [
      name,
      (args: { i?: number }) => {
        index += 1;
        const result = run(args);
        return index === target ? changed(result) : result;
      },
    ]),
  );
}

function leaves(value: unknown, path = '', out = new Map<string, string>()): Map<string, string> {
  if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) leaves(member, path === '' ? key : `${path}.${key}`, out);
  else out.set(path, JSON.stringify(value));
  return out;
}

export interface Verdict {
  /** The number of changed runs. */
  readonly runs: number;
  /** The number of arguments that changed. */
  readonly changes: number;
  /** Changed arguments without the label of the call, and runs of the copy that were not the same. */
  readonly missed: readonly string[];
}

const toolCalls = ({ segments }: DrivenRun) =>
  segments.flatMap(({ calls }) => calls.filter(({ name }) => !name.startsWith('$')));

/** Changes the result of each call in turn. Each argument that changes must name the call as its source. */
export async function judgeProgram(body: string, runtime?: string): Promise<Verdict> {
  const { isSame, reports, plain } = await runLabelled(body, flowWorld, runtime);
  if (!isSame) return { runs: 0, changes: 0, missed: ['the copy behaved differently'] };
  const calls = toolCalls(plain);
  const names = reports.map(({ tool }) => tool);
  const at = calls.findLastIndex(({ name }) => name === 'send');
  if (at < 0) return { runs: 0, changes: 0, missed: [] };
  const before = leaves(JSON.parse(calls[at]!.argsJson));
  const missed: string[] = [];
  let [runs, changes] = [0, 0];
  for (let target = 0; target < at; target++) {
    const other = toolCalls(await runPlain(body, changedWorld(target)))[at];
    runs += 1;
    if (other?.name !== 'send') continue;
    const after = leaves(JSON.parse(other.argsJson));
    for (const [path, value] of before) {
      if (after.get(path) === value) continue;
      changes += 1;
      const source = `${names[target]}#${target}`;
      if (!sourcesAt(reports[at]!, path, names).includes(source)) missed.push(`${path} changed with ${source}`);
    }
  }
  return { runs, changes, missed };
}
