import type { Fault, FaultPoint } from './faulty-engine.js';
import { makeCase, type FuzzCase } from './fuzz-case.js';
import type { Random } from './random.js';
import { call, callThatRuns, leaf, type Statement } from './script-tree.js';

const at = leaf('at();');
const flat = call('echo(ARGS)', '{ n, check: check(n) }');
const deep = call(
  'tools.echo(ARGS)',
  '{ n, check: check(n), shape: "deep", deep: { list: [n, [{ n }], null, true] } }',
);
const nested = callThatRuns('{ toJSON() {', 'return { n, check: check(n) }; } }')([flat, at, flat]);
const say = leaf(
  'try { console.log({ a: [1, "x"] }, new Error("y")); text({ a: 1 }); context.emitProgress("p"); } catch {}',
);
const look = leaf('try { Object.keys(tools); tools.space.inner; tools.missing; } catch {}');
const settled = leaf('await Promise.allSettled(held); return next;');

/** The calls of this statement exceed the bridge's lists repeatedly. */
const many: Statement = { open: 'for (let k = 0; k < 300; k++) {', close: '}', body: [flat], inside: 'same' };

interface Program {
  readonly statements: readonly Statement[];
  readonly ending: Statement;
}

/** The memory ends between the two reads of the clock, or at a moment of the host. */
const PROGRAMS: readonly Program[] = [
  { statements: [at, many], ending: settled },
  { statements: [at, flat, at, flat, flat], ending: settled },
  { statements: [flat, at, flat, at, flat], ending: settled },
  { statements: [at, deep, at, flat], ending: settled },
  { statements: [flat, at, nested, at, flat], ending: settled },
  { statements: [at, say, at, say], ending: settled },
  { statements: [at, look, at, flat], ending: settled },
  { statements: [flat, flat, flat, leaf('await Promise.race(held.slice(0, kept));'), flat], ending: settled },
  { statements: [leaf('at();'), flat], ending: leaf('return { toJSON() { at(); return { next, list: [{}] }; } };') },
  { statements: [leaf('Promise.reject(new Error("lost"));'), at], ending: leaf('throw new Error(long);') },
];

/** Calls about which a user is asked, with every kind of decision: see `HostRecord`. */
export function callsThatAsk(): FuzzCase {
  const asks = call('inner(ARGS)', '{ n, check: check(n) }');
  return makeSwept({ statements: Array<Statement>(40).fill(asks), ending: settled });
}

const MOMENTS: readonly (readonly [FaultPoint, nth: number, lasts: number])[] = [
  ['tick', 1, 250],
  ['tick', 1, 1],
  ['tick', 1, 1],
  ['tick', 1, 1_000_000],
  ['tick', 2, 1],
  ['call', 0, 1],
  ['call', 1, 1_000_000],
  ['begin', 0, 2],
  ['evaluate', 0, 1],
  ['start', 0, 2],
  ['settle', 0, 1],
  ['settle', 1, 1_000_000],
  ['flush', 0, 1],
  ['flush', 1, 1],
  ['describe', 0, 1],
];

/** Bytes, blocks, and about a third of the smallest frame. */
const STEP = { memory: 512, blocks: 1, stack: 16 } as const;
const MAX_ROOM = { memory: 80_000, blocks: 600, stack: 8_000 } as const;
/** The number of consecutive sizes that must be enough before a sweep ends. */
const ENOUGH = 40;

/**
 * A fault at every allocation and every frame in turn: the memory at one moment grows from zero until it is enough. The
 * caller passes whether the last case ran out of memory. The sweep starts with many consecutive calls.
 */
export function* sweepFaults(random: Random): Generator<FuzzCase, never, boolean> {
  yield* sweepMoment(PROGRAMS[0]!, MOMENTS[0]!, 'memory', STEP.memory);
  for (;;) {
    const kind = random.pick(['blocks', 'blocks', 'memory', 'stack'] as const);
    // Takes large steps sometimes: a short campaign then covers the whole range of a moment sooner.
    const step = STEP[kind] * random.pick([1, 1, 3, 7]);
    yield* sweepMoment(random.pick(PROGRAMS), random.pick(MOMENTS), kind, step);
    for (let samples = 0; samples < 50; samples++) yield makeSample(random);
  }
}

function* sweepMoment(
  program: Program,
  [point, nth, lasts]: (typeof MOMENTS)[number],
  kind: Fault['kind'],
  step: number,
): Generator<FuzzCase, void, boolean> {
  for (let room = 0, enough = 0; room < MAX_ROOM[kind] && enough < ENOUGH; room += step)
    enough = (yield makeSwept(program, { point, nth, kind, room, lasts })) ? 0 : enough + 1;
}

function makeSample(random: Random): FuzzCase {
  const [point, nth, lasts] = random.pick(MOMENTS);
  return makeSwept(random.pick(PROGRAMS), { point, nth, kind: 'blocks', room: random.size(200), lasts });
}

function makeSwept({ statements, ending }: Program, ...faults: readonly Fault[]): FuzzCase {
  return {
    statements,
    ending: { ...ending, awaits: true },
    faults,
    limits: {},
    spawn: false,
    settling: { order: 'first', atOnce: 2 },
    movesAfter: [],
  };
}

/** Cases of one program and line: the failure the first times that the line is passed, and the last time. */
const MAX_TIMES = 3;

/**
 * A failure of each line of the bridge that a program passes, one after the other, at its first passes and its last;
 * then failures of any line in generated scripts. The caller passes the lines that the last case reached.
 */
export function* sweepLines(random: Random): Generator<FuzzCase, never, ReadonlyMap<number, number>> {
  const failing: FuzzCase[] = [];
  let lines = 1;
  for (const program of PROGRAMS) {
    const sound = makeSwept(program);
    const passed = yield sound;
    for (const [line, times] of passed) {
      lines = Math.max(lines, line + 1);
      for (const nth of new Set([...Array(Math.min(times, MAX_TIMES)).keys(), times - 1]))
        failing.push({ ...sound, lineFailure: { line, nth } });
    }
  }
  while (failing.length > 0) yield failing.splice(random.below(failing.length), 1)[0]!;
  for (;;) yield { ...makeCase(random), lineFailure: { line: random.below(lines), nth: random.size(12) } };
}
