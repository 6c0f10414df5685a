import {
  scriptFailure,
  type CompiledScript,
  type Diagnostic,
  type Limits,
  type Operation,
  type Outcome,
  type OutcomeMetadata,
  type RunningOutcome,
  type SandboxEnd,
  type SandboxHeap,
  type ScriptFailure,
  type SourcePosition,
} from '../../protocol/index.js';
import { endFailure, valueFault, type FailureSources, type RejectedCall } from './outcome-failure.js';
import { showsMore } from '../flow/shown-texts.js';
import type { ScriptOutput } from './script-output.js';
import { mapGuestStack } from './guest-stack.js';

/** The inputs of a script's outcome. */
export interface OutcomeParts {
  scriptId: string;
  script: CompiledScript;
  limits: Limits;
  end: SandboxEnd;
  /** The operations in call order. */
  operations: readonly Operation[];
  /** Calls that did not stop after the script's end. */
  stillRunning: readonly Operation[];
  /** Ids of the calls that outlive the script. */
  detached: ReadonlyMap<string, unknown> | undefined;
  rejected: ReadonlyMap<number, RejectedCall> | undefined;
  /** The positions of timers that had not fired. */
  readonly pendingTimers: readonly (SourcePosition | undefined)[];
  /** The warning that a value could not be returned, if a repair added the `return`. */
  readonly valueWarning: Diagnostic | undefined;
  /** The code with which the host rejected a call. */
  readonly rejectionCode: (callIndex: number) => string | undefined;
  /** Why a tool may be missing. */
  readonly whyMissing: FailureSources['whyMissing'];
  readonly toolNames: readonly string[];
  /** The number of calls to `sleep`, timers, `catalog` and `tools.spawn` that the script has made. */
  readonly builtinCalls: () => number;
  /** The reason why the journal could not be written, if the failed write ended the script. */
  readonly unwritten: FailureSources['unwritten'];
  output: ScriptOutput;
  /** The notes about the script's calls, which the host made when the script made the calls. */
  readonly notes: readonly Diagnostic[];
  metadata: OutcomeMetadata;
}

export type EndedOutcome = Extract<Outcome, { status: 'completed' | 'failed' }>;

/** Returns the outcome of a script that still runs, as a copy. */
export function runningOutcome({
  scriptId,
  script,
  operations,
  output,
  notes,
  metadata,
}: Pick<OutcomeParts, 'scriptId' | 'script' | 'operations' | 'output' | 'notes' | 'metadata'>): RunningOutcome {
  return {
    status: 'running',
    scriptId,
    output: output.text,
    logs: [...output.logs],
    operations: operations.map(withRoundedTimes),
    diagnostics: [...script.diagnostics, ...notes],
    plan: [...script.plan],
    metadata,
    ...(operations.some(isUntrusted) && { untrusted: true as const }),
  };
}

function isUntrusted({ untrusted }: Operation): boolean {
  return untrusted === true;
}

/** Returns the outcome of a script that has ended. */
export function endedOutcome(parts: OutcomeParts): EndedOutcome {
  const { end, script } = parts;
  const { text: output } = parts.output;
  const logs = parts.output.endLogs();
  const operations = finalOperations(parts.operations, end, parts.detached);
  const error = failure(parts, operations);
  const { scriptId, metadata } = parts;
  const plan = [...script.plan];
  const diagnostics = [
    ...script.diagnostics,
    ...parts.notes,
    ...unhandledDiagnostics(end, script),
    ...abortedDiagnostics(end, operations, script),
    ...timerDiagnostics(end, parts.pendingTimers),
    ...(parts.valueWarning === undefined ? [] : [parts.valueWarning]),
    ...droppedProgress(parts.output.droppedProgress(), parts.limits),
  ];
  // The members are listed twice, because members after a spread object cost more than the rest of a short script's
  // end.
  if (error !== undefined) {
    const failed = {
      status: 'failed',
      error,
      scriptId,
      output,
      logs,
      operations,
      diagnostics,
      plan,
      metadata,
    } as const;
    // The report of a failure shows the calls and the error.
    return operations.some(isUntrusted) ? { ...failed, untrusted: true } : failed;
  }
  const json = end.type === 'returned' ? end.json : undefined;
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  const ended = {
    status: 'completed',
    value,
    scriptId,
    output,
    logs,
    operations,
    diagnostics,
    plan,
    metadata,
  } as const;
  return operations.some(isUntrusted) && showsMore(script.source, ended) ? { ...ended, untrusted: true } : ended;
}

function failure(parts: OutcomeParts, operations: readonly Operation[]): ScriptFailure | undefined {
  const { end, rejected } = parts;
  if (end.type === 'returned') return detachedFailure(parts.stillRunning);
  const facts = { elapsedMs: Math.round(parts.metadata.durationMs), ...countCalls(operations) };
  const rejectedCall = (index: number) => rejected?.get(index);
  return endFailure(end, { ...parts, rejectedCall, facts });
}

function droppedProgress(dropped: number, { maxProgressEvents }: Limits): Diagnostic[] {
  if (dropped === 0) return [];
  const message = `${dropped} progress events were dropped; at most ${maxProgressEvents} are sent, two a second. Report progress less often. The host can raise limits.maxProgressEvents.`;
  return [{ severity: 'info', code: 'progress-dropped', message }];
}

const UNFINISHED: ReadonlySet<Operation['status']> = new Set([
  'unknown',
  'not_started',
  'awaiting_approval',
  'aborted',
]);

/**
 * Returns the operations as the outcome reports them. An unawaited call counts as aborted, even if it was aborted
 * before its start. `detached`: the calls that outlive the script.
 */
function finalOperations(
  operations: readonly Operation[],
  end: SandboxEnd,
  detached: ReadonlyMap<string, unknown> | undefined,
): Operation[] {
  return operations.map((operation) => {
    const rounded = withRoundedTimes(operation);
    const isUnawaited = end.type === 'returned' && operation.status === 'not_started' && operation.error === undefined;
    if (!isUnawaited || detached?.has(operation.callId) === true) return rounded;
    const message =
      'The script ended without awaiting this call, so the call never started. Write `await` before the call.';
    return { ...rounded, status: 'aborted', error: { code: 'ToolExecutionError', message } };
  });
}

function withRoundedTimes(operation: Operation): Operation {
  const { startedAtMs, durationMs } = operation;
  return { ...operation, startedAtMs: roundMs(startedAtMs), durationMs: roundMs(durationMs) };
}

function countCalls(operations: readonly Operation[]): { completedTools: number; pendingTools: number } {
  return {
    completedTools: operations.filter(({ status }) => status === 'completed').length,
    pendingTools: operations.filter(({ status }) => UNFINISHED.has(status)).length,
  };
}

/** Rounds to a thousandth, the precision of the clock. */
export function roundMs(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Returns a preview of a value that was too large to return, and that the next script can read by its name. */
export function withKeptValue(end: SandboxEnd, left: SandboxHeap | undefined): SandboxEnd {
  if (end.type !== 'return_too_large' || left?.kept === undefined) return end;
  const { bytes, head: preview } = end;
  return { type: 'returned', json: JSON.stringify({ kept: left.kept, bytes, preview }), unhandled: [] };
}

/** Repairs that insert a `return` before a value. */
const RETURNING_REPAIRS: ReadonlySet<string> = new Set([
  'repair-unawaited-call',
  'repair-function',
  'repair-last-value',
]);

interface ValueEnd {
  readonly end: SandboxEnd;
  /** The note that the value was omitted. */
  readonly warning: Diagnostic | undefined;
}

/**
 * Removes a value that cannot be returned if a repair added the `return`. The script has not failed in this case,
 * because its work is done.
 */
export function withoutRepairedReturn(end: SandboxEnd, { diagnostics }: CompiledScript, limits: Limits): ValueEnd {
  if (end.type !== 'unserializable' && end.type !== 'return_too_large') return { end, warning: undefined };
  const repair = diagnostics.find(({ code }) => RETURNING_REPAIRS.has(code));
  if (repair === undefined) return { end, warning: undefined };
  const { line, column } = repair;
  const message = `The script has no \`return\`, and the value of its last statement was left out. ${valueFault(end, limits)}`;
  const place = line === undefined ? {} : { line, column };
  return {
    end: { type: 'returned', json: undefined, unhandled: [] },
    warning: { severity: 'warning', code: 'value-left-out', message, ...place },
  };
}

/** Returns a failure if a call with effects still ran at the script's end and did not stop when it was aborted. */
function detachedFailure(stillRunning: readonly Operation[]): ScriptFailure | undefined {
  const withEffects = stillRunning.filter(({ effect }) => effect !== 'read');
  const [first] = withEffects;
  if (first === undefined) return undefined;
  const names = withEffects.map(({ tool }) => `tools.${tool}`).join(', ');
  return scriptFailure(
    'DetachedPromiseError',
    `The script ended while ${names} ${withEffects.length === 1 ? 'was' : 'were'} still running. Whether ${withEffects.length === 1 ? 'it' : 'they'} took effect is not known.`,
    {
      toolName: first.tool,
      callId: first.callId,
      line: first.line,
      hint: 'Await every tool call.',
    },
  );
}

/** Returns one warning for each rejection that nothing handled. */
function unhandledDiagnostics(end: SandboxEnd, script: CompiledScript): Diagnostic[] {
  if (end.type !== 'returned' && end.type !== 'threw' && end.type !== 'stalled') return [];
  return (end.unhandled ?? []).map((thrown) => {
    const position = mapGuestStack(thrown.stack, script).position;
    const name = thrown.name === '' ? '' : `${thrown.name}: `;
    return {
      severity: 'warning',
      code: 'unhandled-rejection',
      message: `A promise was rejected and nothing handled it; await it, or handle the rejection with catch: ${name}${thrown.message}`,
      ...(position === undefined ? {} : { line: position.line, column: position.column }),
    };
  });
}

/**
 * Returns a warning about timers whose callbacks never ran. Nothing else shows that the effects of the callbacks are
 * missing.
 */
function timerDiagnostics(end: SandboxEnd, pending: readonly (SourcePosition | undefined)[]): Diagnostic[] {
  if (pending.length === 0 || end.type !== 'returned') return [];
  const [what, whose] =
    pending.length === 1 ? ['a timer was', 'its callback'] : [`${pending.length} timers were`, 'their callbacks'];
  const message = `The script ended while ${what} pending; ${whose} will not run. Await the work, or clear the timer.`;
  return [{ severity: 'warning', code: 'pending-timer', message, ...pending.find((place) => place !== undefined) }];
}

/**
 * Returns warnings about calls with effects that were aborted because nothing waited for them, one warning for each
 * tool and line. `void tools.x()` marks a deliberate call. Lines that the compiler has already reported are omitted.
 */
function abortedDiagnostics(
  end: SandboxEnd,
  operations: readonly Operation[],
  { source, diagnostics }: CompiledScript,
): Diagnostic[] {
  if (end.type !== 'returned') return [];
  const places = new Map<string, Operation[]>();
  for (const operation of operations) {
    if (operation.status !== 'aborted' || operation.effect === 'read' || isVoided(source, operation)) continue;
    const key = `${operation.tool} ${operation.line}`;
    places.set(key, [...(places.get(key) ?? []), operation]);
  }
  return [...places.values()].flatMap(([first, ...others]) => {
    const { tool, line, column } = first!;
    if (diagnostics.some((note) => note.code === 'floating-promise' && note.line === line)) return [];
    const calls = others.length === 0 ? 'was' : `(${others.length + 1} calls) was`;
    const message = `tools.${tool} ${calls} aborted, because nothing in the script waited for it. Write \`await\` before the call, before calls to functions that make it, or \`await Promise.all(…)\` around the list.`;
    const place = line === undefined ? {} : { line, column };
    return [{ severity: 'warning', code: 'aborted-call', message, ...place } as const];
  });
}

const VOIDED = /\bvoid\s+[\w$.?![\]'"\s]*$/u;
/** The maximum number of characters before a call that are searched for `void`. */
const VOIDED_LENGTH = 200;

function isVoided(source: string, { line, column }: Operation): boolean {
  if (line === undefined || column === undefined) return false;
  const lines = source.split(/\r\n|\n|\r/u).slice(0, line);
  const last = (lines.pop() ?? '').slice(0, column - 1);
  return VOIDED.test([...lines, last].join('\n').slice(-VOIDED_LENGTH));
}

/** Returns the reason in the errors of calls that are aborted because the run did not end by itself. */
export function abortReason(why: 'cancelled' | 'timeout', { timeoutMs }: Limits): string {
  return why === 'timeout' ? `the run took longer than ${timeoutMs} ms (timeoutMs)` : 'the run was cancelled';
}

/** Returns the reason for aborting calls that still run at a script's end. */
export function abortReasonAt(end: SandboxEnd, limits: Limits): string {
  if (end.type === 'cancelled') return abortReason(end.reason, limits);
  return end.type === 'returned' ? 'the script ended without awaiting it' : 'the script ended';
}
