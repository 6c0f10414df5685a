import { z } from 'zod';
import { MAX_TIMER_MS } from './limited-signal.js';

/** Larger sources are never parsed, whatever the limits are: the parser's stack is sized for this maximum. */
export const SOURCE_CEILING_BYTES = 65_536;

/** Minimum time between two progress events of one script. */
export const PROGRESS_INTERVAL_MS = 500;

/** Maximum time in ms for tool calls to end after they were aborted. */
export const ABORT_GRACE_MS = 250;

const whole = (max = Number.MAX_SAFE_INTEGER) => z.number().int().min(0).max(max);
const positive = (max = Number.MAX_SAFE_INTEGER) => z.number().int().min(1).max(max);

/** Every limit of one script run. `docs/reference/limits.md` lists the same names and defaults. */
export const LimitsSchema = z.strictObject({
  /**
   * Maximum wall time in ms while the script or its tools run. The time stops while the script waits only for
   * approvals.
   */
  timeoutMs: positive(MAX_TIMER_MS).default(30_000),
  /** The script's own CPU time in ms. */
  computeMs: positive(MAX_TIMER_MS).default(10_000),
  /** Maximum time to wait for a decision, in ms. */
  approvalTimeoutMs: positive(MAX_TIMER_MS).default(60_000),
  /** Guest heap in MiB. */
  memoryMb: z.number().int().min(4).max(1024).default(96),
  /** Guest stack in bytes. */
  maxStackBytes: z.number().int().min(65_536).max(655_360).default(524_288),
  maxSourceBytes: positive(SOURCE_CEILING_BYTES).default(20_480),
  maxReturnBytes: positive().default(131_072),
  maxToolCalls: whole().default(32),
  maxConcurrentToolCalls: positive().default(4),
  /** Maximum number of detached tasks of one script that run concurrently. They do not count as concurrent calls. */
  maxConcurrentDetachedTasks: positive().default(4),
  /**
   * Calls to `sleep`, timers, `catalog` and `tools.spawn`, which are not tool calls. A spawn of `exec` is a tool call.
   */
  maxBuiltinCalls: whole(100_000).default(500),
  /** Bytes of each output stream that a process tool keeps. */
  maxToolOutputBytes: positive().default(262_144),
  /** JSON bytes of one tool result. */
  maxToolResultBytes: positive().default(1_048_576),
  /** Values at every level of one tool result, plus member names. */
  maxToolResultValues: positive().default(100_000),
  /** JSON bytes of one tool call's arguments. */
  maxToolInputBytes: positive().default(1_048_576),
  /**
   * Values at every level of one tool call's arguments, plus member names. Validating them blocks the host's thread.
   */
  maxToolInputValues: positive().default(30_000),
  /** Tokens of a result that enter the conversation. */
  modelOutputTokens: positive().default(8_000),
  /** Console lines that are kept: the first half and the last half. */
  maxLogEvents: whole().default(5_000),
  /** Bytes of the console lines that are kept. */
  maxLogBytes: whole().default(262_144),
  allowDetachedPromises: z.boolean().default(false),
  /** Maximum time that a script waits for a turn in each shared stage: compiler, type checker, sandbox, changes of files; in ms. */
  queueWaitMs: whole(MAX_TIMER_MS).default(5_000),
  maxProgressEvents: whole().default(50),
});

/** Every limit of a script, with its defaults applied. Names that end in `Ms` are times in ms, `Mb` are MiB. */
export type Limits = z.infer<typeof LimitsSchema>;
/** Limits as a host writes them: each one that is omitted has its default. */
export type LimitsInput = z.input<typeof LimitsSchema>;

type Shape = typeof LimitsSchema.shape;
type ChangesShape = {
  [Name in keyof Shape]: z.ZodOptional<Shape[Name] extends z.ZodDefault<infer Inner> ? Inner : never>;
};

/** Some of the limits. Omitted limits keep their current value; no defaults apply. */
export const LimitChangesSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(LimitsSchema.shape).map(([name, limit]) => [name, z.optional(limit.unwrap())]),
  ) as unknown as ChangesShape,
);

/** Defaults for agents and the command line, which replace the defaults of `LimitsSchema`. */
export const AGENT_LIMITS = Object.freeze({
  timeoutMs: 600_000,
  maxToolCalls: 256,
  maxConcurrentToolCalls: 16,
} satisfies Partial<LimitsInput>);

/** The limits, with every limit above its ceiling reduced to the ceiling. */
export function withinCeilings(limits: Limits, ceilings: Partial<LimitsInput>): Limits {
  const within = Object.entries(limits).map(([name, limit]) => {
    const ceiling = ceilings[name as keyof Limits] ?? limit;
    return [name, typeof limit === 'boolean' ? limit && ceiling === true : Math.min(limit, Number(ceiling))];
  });
  return Object.fromEntries(within) as Limits;
}

export const DEFAULT_LIMITS: Limits = Object.freeze(LimitsSchema.parse({}));
