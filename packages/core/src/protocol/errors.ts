import { usageMessage, type UsageErrorCode, type UsageMistake } from './usage-errors.js';

/**
 * The single error table. `docs/reference/errors.md` lists the same codes; a test compares the two.
 *
 * A script's failure is data (`ScriptFailure`) and never thrown. A mistake of the host programmer is thrown as a
 * `ToolscriptUsageError`.
 */

export type FailurePhase = 'detecting' | 'parsing' | 'checking' | 'executing' | 'finalizing';

interface ErrorRow {
  /** The meaning of the code, in one sentence. */
  readonly meaning: string;
  /** The model's next step. */
  readonly advice: string;
  /** True if the same script, or a repaired one, may succeed. */
  readonly retryable: boolean;
  /** True if scripts can catch the code as an error; such codes are global classes in scripts. */
  readonly catchable: boolean;
  readonly phase: FailurePhase;
}

export const ERROR_TABLE = {
  ScriptDisabledError: row('detecting', 'Scripts are disabled here.', 'Use structured tool calls instead.', false),
  HarnessBusyError: row('executing', 'No sandbox became free in time.', 'Run the same script again later.', true),
  ScriptSyntaxError: row(
    'parsing',
    'The script or the block around it is not well formed.',
    'Repair the script and send it again.',
    true,
  ),
  ScriptTypeError: row(
    'checking',
    'The type checker found a call or expression that would fail.',
    'Repair the script and send it again.',
    true,
  ),
  ScriptPolicyError: row(
    'checking',
    'The script uses a construct that scripts may not use.',
    'Rewrite the script without that construct.',
    true,
  ),
  ScriptTooLargeError: row(
    'parsing',
    'The source is larger than the maximum for a script.',
    'Split the work over several scripts.',
    true,
  ),
  ScriptRuntimeError: row(
    'executing',
    'The script threw an error and did not catch it.',
    'Read the operations, then send a script that continues from there.',
    true,
  ),
  ScriptTimeoutError: row('executing', 'The script exceeded its time limit.', 'Do less in one script.', true),
  ScriptMemoryError: row(
    'executing',
    'The script exceeded its memory limit.',
    'Handle the data in smaller parts.',
    true,
  ),
  ScriptStackError: row(
    'executing',
    'The script recursed deeper than its stack.',
    'Use a loop instead of recursion.',
    true,
  ),
  ScriptCancelledError: row('executing', 'The host or the user cancelled the run.', 'Wait for the user.', false),
  ScriptSkippedError: row(
    'executing',
    'An earlier script of the same answer failed.',
    'Repair the earlier script first; then send this one again.',
    true,
  ),
  ApprovalDeniedError: row(
    'executing',
    'The call was not approved: a user, a rule, the approval policy or the host denied it.',
    'Do not repeat the call; ask the user, or choose another approach.',
    false,
    true,
  ),
  ApprovalTimeoutError: row(
    'executing',
    'No user decided about this tool call in time.',
    'Ask the user before you retry.',
    false,
    true,
  ),
  ToolNotFoundError: row(
    'executing',
    'There is no tool with that name.',
    'Use one of the names that exist.',
    true,
    true,
  ),
  ToolValidationError: row('executing', 'The arguments do not fit the tool.', 'Repair the arguments.', true, true),
  ToolExecutionError: row(
    'executing',
    'The tool ran and failed.',
    'Read the message; repair what it names.',
    true,
    true,
  ),
  ToolBudgetExceededError: row(
    'executing',
    'The script made more tool calls than its limit allows.',
    'Make the remaining calls in the next script, or make fewer calls.',
    true,
    true,
  ),
  DetachedPromiseError: row(
    'finalizing',
    'A tool call with effects was still running after the script had ended.',
    'Await every tool call.',
    true,
  ),
  SerializationError: row(
    'finalizing',
    'The value cannot be represented as JSON, or is too large.',
    'Return plain and smaller data.',
    true,
    true,
  ),
  HarnessInternalError: row(
    'executing',
    'Toolscript itself failed.',
    'Run the script again; if it fails again, report it.',
    true,
  ),
  StoreError: row(
    'executing',
    'The store of scripts failed, so the script was interrupted.',
    'Read the operations; do not repeat completed calls.',
    false,
  ),
  SuspensionError: row(
    'executing',
    'A suspended script cannot be resumed.',
    'Read the operations, then send a script that continues from there.',
    false,
  ),
  ScriptInterruptedError: row(
    'executing',
    'The process that ran the script ended before the script did.',
    'Read the operations; do not repeat completed calls.',
    false,
  ),
  ScriptNotFoundError: row('executing', 'There is no script with that id.', 'Use the id from an outcome.', false),
  HeapNotFoundError: row(
    'executing',
    'The variables of earlier scripts are no longer stored.',
    'Declare the variables again.',
    false,
  ),
} as const satisfies Record<string, ErrorRow>;

/** The code of a script's failure, such as `ToolValidationError`. `ERROR_TABLE` describes each code. */
export type ErrorCode = keyof typeof ERROR_TABLE;

/** The codes that a script can catch, each a global class inside the sandbox. */
export const CATCHABLE_CODES: readonly ErrorCode[] = (Object.keys(ERROR_TABLE) as ErrorCode[]).filter(
  (code) => ERROR_TABLE[code].catchable,
);

/** The reason why a script failed, as data. Positions are 1-based and refer to the model's own source. */
export interface ScriptFailure {
  code: ErrorCode;
  message: string;
  phase: FailurePhase;
  line?: number | undefined;
  column?: number | undefined;
  toolName?: string | undefined;
  callId?: string | undefined;
  /**
   * The name and the message of the error, then at most 10 stack frames. All frames are in the script or in saved
   * scripts.
   */
  stack?: string | undefined;
  /** The source lines around the position, with a marker below it. */
  frame?: string | undefined;
  /** The advice for a repair, for example the construct, the tool or the limit to use. */
  hint?: string | undefined;
  retryable: boolean;
  metadata: Record<string, unknown>;
}

/** Creates a failure. The phase and the retryability default to those of `ERROR_TABLE`. */
export function scriptFailure(
  code: ErrorCode,
  message: string,
  extra: Partial<Omit<ScriptFailure, 'code' | 'message'>> = {},
): ScriptFailure {
  const { phase, retryable } = ERROR_TABLE[code];
  return { code, message, phase, retryable, metadata: {}, ...extra };
}

/** Creates the failure of a script that the store of scripts has interrupted: the script continues when it is recovered. */
export function interruptedByStore(
  message: string,
  { metadata, ...extra }: Partial<Pick<ScriptFailure, 'metadata' | 'retryable'>> = {},
): ScriptFailure {
  return scriptFailure('StoreError', message, { ...extra, metadata: { ...metadata, interrupted: true } });
}

/** Whether the store of scripts has interrupted the script that failed with this error. */
export function isInterruptedByStore({
  code,
  metadata,
}: {
  readonly code: string;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}): boolean {
  return code === 'StoreError' && metadata?.interrupted === true;
}

/**
 * A mistake of the host programmer: an unknown option, a closed harness, an invalid tool definition. `USAGE_ERRORS` has
 * all codes with their messages.
 *
 * @example
 *
 * ```ts
 * try {
 *   createHarness({ tools: [getWeather, getWeather] });
 * } catch (error) {
 *   if (error instanceof ToolscriptUsageError) console.error(error.message);
 * }
 * ```
 */
export class ToolscriptUsageError extends Error {
  override readonly name = 'ToolscriptUsageError';
  readonly code: UsageErrorCode;
  readonly #mistake: UsageMistake;

  constructor(...mistake: UsageMistake) {
    super(usageMessage(mistake));
    this.code = mistake[0];
    this.#mistake = mistake;
  }

  /** The parameters that make an equal error, for example in another thread. */
  get mistake(): UsageMistake {
    return this.#mistake;
  }
}

/**
 * The failure of one tool call on the host. A tool may throw this error to set the code, the message and the data. A
 * code that scripts cannot catch becomes `ToolExecutionError`. Any other thrown value becomes a `ToolExecutionError`
 * with the message of that value.
 *
 * @example
 *
 * ```ts
 * throw new ToolCallError('ToolExecutionError', 'The file is locked. Try again in a minute.', { retryAfterMs: 60_000 });
 * ```
 */
export class ToolCallError extends Error {
  readonly code: ErrorCode;
  /** JSON data for the script, which reads it as `error.data`. */
  readonly data: unknown;

  constructor(code: ErrorCode, message: string, data?: unknown) {
    super(message);
    this.name = code;
    this.code = code;
    this.data = data;
  }
}

function row(phase: FailurePhase, meaning: string, advice: string, retryable: boolean, catchable = false): ErrorRow {
  return { phase, meaning, advice, retryable, catchable };
}
