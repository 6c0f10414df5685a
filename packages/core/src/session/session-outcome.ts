import type {
  CompiledScript,
  Diagnostic,
  Limits,
  Operation,
  Outcome,
  OutcomeMetadata,
  SandboxEnd,
  ScriptFailure,
  SourcePosition,
} from '../protocol/index.js';
import { countCalls, finalOperations } from './final-operations.js';
import { failureOf, type RejectedCall } from './outcome-failure.js';
import type { ScriptOutput } from './script-output.js';
import { abortedDiagnostics, detachedFailure, timerDiagnostics, unhandledDiagnostics } from './unawaited.js';

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
  detached: ReadonlyMap<string, unknown>;
  rejected: ReadonlyMap<number, RejectedCall>;
  /** The places of timers that had not fired. */
  readonly pendingTimers: readonly (SourcePosition | undefined)[];
  /** The note that a value could not be returned, if a repair added its `return`. */
  readonly valueWarning: Diagnostic | undefined;
  /** The code with which the host rejected a call. */
  readonly codeOf: (callIndex: number) => string | undefined;
  /** The number of calls to `sleep`, timers, `catalog` and `tools.spawn` that the script has made. */
  readonly builtinCalls: () => number;
  /** Why the journal could not be written, if that ended the script. */
  readonly unwritten: 'failed' | 'taken' | undefined;
  output: ScriptOutput;
  /** Notes about the calls from when they were made. */
  readonly notes: readonly Diagnostic[];
  metadata: OutcomeMetadata;
}

export type EndedOutcome = Exclude<Outcome, { status: 'suspended' }>;

/** The outcome of a script that has ended. */
export function endedOutcome(parts: OutcomeParts): EndedOutcome {
  const { end, script } = parts;
  const { text: output, logs } = parts.output;
  const closing = parts.output.closingEntry();
  if (closing !== undefined) logs.push(closing);
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
  // Written out twice, because members after a spread object cost more than the rest of a short script's end.
  if (error !== undefined)
    return { status: 'failed', error, scriptId, output, logs, operations, diagnostics, plan, metadata };
  const json = end.type === 'returned' ? end.json : undefined;
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return { status: 'completed', value, scriptId, output, logs, operations, diagnostics, plan, metadata };
}

function failure(parts: OutcomeParts, operations: readonly Operation[]): ScriptFailure | undefined {
  const { end, script, limits, rejected, codeOf, builtinCalls, unwritten } = parts;
  if (end.type === 'returned') return detachedFailure(parts.stillRunning);
  const facts = { elapsedMs: Math.round(parts.metadata.durationMs), ...countCalls(operations) };
  const rejectedCall = (index: number) => rejected.get(index);
  return failureOf(end, { script, limits, rejectedCall, codeOf, builtinCalls, unwritten, facts });
}

function droppedProgress(dropped: number, { maxProgressEvents }: Limits): Diagnostic[] {
  if (dropped === 0) return [];
  const message = `${dropped} progress events were dropped; at most ${maxProgressEvents} are sent, two a second.`;
  return [{ severity: 'info', code: 'progress-dropped', message }];
}
