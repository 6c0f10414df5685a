import type { Random } from './random.js';
import { RECORD, RECORD_MARK } from './script-record.js';
import { SNIPPETS } from './snippets.js';

/** A statement of a generated script: the text before and after its inner statements. */
export interface Statement {
  readonly open: string;
  readonly close: string;
  readonly body: readonly Statement[];
  /** The context of the body: `await` is possible in 'async' and not in 'sync'. 'same': as in the code around it. */
  readonly inside: 'sync' | 'async' | 'same';
  /** True: the statement contains an `await`. */
  readonly awaits?: boolean;
  /** True: the statement is a script of the corpus, whose calls do not describe themselves. */
  readonly foreign?: boolean;
}

/** The mark of every line with a call to a tool. */
export const CALL_LINE = '/*call*/';

/**
 * Each call sends arguments that describe themselves, and registers itself in a record that uses no memory. The record
 * stays correct even if the script has no memory left for output. A global keeps the record after the script's end.
 */
const PRELUDE = `const at = Date.now, record = new Int32Array(${RECORD.length});
record.set([${RECORD_MARK.join(', ')}]);
globalThis.recordOfCalls = record;
let next = 0, kept = 0;
const check = (n) => (Math.imul(n + 1, 2654435761) >>> 0) % 1000003;
const right = (n) => (reply) => {
  record[${RECORD.settled}]++;
  if (typeof reply?.n === 'number' && (reply.n !== n || reply.reply !== check(n + 7))) record[${RECORD.wrong}]++;
};
const held = new Array(64).fill(null);
const wrong = () => void record[${RECORD.settled}]++;
const keep = (n, promise) => {
  held[kept++ & 63] = promise.then(right(n), wrong);
  record[${RECORD.kept}]++;
};
const long = 'x'.repeat(20000);
const hoard = new Array(4000).fill(null); let hoarded = 0;
const echo = tools.echo, inner = tools.space.inner, bound = echo.bind(null);
`;

export function renderScript(statements: readonly Statement[], ending: Statement): string {
  return PRELUDE + statements.map((one) => render(one, true)).join('') + render(ending, true);
}

function render(statement: Statement, mayAwait: boolean): string {
  if (statement.awaits === true && !mayAwait) return '';
  const inside = statement.inside === 'same' ? mayAwait : statement.inside === 'async';
  return `${statement.open}\n${statement.body.map((one) => render(one, inside)).join('')}${statement.close}\n`;
}

export function isForeign(statements: readonly Statement[]): boolean {
  return statements.some(({ foreign, body }) => foreign === true || isForeign(body));
}

export const leaf = (open: string, more: Partial<Statement> = {}): Statement => ({
  open,
  close: '',
  body: [],
  inside: 'same',
  ...more,
});
const wrap =
  (open: string, close: string, inside: Statement['inside'] = 'same', awaits = false) =>
  (body: readonly Statement[]): Statement => ({ open, close, body, inside, ...(awaits && { awaits }) });

const CALLEES = [
  'echo(ARGS)',
  'tools.echo(ARGS)',
  'inner(ARGS)',
  'tools.space.inner(ARGS)',
  'bound(ARGS)',
  'echo.call(1, ARGS)',
  'Reflect.apply(echo, null, [ARGS])',
  'new Proxy(echo, {})(ARGS)',
];

/** The arguments of calls. `expectedArguments` in `oracle.ts` computes the same ones. */
const ARGUMENTS = [
  '{ n, check: check(n) }',
  '{ n, check: check(n), shape: "text", pad: "aé😀\\n\\u2028\\"".repeat(n % 9) }',
  '{ n, check: check(n), shape: "deep", deep: { list: [n, [{ n }], null, true] } }',
  '{ toJSON() { return { n, check: check(n) }; } }',
  '{ get n() { return n; }, check: check(n) }',
  'new Proxy({ n, check: check(n) }, {})',
  'Object.assign(Object.create(null), { n, check: check(n) })',
  '{ n, check: check(n), shape: "large", pad: "y".repeat((n % 5) * 900) }',
];

export const call = (callee: string, args: string): Statement =>
  leaf(
    `{ const n = next++; try { const p = ${callee.replace('ARGS', args)}; record[${RECORD.calls} + record[${RECORD.made}]++] = n; keep(n, p); } catch {} } ${CALL_LINE}`,
  );

/** A call whose arguments run statements of the script. */
export const callThatRuns = (before: string, after: string) => (body: readonly Statement[]) => ({
  open: `{ const n = next++; try { const p = echo(${before} ${CALL_LINE}`,
  close: `${after}); record[${RECORD.calls} + record[${RECORD.made}]++] = n; keep(n, p); } catch {} } ${CALL_LINE}`,
  body,
  inside: 'sync' as const,
});

const HOSTILE_VALUES = [
  'null',
  'undefined',
  'new Map([[1, { a: 1n }]])',
  'new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; } })',
  'new Error(long)',
  'Object.assign(new Error("x"), { name: long, stack: long })',
  '{ toString() { throw new Error(long); } }',
  '{ toJSON() { throw new Error(long); } }',
  '{ ["k".repeat(20000)]: 1n }',
  '{ a: { b: [() => 1] } }',
  'Symbol("x")',
  '"\\ud800" + long',
  '[1, , 3]',
  'Object.assign(() => 1, { a: 1 })',
  '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
  '(() => { const a = {}; a.a = a; return a; })()',
  '(() => { let a = {}; for (let i = 0; i < 150; i++) a = { a }; return a; })()',
  'held',
  'tools',
  'context',
  'Promise.resolve(1)',
  'new Date(NaN)',
  '/x/g',
  'new (class Odd { get [Symbol.toStringTag]() { throw 1; } })()',
];

const value = (random: Random): string => random.pick(HOSTILE_VALUES);

const tryLeaf = (code: string): Statement => leaf(`try { ${code} } catch {} ${CALL_LINE}`);

const LEAVES: readonly ((random: Random) => Statement)[] = [
  (random) => call(random.pick(CALLEES), random.pick(ARGUMENTS)),
  (random) => call('echo(ARGS)', random.pick(ARGUMENTS)),
  (random) => call(random.pick(CALLEES), ARGUMENTS[0]!),
  () => leaf('at();'),
  () => leaf('at();'),
  (random) => tryLeaf(`console.${random.pick(['log', 'info', 'warn', 'error', 'debug'])}(${value(random)});`),
  (random) => tryLeaf(`text(${value(random)});`),
  (random) => tryLeaf(`context.emitProgress(${value(random)}, "warn");`),
  (random) => call('echo(ARGS)', value(random)),
  (random) => tryLeaf(`sleep(${value(random)}).catch(() => {});`),
  (random) =>
    tryLeaf(
      `catalog.${random.pick(['search', 'describe', 'list'])}(${value(random)}, ${value(random)}).catch(() => {});`,
    ),
  (random) =>
    tryLeaf(`tools.spawn.${random.pick(['exec', 'read', 'wait', 'cancel', 'list'])}("echo", ${value(random)});`),
  (random) =>
    tryLeaf(
      random.pick([
        'tools.missing;',
        'tools.space.missing;',
        'tools[long];',
        'Object.keys(tools); JSON.stringify(tools);',
        '"x" in tools; Reflect.getOwnPropertyDescriptor(tools, "space");',
        'Object.isFrozen(tools.space); Object.isExtensible(tools);',
        'tools.echo = 1;',
        'Object.setPrototypeOf(tools, null);',
        'delete tools.space.inner;',
        'context.a; Object.keys(context);',
        'tools[Symbol.iterator]; tools.then;',
      ]),
    ),
  (random) => leaf(`Promise.reject(${value(random)});`),
  () => leaf('await null;', { awaits: true }),
  () => leaf('await Promise.allSettled(held);', { awaits: true }),
  () => leaf('try { await Promise.race(kept > 0 ? held.slice(0, kept) : [1]); } catch {}', { awaits: true }),
  () => leaf('try { await Promise.any(held.slice(0, 3)); } catch {}', { awaits: true }),
  () =>
    leaf(
      'try { for (let s = 1 << 20; s >= 64; s >>= 1) { try { while (hoarded < 3900) hoard[hoarded] = new ArrayBuffer(s), hoarded++; } catch {} } } catch {}',
    ),
  () => leaf('try { while (hoarded < 3990) hoard[hoarded] = "x" + hoarded, hoarded++; } catch {}'),
  () => leaf('for (let k = 0; k < 3 && hoarded > 0; k++) hoard[--hoarded] = null;'),
  () => leaf('hoard.fill(null); hoarded = 0;'),
  (random) => ({ ...random.pick(SNIPPETS_AS_STATEMENTS) }),
];

const SNIPPETS_AS_STATEMENTS: readonly Statement[] = SNIPPETS.map((source) =>
  leaf(`try { await (async () => {\n${source}\n})(); } catch {}`, { awaits: true, foreign: true }),
);

const WRAPS: readonly ((body: readonly Statement[]) => Statement)[] = [
  wrap('{', '}'),
  wrap('try {', '} catch {} finally { at(); }'),
  wrap('for (let k = 0; k < 4; k++) {', '}'),
  wrap('for (let k = 0; k < 30 && next < 300; k++) {', '}'),
  wrap('(() => {', '})();', 'sync'),
  wrap('(async () => {', '})().catch(() => {});', 'async'),
  wrap('Promise.resolve().then(async () => {', '}).catch(() => {});', 'async'),
  wrap('queueMicrotask(() => { try {', '} catch {} });', 'sync'),
  wrap('for (const _ of (function* () { yield 1;', 'yield 2; })()) at();', 'sync'),
  wrap(
    '{ let used = false; const deeper = () => { try { deeper(); } catch {} if (!used) { used = true; try {',
    '} catch {} } }; deeper(); }',
    'sync',
  ),
  wrap(
    '{ let turns = 0; const deeper = () => { try { deeper(); } catch {} if (turns++ < 20) { try {',
    '} catch {} } }; deeper(); }',
    'sync',
  ),
  wrap(`try { sleep({ valueOf() { ${CALL_LINE}`, `return 1; } }).catch(() => {}); } catch {} ${CALL_LINE}`, 'sync'),
  wrap('held[0]?.then(() => { try {', '} catch {} });', 'sync'),
];

/** Calls, lines and messages that run statements while they are created. */
const NESTING: typeof WRAPS = [
  callThatRuns('{ toJSON() {', `return { n, check: check(n) }; } }`),
  callThatRuns('{ check: check(n), get n() {', 'return n; } }'),
  callThatRuns('{ n, check: check(n), shape: "deep", deep: { get list() {', 'return [n, [{ n }], null, true]; } } }'),
  callThatRuns('new Proxy({ n, check: check(n) }, { ownKeys(target) {', 'return Reflect.ownKeys(target); } })'),
  callThatRuns('new Proxy({ n, check: check(n) }, { getPrototypeOf() {', 'return Object.prototype; } })'),
  callThatRuns('{ toJSON() { throw { get name() {', 'return 1; }, toString() { return "a"; } }; } }'),
  wrap('try { console.log({ get a() {', 'return 1; } }, { toString() { return long; } }); } catch {}', 'sync'),
  wrap('try { context.emitProgress({ toString() {', 'return "x"; } }); } catch {}', 'sync'),
  wrap('try { text({ toJSON() {', 'return { a: 1 }; } }); } catch {}', 'sync'),
];

const ENDINGS: readonly ((random: Random) => Statement)[] = [
  () => leaf('await Promise.allSettled(held); return next;', { awaits: true }),
  () => leaf('return next;'),
  (random) => leaf(`return ${value(random)};`),
  (random) => leaf(`throw ${value(random)};`),
  (random) => leaf(`return { a: long.repeat(20), [long]: ${value(random)} };`),
  () => leaf('at(); return { toJSON() { at(); return { next }; } };'),
  () => leaf('return await held[0];', { awaits: true }),
];

const ENDINGS_THAT_RUN: readonly ((body: readonly Statement[]) => Statement)[] = [
  wrap('return { toJSON() {', 'return { next }; } };', 'sync'),
  wrap('throw Object.defineProperty(new Error("x"), "stack", { get() {', 'return long; } });', 'sync'),
  wrap('return { long: long.repeat(9), get a() {', 'return { n: 1 }; } };', 'sync'),
];

function makeStatement(random: Random, depth = 0): Statement {
  if (depth >= 4 || !random.oneIn(3)) return random.pick(LEAVES)(random);
  return random.pick(random.oneIn(2) ? NESTING : WRAPS)(makeStatements(random, 3, depth + 1));
}

export function makeStatements(random: Random, most: number, depth = 0): Statement[] {
  return Array.from({ length: 1 + random.below(most) }, () => makeStatement(random, depth));
}

export function makeEnding(random: Random): Statement {
  if (random.oneIn(4)) return random.pick(ENDINGS_THAT_RUN)(makeStatements(random, 2, 3));
  return random.pick(ENDINGS)(random);
}

/** One change somewhere in the tree; `other` provides statements of another script. */
export function mutate(statements: readonly Statement[], other: readonly Statement[], random: Random): Statement[] {
  const list = [...statements];
  const index = random.below(list.length || 1);
  const chosen = list[index];
  if (chosen !== undefined && chosen.body.length > 0 && !random.oneIn(3)) {
    list[index] = { ...chosen, body: mutate(chosen.body, other, random) };
    return list;
  }
  switch (random.below(8)) {
    case 0:
      list.splice(index, 1);
      break;
    case 1:
      if (chosen !== undefined) list.splice(index, 0, chosen);
      break;
    case 2:
      if (chosen !== undefined) list[index] = random.pick(random.oneIn(2) ? NESTING : WRAPS)([chosen]);
      break;
    case 3:
      if (chosen !== undefined) list.splice(index, 1, ...chosen.body);
      break;
    case 4:
      list.splice(index, 0, ...other.slice(random.below(other.length || 1)).slice(0, 4));
      break;
    case 5:
      if (chosen !== undefined) list[index] = { ...random.pick(WRAPS)(chosen.body) };
      break;
    case 6:
      list.splice(index, 0, leaf('at();'));
      break;
    default:
      list.splice(index, 0, makeStatement(random));
  }
  return list.slice(0, 24);
}
