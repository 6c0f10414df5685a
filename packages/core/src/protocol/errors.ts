/**
 * The one error table. `docs/reference/errors.md` lists the same codes; a test holds the two together.
 *
 * A script's failure is data (`ScriptFailure`), never thrown at the host. What the host programmer did
 * wrong is thrown as a `ToolscriptUsageError`.
 */

export type FailurePhase = 'detecting' | 'parsing' | 'checking' | 'executing' | 'finalizing';

interface ErrorRow {
  /** What the code stands for, in one sentence. */
  readonly meaning: string;
  /** What a model should do next. */
  readonly advice: string;
  /** True where the same script (or a repaired one) may succeed. */
  readonly retryable: boolean;
  /** True where the code reaches the script as an error it can catch; such codes are global classes there. */
  readonly catchable: boolean;
  readonly phase: FailurePhase;
}

export const ERROR_TABLE = {
  ScriptDisabledError: row('detecting', 'Scripts are switched off here.', 'Use structured tool calls instead.', false),
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
    'Rewrite the script without it.',
    true,
  ),
  ScriptTooLargeError: row(
    'parsing',
    'The source is larger than a script may be.',
    'Split the work over several scripts.',
    true,
  ),
  ScriptRuntimeError: row(
    'executing',
    'The script threw an error and did not catch it.',
    'Read the operations, then send a script that goes on from there.',
    true,
  ),
  ScriptTimeoutError: row('executing', 'The script ran longer than its clock allows.', 'Do less in one script.', true),
  ScriptMemoryError: row(
    'executing',
    'The script needed more memory than it may use.',
    'Handle the data in smaller parts.',
    true,
  ),
  ScriptStackError: row(
    'executing',
    'The script recursed deeper than its stack.',
    'Use a loop instead of recursion.',
    true,
  ),
  ScriptCancelledError: row('executing', 'The run was cancelled from outside.', 'Wait for the person.', false),
  ScriptSkippedError: row(
    'executing',
    'An earlier script of the same answer failed.',
    'Repair the earlier script first; then send this one again.',
    true,
  ),
  ApprovalDeniedError: row(
    'executing',
    'A person or a rule refused this tool call.',
    'Do not repeat the call; ask or go another way.',
    false,
    true,
  ),
  ApprovalTimeoutError: row(
    'executing',
    'Nobody decided about this tool call in time.',
    'Ask the person before trying again.',
    false,
    true,
  ),
  ToolNotFoundError: row('executing', 'There is no tool of that name.', 'Use one of the names that exist.', true, true),
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
    'The script made more tool calls than it may.',
    'Make the calls that are left in the next script, or fewer calls.',
    true,
    true,
  ),
  DetachedPromiseError: row(
    'finalizing',
    'A tool call with effects was still running when the script had ended.',
    'Await every tool call.',
    true,
  ),
  SerializationError: row(
    'finalizing',
    'The value cannot be carried as JSON, or is too large.',
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
    'The store of scripts failed, so the script was cut off.',
    'Read the operations; do not repeat what was done.',
    false,
  ),
  SuspensionError: row(
    'executing',
    'A suspended script cannot be resumed.',
    'Read the operations, then send a script that goes on from there.',
    false,
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** The codes that a script can catch, each a global class inside the sandbox. */
export const CATCHABLE_CODES: readonly ErrorCode[] = (Object.keys(ERROR_TABLE) as ErrorCode[]).filter(
  (code) => ERROR_TABLE[code].catchable,
);

/** Why a script failed, as data. Positions are 1-based and count in the model's own source. */
export interface ScriptFailure {
  code: ErrorCode;
  message: string;
  phase: FailurePhase;
  line?: number;
  column?: number;
  toolName?: string;
  callId?: string;
  /** At most 10 frames, all in `script.ts`. */
  stack?: string;
  /** The lines of source around the place, with a mark under it. */
  frame?: string;
  /** What to use or do instead. */
  hint?: string;
  retryable: boolean;
  metadata: Record<string, unknown>;
}

/** Makes a failure with the table's own phase and retryability, unless said otherwise. */
export function scriptFailure(
  code: ErrorCode,
  message: string,
  extra: Partial<Omit<ScriptFailure, 'code' | 'message'>> = {},
): ScriptFailure {
  const { phase, retryable } = ERROR_TABLE[code];
  return { code, message, phase, retryable, metadata: {}, ...extra };
}

/** What the programmer of the host did wrong: unknown option, closed harness, a tool that cannot be defined. */
export class ToolscriptUsageError extends Error {
  override readonly name = 'ToolscriptUsageError';
}

/**
 * A failure of one tool call, on the host's side. A tool may throw it to choose its message and data;
 * everything else that a tool throws becomes a `ToolExecutionError` with the thrown message.
 */
export class ToolCallError extends Error {
  readonly code: ErrorCode;
  /** JSON data for the script: `error.data` there. */
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
