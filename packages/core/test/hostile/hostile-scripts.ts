import type { ErrorCode } from '@toolscript/core';

/** A malicious script, and the allowed ends of its run: 'completed' or one of the codes. */
export interface HostileScript {
  class: string;
  name: string;
  source: string;
  ends: readonly ('completed' | ErrorCode)[];
  /** The value that the script returns if it completes: it proves that the script reached nothing. */
  value?: unknown;
}

const policy = ['ScriptPolicyError'] as const;
const runtime = ['ScriptRuntimeError'] as const;
const timeout = ['ScriptTimeoutError'] as const;
const memory = ['ScriptMemoryError'] as const;
const memoryOrTime = ['ScriptMemoryError', 'ScriptTimeoutError', 'ScriptRuntimeError'] as const;
const stack = ['ScriptStackError'] as const;

function entries(
  className: string,
  table: Record<string, [string, readonly ('completed' | ErrorCode)[], unknown?]>,
): HostileScript[] {
  return Object.entries(table).map(([name, [source, ends, value]]) => ({
    class: className,
    name,
    source,
    ends,
    ...(value === undefined ? {} : { value }),
  }));
}

export const HOSTILE_SCRIPTS: readonly HostileScript[] = [
  ...entries('dynamic code', {
    'direct eval': ['return eval("1")', policy],
    'indirect eval': ['return (0, eval)("1")', policy],
    'eval through globalThis': ['return globalThis.eval("1")', policy],
    'eval by a computed name': ['return globalThis["ev" + "al"]("1")', runtime],
    'new Function': ['return new Function("return 1")()', policy],
    'Function called': ['return Function("return 1")()', policy],
    'constructor of a function': ['return (() => {}).constructor("return 1")()', [...policy, ...runtime]],
    'constructor of an async function': ['return (async () => {}).constructor("return 1")()', [...policy, ...runtime]],
    'constructor of a generator': [
      'return Object.getPrototypeOf(function* () {}).constructor("yield 1")().next()',
      [...policy, ...runtime],
    ],
    'constructor of an async generator': [
      'return Object.getPrototypeOf(async function* () {}).constructor("yield 1")()',
      [...policy, ...runtime],
    ],
    'constructor chain on a value': ['return "".constructor.constructor("return this")()', [...policy, ...runtime]],
    'constructor by a hidden name': [
      'const k = ["construct", "or"].join(""); return [][k][k]("return this")()',
      runtime,
    ],
    'Reflect.construct of Function': ['return Reflect.construct(Function, ["return 1"])()', [...policy, ...runtime]],
    'Function by apply': ['return Function.prototype.constructor.apply(null, ["return 1"])()', [...policy, ...runtime]],
    'dynamic import': ['return await import("node:fs")', policy],
    'static import': ['import fs from "node:fs"; return fs', policy],
    'import.meta': ['return import.meta.url', policy],
    require: ['return require("fs")', policy],
    'a sort comparator that is code': ['return [1, 2].sort("return 1")', runtime],
    'string timer': ['return setTimeout("1", 1)', runtime],
    'RegExp with code': ['return "x".replace(/x/, "$" + "{1}")', ['completed'], '${1}'],
  }),
  ...entries('host reach', {
    process: ['return process.env', runtime],
    'globalThis.process': ['return typeof globalThis.process', ['completed'], 'undefined'],
    'the host’s Buffer': [
      'return [typeof Buffer.poolSize, typeof Buffer.allocUnsafeSlow]',
      ['completed'],
      ['undefined', 'undefined'],
    ],
    fetch: ['return fetch("http://127.0.0.1")', runtime],
    Worker: ['return new Worker("x")', runtime],
    WebAssembly: ['return typeof WebAssembly', ['completed'], 'undefined'],
    'SharedArrayBuffer and Atomics': [
      'return [typeof SharedArrayBuffer, typeof Atomics]',
      ['completed'],
      ['undefined', 'undefined'],
    ],
    'the engine’s std and os': [
      'return [typeof std, typeof os, typeof scriptArgs, typeof print, typeof gc]',
      ['completed'],
      Array(5).fill('undefined'),
    ],
    'the host through `this`': [
      'return [this === undefined || this === globalThis, (function () { return typeof this })()]',
      ['completed'],
      [true, 'undefined'],
    ],
    'arguments.callee.caller': ['return (function () { return arguments.callee })()', runtime],
    'function.caller': ['function f() { return f.caller } return f()', [...runtime, 'completed']],
    'host names in stacks': [
      'try { null.x } catch (e) { return /node|worker|toolscript|\\/|entry/i.test(e.stack.replace("null", "")) }',
      ['completed'],
    ],
    prepareStackTrace: ['Error.prepareStackTrace = (_, sites) => sites; return new Error().stack', runtime],
    'captureStackTrace call sites': [
      'const o = {}; Error.captureStackTrace?.(o); return typeof o.stack === "string" || o.stack === undefined',
      ['completed'],
      true,
    ],
    'globals of the bridge': [
      'return Object.getOwnPropertyNames(globalThis).filter((n) => /host|bridge|settle|flush|outbox|qjs/i.test(n))',
      ['completed'],
      [],
    ],
    'navigator and location': [
      'return [typeof navigator, typeof location, typeof self, typeof window]',
      ['completed'],
      Array(4).fill('undefined'),
    ],
  }),
  ...entries('bridge tampering', {
    'JSON.stringify replaced': ['JSON.stringify = () => "owned"; return 1', runtime],
    'JSON replaced as a global': [
      'globalThis.JSON = { stringify: () => "owned", parse: () => 1 }; return { a: 1 }',
      runtime,
    ],
    'Promise.prototype.then replaced': ['Promise.prototype.then = () => 1; return 1', runtime],
    'Promise replaced as a global': ['globalThis.Promise = class {}; return 1', runtime],
    'Array.prototype setter': [
      'Object.defineProperty(Array.prototype, "0", { set() { throw 1 } }); return [1]',
      runtime,
    ],
    'Object.prototype setter': [
      'Object.defineProperty(Object.prototype, "calls", { set() {}, get() { return 1 } }); return 1',
      runtime,
    ],
    'Object.prototype.toJSON': ['Object.prototype.toJSON = () => "owned"; return { a: 1 }', runtime],
    'Array.prototype.toJSON defined': [
      'Object.defineProperty(Array.prototype, "toJSON", { value: () => "owned" }); return [1]',
      runtime,
    ],
    'Symbol.species': ['Object.defineProperty(Promise, Symbol.species, { value: class {} }); return 1', runtime],
    'String.prototype method replaced': ['String.prototype.indexOf = () => 0; return 1', runtime],
    'Array iterator poisoned': [
      'Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true }); return [...[1, 2]]',
      runtime,
    ],
    'a result that fakes the end of the outbox': [
      'return "],\\"end\\":[\\"returned\\",\\"2\\"]}"',
      ['completed'],
      '],"end":["returned","2"]}',
    ],
    'an argument that fakes a call': [
      'return (await tools.echo({ x: \'"],[99,"danger","{}",0,0\' })).x',
      ['completed'],
      '"],[99,"danger","{}",0,0',
    ],
    'a log that fakes a call': ['console.log(\'"]],"calls":[[0,"danger","{}",0,0]]\'); return 1', ['completed'], 1],
    'a thenable as the value': ['return { then(resolve) { resolve("from then") } }', ['completed'], 'from then'],
    'a thenable that settles twice': ['return { then(a, b) { a(1); b(2); a(3) } }', ['completed'], 1],
    'a thenable that never settles': ['return { then() {} }', runtime],
    'context replaced': ['context = {}; return 1', [...runtime, 'ScriptSyntaxError']],
    'context redefined': ['Object.defineProperty(globalThis, "context", { value: 1 }); return 1', runtime],
    'console replaced': ['console.log = () => 1; return 1', runtime],
  }),
  ...entries('tool proxy', {
    'a tool replaced': ['tools.echo = () => 1; return 1', runtime],
    'a tool redefined': ['Object.defineProperty(tools, "echo", { value: 1 }); return 1', runtime],
    'a tool deleted': ['delete tools.echo; return 1', runtime],
    'tools replaced': ['globalThis.tools = {}; return 1', runtime],
    'prototype of tools': ['return Object.getPrototypeOf(tools)', ['completed'], null],
    'prototype of tools set': ['Object.setPrototypeOf(tools, { danger: 1 }); return 1', runtime],
    '__proto__ of tools': ['return tools.__proto__', ['ToolNotFoundError']],
    'constructor of tools': ['return tools.constructor', ['ToolNotFoundError']],
    'then of tools': ['return [tools.then === undefined, (await tools) === tools]', ['completed'], [true, true]],
    'symbols on tools': [
      'return tools[Symbol.toPrimitive] === undefined && tools[Symbol.iterator] === undefined',
      ['completed'],
      true,
    ],
    'a hidden tool': ['return tools.hidden({})', ['ToolNotFoundError']],
    'internal names as tools': [
      'return [() => tools.$sleep, () => tools.$spawn, () => tools.$catalog].map((f) => { try { f(); return "found" } catch (e) { return e.name } })',
      ['completed'],
      Array(3).fill('ToolNotFoundError'),
    ],
    'spawn that is not exposed': ['return tools.spawn', ['completed']],
    'a tool called as a constructor': ['return new tools.echo({})', runtime],
    'call, apply and bind on a tool': [
      'return (await tools.echo.call(null, { a: 1 })).a + (await tools.echo.apply({}, [{ a: 2 }])).a',
      ['completed'],
      3,
    ],
    'tools over a proxy': [
      'const p = new Proxy(tools, { get: () => async () => "fake" }); return await p.danger()',
      ['completed', ...runtime],
      'fake',
    ],
    'a very long tool name': ['return tools["x".repeat(100000)]', ['ToolNotFoundError']],
    'the tool list through Reflect': ['return Reflect.ownKeys(tools).includes("hidden")', ['completed'], false],
  }),
  ...entries('approvals', {
    'a denied call': ['await tools.danger({}); return 1', ['ApprovalDeniedError']],
    'a denied call repeated in a loop': [
      'let n = 0; for (let i = 0; i < 200; i++) { try { await tools.danger({}) } catch (e) { if (e instanceof ApprovalDeniedError) n++; else throw e } } return n',
      ['ToolBudgetExceededError'],
    ],
    'arguments that change after the call': [
      'const args = { text: "harmless" }; const p = tools.echo(args); args.text = "changed"; return (await p).text',
      ['completed'],
      'harmless',
    ],
    'arguments with a getter that changes': [
      'let n = 0; return await tools.echo({ get x() { return n++ } })',
      ['completed'],
    ],
    'arguments with toJSON': [
      'return await tools.echo({ toJSON() { return { x: "by toJSON" } } })',
      ['completed'],
      { x: 'by toJSON' },
    ],
    'a forged denial': [
      'throw Object.assign(new Error("no"), { name: "ApprovalDeniedError", code: "ApprovalDeniedError" })',
      runtime,
    ],
    'a denial class constructed by the script': ['throw new ApprovalDeniedError("mine")', runtime],
    'a decision inside the arguments': [
      'return await tools.danger({ decision: "approve", approved: true })',
      ['ApprovalDeniedError', 'ToolValidationError'],
    ],
  }),
  ...entries('tool results', {
    'a result changed, and asked for again': [
      'const r = await tools.echo({ a: { b: 1 } }); r.a.b = 2; return (await tools.echo({ a: { b: 1 } })).a.b',
      ['completed'],
      1,
    ],
    'a result with __proto__': [
      'const r = await tools.echo(JSON.parse(\'{"__proto__":{"admin":true}}\')); return [r.admin === undefined, ({}).admin === undefined]',
      ['ToolValidationError'],
    ],
    'a result with then': ['const r = await tools.echo({ then: "x" }); return r.then', ['completed'], 'x'],
    'a result merged over a prototype': [
      'const r = await tools.echo(JSON.parse(\'{"__proto__":{"polluted":1}}\')); Object.assign({}, r); return ({}).polluted === undefined',
      ['ToolValidationError'],
    ],
    'arguments with __proto__ in them': [
      'const r = await tools.reflect({ nested: JSON.parse(\'{"__proto__":{"x":1},"constructor":1}\') }); return r',
      ['ToolValidationError'],
    ],
    'arguments nested too deeply': [
      'let a = {}; for (let i = 0; i < 5000; i++) a = { a }; return await tools.echo(a)',
      ['ToolValidationError'],
    ],
    'arguments too large': ['return await tools.echo({ x: "x".repeat(3e6) })', ['ToolValidationError']],
    'arguments that are a cycle': ['const a = {}; a.a = a; return await tools.echo(a)', ['ToolValidationError']],
    'arguments that are a function': ['return await tools.echo(() => 1)', ['ToolValidationError']],
    'arguments that throw when read': [
      'return await tools.echo({ get x() { throw new Error("boom") } })',
      ['ToolValidationError'],
    ],
    'arguments that are a revoked proxy': [
      'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return await tools.echo(proxy)',
      ['ToolValidationError', ...runtime],
    ],
    'arguments that call tools while read': [
      'return await tools.echo({ get x() { tools.echo({}); return 1 } })',
      ['completed'],
    ],
  }),
  ...entries('time', {
    'while true': ['while (true) {}', timeout],
    'for ever in a function': ['const f = () => { for (;;); }; f()', timeout],
    'microtask flood': ['const f = () => Promise.resolve().then(f); await f()', [...timeout, ...memory]],
    'async recursion': ['const f = async () => { await null; return f() }; await f()', [...timeout, ...memory]],
    'a flood of microtasks that grows': [
      'const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); await new Promise(() => {})',
      [...timeout, ...memory],
    ],
    'catastrophic regular expression': ['return /^(a+)+$/.test("a".repeat(40) + "b")', timeout],
    'catastrophic lookbehind': ['return /(?<=^(a|aa)+)$/.test("a".repeat(60) + "b")', [...timeout, 'completed']],
    'sort of a sparse array': ['const a = []; a[4e7] = 1; a.sort(); return 1', [...timeout, ...memory]],
    'reverse of a sparse array': ['const a = []; a[4e8] = 1; a.reverse(); return 1', [...timeout, ...memory]],
    'join of a sparse array': [
      'const a = []; a.length = 4e8; return a.join("").length',
      [...timeout, ...memory, 'completed'],
    ],
    'indexOf on an array-like': ['return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)', timeout],
    'copyWithin on an array-like': [
      'Array.prototype.copyWithin.call({ length: 2 ** 40 }, 1, 0)',
      [...timeout, ...runtime],
    ],
    'BigInt power': ['return String(7n ** 700000n).length', [...timeout, ...memory, ...runtime, 'completed']],
    'BigInt factorial': ['let n = 1n; for (let i = 1n; ; i++) n *= i * 1000000007n', [...timeout, ...memory]],
    'padding in a loop': ['for (;;) "x".padEnd(1000000, "y")', timeout],
    'a getter that never ends': ['return { get x() { for (;;); } }', timeout],
    'toJSON that never ends': ['return { toJSON() { for (;;); } }', timeout],
    'toString of the thrown value never ends': ['throw { toString() { for (;;); } }', runtime],
    'a proxy that never ends': ['return new Proxy({}, { ownKeys() { for (;;); } })', timeout],
    'catch and go on': ['for (;;) { try { for (;;); } catch {} finally { continue } }', timeout],
    'finally that never ends': ['try { throw 1 } finally { for (;;); }', timeout],
    'a generator that never ends': [
      'function* g() { for (;;) yield 1 } return [...g()].length',
      [...timeout, ...memory],
    ],
    'JSON.parse reviver': ['return JSON.parse("[" + "1,".repeat(200000) + "1]", function () { for (;;); })', timeout],
    'string comparison': [
      'const a = "a".repeat(2e6); let n = 0; for (;;) n += (a + "x") < (a + "y") ? 1 : 0',
      [...timeout, ...memory],
    ],
    'sleep beyond the clock': ['await sleep(60000); return 1', timeout],
    'many short sleeps': ['for (;;) await sleep(1)', ['ToolBudgetExceededError']],
    'a call that never answers': ['await tools.never({}); return 1', timeout],
  }),
  ...entries('memory', {
    'a string that doubles': ['let s = "x"; for (;;) s += s', memoryOrTime],
    'an array that grows': ['const a = []; for (;;) a.push({ a })', memory],
    'fill of a huge array': ['return new Array(1e9).fill(0).length', memory],
    'typed array': ['return new Uint8Array(2e9).length', [...memory, ...runtime]],
    'array buffers in a list': ['const a = []; for (;;) a.push(new ArrayBuffer(1e6))', memory],
    repeat: ['return "x".repeat(2 ** 29).length', [...memory, ...runtime]],
    'a map that grows': [
      'const m = new Map(); for (let i = 0; ; i++) m.set(i, "x".repeat(1000) + i)',
      [...memory, ...timeout],
    ],
    closures: ['let f = () => 1; for (;;) { const g = f; f = () => g() }', [...memory, ...timeout, ...stack]],
    'errors with long stacks': ['const a = []; for (;;) a.push(new Error("x".repeat(10000)))', memory],
    split: ['return "x".repeat(5e6).split("").map((c) => c + c).length', memory],
    'regular expression over a long text': [
      'return ("ab".repeat(3e6).match(/a/g) ?? []).length',
      [...memory, ...timeout, 'completed'],
    ],
    promises: ['const a = []; for (;;) a.push(new Promise(() => {}))', [...memory, ...timeout]],
    'caught and tried again': [
      'for (;;) { try { const a = []; for (;;) a.push("x".repeat(1e6) + a.length) } catch {} }',
      timeout,
    ],
    'out of memory, claimed': ['throw new RangeError("out of memory")', runtime],
  }),
  ...entries('stack', {
    recursion: ['const f = () => f() + 1; return f()', stack],
    'mutual recursion': ['const f = () => g() + 1, g = () => f() + 1; return f()', stack],
    'recursion by getter': ['const o = { get a() { return this.a + 1 } }; return o.a', stack],
    'recursion by toString': ['const o = { toString() { return "" + o } }; return "" + o', stack],
    'recursion by proxy': ['const p = new Proxy({}, { get(_, k, r) { return r[k] } }); return p.x', stack],
    'recursion by JSON.stringify': [
      'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a).length',
      [...stack, ...memory, ...timeout],
    ],
    'recursion by JSON.parse': ['return JSON.parse("[".repeat(1e5) + "]".repeat(1e5)).length', [...stack, ...runtime]],
    'recursion by sort': ['const f = () => [2, 1].sort(f); return f()', stack],
    'recursion by replace': ['const f = () => "a".replace(/a/, f); return f()', stack],
    'recursion by Array.from': ['const f = () => Array.from([1], f); return f()', stack],
    'recursion by flat': [
      'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity).length',
      [...stack, 'completed'],
    ],
    'recursion by Reflect.apply': ['const f = () => Reflect.apply(f, null, []); return f()', stack],
    'recursion by class construction': ['class A { constructor() { new A() } } return new A()', stack],
    'recursion by spread': ['const f = (...a) => f(...a, 1); return f()', [...stack, ...memory]],
    'a regular expression nested deeply': [
      'return new RegExp("(".repeat(20000) + ")".repeat(20000)).test("")',
      [...stack, ...runtime],
    ],
    'recursion caught a thousand times': [
      'let n = 0; const f = () => f() + 1; for (let i = 0; i < 1000; i++) try { f() } catch { n++ } return n',
      ['completed', ...timeout],
      1000,
    ],
    'stack overflow, claimed': ['throw new RangeError("Maximum call stack size exceeded")', runtime],
    'too many arguments': [
      'return Math.max(...new Array(1e6).fill(1))',
      [...stack, ...runtime, ...memory, 'completed'],
    ],
  }),
  ...entries('output', {
    'a console flood': ['for (let i = 0; i < 1e5; i++) console.log("x".repeat(100)); return 1', ['completed'], 1],
    'one long console line': ['console.log("x".repeat(5e6)); return 1', ['completed'], 1],
    'text without end': ['for (let i = 0; i < 2000; i++) text("x".repeat(1000)); return 1', ['completed'], 1],
    'a progress flood': ['for (let i = 0; i < 1e5; i++) context.emitProgress("x"); return 1', ['completed'], 1],
    'a value printed with a hostile getter': [
      'console.log({ get a() { throw new Error("x") } }); return 1',
      ['completed'],
      1,
    ],
    'a value printed with a hostile constructor': [
      'console.log(Object.create({ get constructor() { throw 1 } })); return 1',
      ['completed'],
      1,
    ],
    'a proxy printed': [
      'console.log(new Proxy({}, { ownKeys() { throw 1 } }), new Proxy([], { get() { throw 1 } })); return 1',
      ['completed'],
      1,
    ],
    'terminal escapes': ['console.log("\\u001b[2J\\u202e"); return "\\u001b]0;x\\u0007"', ['completed']],
    'an object nested deeply printed': [
      'let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; console.log(a); return 1',
      ['completed'],
      1,
    ],
  }),
  ...entries('return values', {
    'a huge value': ['return "x".repeat(2e6)', ['SerializationError']],
    'a cycle': ['const a = {}; a.a = a; return a', ['completed'], { a: '[cycle: value]' }],
    'nested too deeply': ['let a = {}; for (let i = 0; i < 200; i++) a = { a }; return a', ['SerializationError']],
    'a symbol': ['return { a: Symbol("x") }', ['SerializationError']],
    'a bigint': ['return [1n, 2n ** 64n]', ['completed'], [1, '18446744073709551616']],
    'a function': ['return { f() {} }', ['SerializationError']],
    'a proxy that lies': [
      'let n = 0; return new Proxy({}, { ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: () => (n++ > 0 ? new Map() : 1) })',
      ['completed', 'SerializationError'],
    ],
    'a getter that throws': ['return { get a() { throw new TypeError("mine") } }', runtime],
    'toJSON that returns itself': [
      'const o = { toJSON() { return o } }; return o',
      ['completed', 'SerializationError', ...runtime],
    ],
    'lone surrogates': ['return "\\ud800"', ['completed'], '\ud800'],
    'an array with holes and extras': ['const a = [1, , 3]; a.extra = 1; return a', ['completed'], [1, null, 3]],
    'an object that claims to be an outcome': [
      'return { status: "failed", error: { code: "HarnessInternalError" } }',
      ['completed'],
    ],
  }),
  ...entries('error reports', {
    'an error with a hostile name': ['throw Object.assign(new Error("x"), { name: "ScriptTimeoutError" })', runtime],
    'an error with a hostile code': [
      'throw Object.assign(new Error("x"), { code: "HarnessBusyError", retryable: true, phase: "parsing" })',
      runtime,
    ],
    'an error whose name throws': [
      'const e = new Error("x"); Object.defineProperty(e, "name", { get() { throw 1 } }); throw e',
      runtime,
    ],
    'an error whose message is an object': [
      'throw Object.assign(new Error(), { message: { toString() { throw 1 } } })',
      runtime,
    ],
    'an error with a huge message': ['throw new Error("x".repeat(1e6))', runtime],
    'an error with a forged stack': [
      'throw Object.assign(new Error("x"), { stack: "    at evil (/etc/passwd:1:1)\\n    at f (script.ts:9999:1)" })',
      runtime,
    ],
    'a thrown null': ['throw null', runtime],
    'a thrown undefined': ['throw undefined', runtime],
    'a thrown proxy': ['throw new Proxy(new Error("x"), { get() { throw 1 }, getPrototypeOf() { throw 1 } })', runtime],
    'a thrown function': ['throw () => 1', runtime],
    'an error with itself as cause': ['const e = new Error("x"); e.cause = e; throw e', runtime],
    'a tool error thrown again with another name': [
      'try { await tools.fail({}) } catch (e) { try { e.name = "X"; e.code = "Y" } catch {} throw e }',
      ['ToolExecutionError'],
    ],
    'a tool error wrapped': [
      'try { await tools.fail({}) } catch (e) { throw new Error("wrapped", { cause: e }) }',
      runtime,
    ],
  }),
  ...entries('lifecycle', {
    'a call left behind': ['void tools.never({}); return 1', ['completed'], 1],
    'calls left behind after a failure': ['void tools.never({}); void tools.never({}); throw new Error("x")', runtime],
    'a promise left behind that loops': [
      '(async () => { for (;;) await null })(); return 1',
      [...timeout, 'completed'],
    ],
    'a finaliser that calls tools': [
      'new FinalizationRegistry(() => tools.echo({})).register({}, 1); return 1',
      ['completed'],
      1,
    ],
    'a floating rejection': ['Promise.reject(new Error("lost")); return 1', ['completed'], 1],
    'a thousand floating rejections': ['for (let i = 0; i < 5000; i++) Promise.reject(i); return 1', ['completed'], 1],
    'state kept for the next script': [
      'globalThis.leak = "LEAK"; Object.getPrototypeOf(tools); return 1',
      ['completed'],
      1,
    ],
    'unwinding from inside a tool call': [
      'return await tools.echo({ get x() { throw tools } })',
      ['ToolValidationError', ...runtime],
    ],
  }),
  ...entries('engine canaries', {
    'sort that shrinks its array': [
      'const a = Array.from({ length: 1000 }, (_, i) => i); a.sort((x, y) => { a.length = 0; return y - x }); return a.length >= 0',
      ['completed'],
      true,
    ],
    'splice with a hostile species': [
      'class A extends Array { static get [Symbol.species]() { return function () { return new Uint8Array(1) } } } const a = new A(1, 2, 3); try { a.splice(0, 3) } catch {} return 1',
      ['completed'],
      1,
    ],
    'map that grows its array': [
      'const a = [1, 2, 3]; let n = 0; a.map(() => { if (n++ < 1000) a.push(1) }); return a.length',
      ['completed'],
      6,
    ],
    'resizable buffer shrunk under a view': [
      'const b = new ArrayBuffer(64, { maxByteLength: 128 }); const v = new Uint8Array(b); b.resize(8); v.fill(1); return v.length',
      ['completed', ...runtime],
    ],
    'a detached buffer written': [
      'const b = new ArrayBuffer(64); const v = new Uint8Array(b); b.transfer?.(); try { v[0] = 1; v.set([1, 2]) } catch {} return v.length',
      ['completed'],
      0,
    ],
    'lastIndex beyond the text': ['const r = /a/g; r.lastIndex = 2 ** 31; return r.exec("a")', ['completed'], null],
    'toString while joining': [
      'const a = [1, { toString() { a.length = 0; return "x" } }, 2]; return a.join()',
      ['completed'],
    ],
    'iterator that changes its map': [
      'const m = new Map([[1, 1]]); let n = 0; for (const [k] of m) { m.delete(k); if (n++ < 1000) m.set(k + 1, 1) } return n',
      ['completed'],
      1001,
    ],
    'JSON.parse reviver that deletes': [
      'return JSON.parse("[1,2,[3,4]]", function (k, v) { if (k === "0") delete this[1]; return v })',
      ['completed'],
    ],
    'defineProperty on length': [
      'const a = [1, 2, 3]; Object.defineProperty(a, "length", { value: 1, writable: false }); try { a.push(1) } catch {} return a',
      ['completed'],
      [1],
    ],
    'data view out of range': ['new DataView(new ArrayBuffer(8)).setFloat64(4, 1); return 1', runtime],
    'typed array from a hostile iterable': [
      'return new Uint8Array({ length: 2 ** 32, 0: 1 }).length',
      [...runtime, ...memory],
    ],
    'regular expression with named groups and back references': [
      'return "aXbX".replace(/(?<first>a)(.)(b)\\2/u, "$<first>$3$2")',
      ['completed'],
      'abX',
    ],
    'string normalisation of a long text': [
      'return "\\u0344".repeat(20000).normalize("NFKD").length',
      ['completed', ...memory, ...timeout],
    ],
    'proxy chain': [
      'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x === undefined',
      ['completed', ...stack, ...memory],
    ],
    'bound function chain': [
      'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()',
      ['completed', ...stack, ...memory],
    ],
    'prototype chain': [
      'let o = {}; for (let i = 0; i < 2e5; i++) o = Object.create(o); return o.missing === undefined',
      ['completed', ...stack, ...memory],
      true,
    ],
    'concatenation rope': [
      'let s = ""; for (let i = 0; i < 2e5; i++) s = "x" + s; return s.length',
      ['completed', ...stack, ...memory],
      200_000,
    ],
  }),
  ...entries('syntax', {
    'a brace that closes the wrapper': ['return 1 }); globalThis.owned = 1; (async () => {', ['ScriptSyntaxError']],
    'a comment that swallows the wrapper': ['return 1 /*', ['ScriptSyntaxError']],
    'a line comment at the end': ['return 1 // })', ['completed'], 1],
    'an html comment at the end': ['return 1\n--> x', ['ScriptSyntaxError', 'completed']],
    'a template that swallows the wrapper': ['return `', ['ScriptSyntaxError']],
    'a hashbang': ['#!/usr/bin/env node\nreturn 1', ['completed', 'ScriptSyntaxError'], 1],
    with: ['with ({}) {}', ['ScriptSyntaxError', ...policy]],
    'await as a name': ['const await = 1; return await', ['ScriptSyntaxError']],
    'nested brackets': ['return ' + '['.repeat(5000) + ']'.repeat(5000), ['ScriptSyntaxError']],
    'a run of unary operators': ['return ' + '!'.repeat(15000) + '1', ['ScriptSyntaxError']],
    'nested templates': ['return ' + '`${'.repeat(3000) + '1' + '}`'.repeat(3000), ['ScriptSyntaxError']],
    'nested arrows': ['return ' + 'x=>'.repeat(5000) + '1', ['ScriptSyntaxError']],
    'NUL characters': ['return "\0".length', ['completed', 'ScriptSyntaxError'], 1],
    'unicode escapes in names': ['return \\u0065val("1")', [...policy, ...runtime, 'ScriptSyntaxError']],
    'a label called eval': ['eval: for (;;) break eval; return 1', ['ScriptSyntaxError', 'completed', ...policy]],
    'super outside a class': ['return super.x', ['ScriptSyntaxError']],
    'new.target at the top': ['return new.target', ['ScriptSyntaxError']],
    'yield at the top': ['yield 1', ['ScriptSyntaxError']],
  }),
  ...entries('transpiler', {
    'an enum that shadows a global': ['enum Object { A = 1 } return Object.A', ['completed', 'ScriptSyntaxError'], 1],
    'a namespace with code': ['namespace N { export const x = 1 } return N.x', ['completed', 'ScriptSyntaxError'], 1],
    'a type that recurses': ['type A<T> = T extends any ? A<A<T>> : never; let a: A<1>; return 1', ['completed'], 1],
    'a type nested deeply': [
      'type A = ' + '['.repeat(3000) + '1' + ']'.repeat(3000) + '; return 1',
      ['ScriptSyntaxError', 'completed'],
    ],
    'generics that look like comparisons': ['const f = <T,>(x: T) => x; return f<number>(1) < 2', ['completed'], true],
    'a declaration without code': ['declare const process: any; return typeof process', ['completed'], 'undefined'],
    'import type': ['import type { A } from "x"; return 1', [...policy, 'completed']],
    export: ['export const a = 1; return a', [...policy, 'completed']],
    'a decorator': ['function d() {} @d class A {} return 1', [...policy, 'ScriptSyntaxError']],
    'an import assignment': ['import fs = require("fs"); return fs', policy],
    'a source that is too large': ['return 1 //' + 'x'.repeat(30_000), ['ScriptTooLargeError']],
    'a source at its limit': ['return 1 //' + 'x'.repeat(20_000), ['completed'], 1],
  }),
];
