import type { SandboxLimits } from '#core/protocol/index.js';
import { TEST_LIMITS } from '#core/testing/drive-run.js';
import type { Fault, FaultPoint } from './faulty-engine.js';
import type { LineFailure } from './guest-images.js';
import type { Random } from './random.js';
import { makeEnding, makeStatements, mutate, type Statement } from './script-tree.js';

/** The inputs of a case, as JSON, so that the case can be repeated alone. */
export interface FuzzCase {
  readonly statements: readonly Statement[];
  readonly ending: Statement;
  readonly faults: readonly Fault[];
  /** Only for a guest whose lines can fail. */
  readonly lineFailure?: LineFailure;
  readonly limits: Partial<SandboxLimits>;
  readonly spawn: boolean;
  /** The order in which pending calls are settled, and how many are settled together. */
  readonly settling: { readonly order: 'first' | 'last'; readonly atOnce: number };
  /** The segments after which the script continues in another sandbox. */
  readonly movesAfter: readonly number[];
}

const SMALL: readonly Partial<SandboxLimits>[] = [
  {},
  {},
  { maxCalls: 12, maxBuiltinCalls: 3 },
  { maxLogEvents: 2, maxProgressEvents: 1 },
  { maxCalls: 2, maxBuiltinCalls: 1, maxLogEvents: 1 },
  { maxToolInputBytes: 2_000 },
  { maxLogBytes: 3_000, maxOutputBytes: 600, maxReturnBytes: 900 },
  { maxCalls: 3, maxBuiltinCalls: 1, maxToolInputBytes: 200, maxLogEvents: 2 },
];

/** Most scripts of a case stay within the memory that a sandbox keeps. */
export const FUZZ_LIMITS: SandboxLimits = { ...TEST_LIMITS, computeMs: 20_000, memoryMb: 3, maxStackBytes: 131_072 };

const POINTS: readonly FaultPoint[] = ['begin', 'evaluate', 'start', 'settle', 'flush', 'describe', 'call', 'tick'];

export function makeCase(random: Random): FuzzCase {
  return {
    statements: makeStatements(random, 8),
    ending: makeEnding(random),
    faults: makeFaults(random),
    limits: random.pick(SMALL),
    spawn: random.oneIn(3),
    settling: { order: random.pick(['first', 'last'] as const), atOnce: random.pick([1, 2, 100]) },
    movesAfter: random.oneIn(6) ? [random.below(3)] : [],
  };
}

const MAX_ROOM = { memory: 40_000, blocks: 300, stack: 12_000 } as const;

function makeFaults(random: Random): Fault[] {
  return random.oneIn(3) ? [] : Array.from({ length: 1 + random.below(3) }, () => makeFault(random));
}

function makeFault(random: Random): Fault {
  const kind = random.pick(['stack', 'memory', 'blocks'] as const);
  return {
    point: random.oneIn(2) ? 'tick' : random.pick(POINTS),
    nth: random.size(12),
    kind,
    room: random.size(MAX_ROOM[kind]),
    lasts: random.oneIn(4) ? 1_000_000 : 1 + random.size(8),
  };
}

export function mutateCase(parent: FuzzCase, other: FuzzCase, random: Random): FuzzCase {
  let { statements, ending, faults, limits, settling, movesAfter } = parent;
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    switch (random.below(8)) {
      case 0:
        faults = makeFaults(random);
        break;
      case 1:
        faults = faults.map((fault) => ({ ...fault, room: Math.max(0, fault.room + random.below(33) - 16) }));
        break;
      case 2:
        ending = random.oneIn(2) ? other.ending : makeEnding(random);
        break;
      case 3:
        limits = random.pick(SMALL);
        break;
      case 4:
        settling = other.settling;
        movesAfter = random.oneIn(2) ? [random.below(4)] : [];
        break;
      default:
        statements = mutate(statements, other.statements, random);
    }
  }
  return { ...parent, statements, ending, faults, limits, settling, movesAfter };
}
