import {
  DEFAULT_LIMITS,
  type Diagnostic,
  type Limits,
  type Operation,
  type SandboxCapture,
  type Settlement,
  type SourcePosition,
} from '../../protocol/index.js';
import { callIdIndex, type CallResult, type WaitingCall } from '../facade/index.js';
import type { RejectedCall } from './outcome-failure.js';
import type { InterruptedScript, OpenCall, OutputState, SpentSoFar, SuspendedScript } from './suspended-script.js';
import type { StoredTape } from './journal.js';

/**
 * The state from which a session resumes a script that was suspended, or that was interrupted by the end of its
 * process.
 */
export interface ResumeState {
  readonly attempt: number;
  readonly bridge: number | undefined;
  /** The limits with which the script was started or last resumed. */
  readonly limits: Limits;
  /** Undefined: the script is replayed along its tape. */
  readonly capture: SandboxCapture | undefined;
  readonly tape: StoredTape;
  readonly made: number;
  readonly ended: readonly Operation[];
  readonly waiting: readonly WaitingCall[];
  /** Calls that had started and whose outcome is unknown. */
  readonly unknown: ReadonlySet<number>;
  /** The calls of `unknown` whose tools allow a repetition. */
  readonly repeatable: ReadonlySet<number>;
  /** Indexes of the calls of detached tasks that had not ended. */
  readonly running: readonly number[];
  /** The ends of tasks, as far as they were stored, by the indexes of their calls. */
  readonly taskEnds: ReadonlyMap<number, TaskEnd>;
  readonly open: readonly OpenCall[];
  readonly ready: readonly Settlement[];
  readonly rejected: readonly (readonly [callIndex: number, call: RejectedCall])[];
  /** Undefined: the script emits its output again while it is replayed. */
  readonly output: OutputState | undefined;
  readonly notes?: readonly Diagnostic[] | undefined;
  /** Undefined: the script's clocks restart. */
  readonly spent: SpentSoFar | undefined;
  /** True if the session makes the calls without an answer in the tape again. */
  readonly makesOpenCalls: boolean;
  /** True if the script ends at the end of its tape, and nothing runs again. */
  readonly endsWithTape?: boolean | undefined;
}

export interface TaskEnd {
  readonly operation: Operation;
  readonly result: CallResult;
}

export function afterSuspension(script: SuspendedScript, taskEnds: ReadonlyMap<number, TaskEnd>): ResumeState {
  const { start, tape, capture, calls, running, open, rejected, voice, notes, spent } = script;
  const { made, ended, waiting } = calls;
  return {
    attempt: start.attempt,
    bridge: start.bridge,
    limits: { ...DEFAULT_LIMITS, ...start.limits },
    capture,
    tape,
    made,
    ended,
    waiting,
    unknown: new Set(),
    repeatable: new Set(),
    running,
    taskEnds,
    open,
    ready: [],
    rejected,
    output: voice,
    notes,
    spent,
    makesOpenCalls: false,
  };
}

export function afterInterruption(script: InterruptedScript): ResumeState {
  const { start, tape, ended, unknown, repeatable, ready } = script;
  const known = [...ended, ...unknown];
  return {
    attempt: start.attempt,
    bridge: start.bridge,
    limits: { ...DEFAULT_LIMITS, ...start.limits },
    capture: undefined,
    tape,
    made: known.length,
    ended: known,
    waiting: [],
    unknown: new Set(unknown.map(({ callId }) => callIdIndex(callId))),
    repeatable,
    running: [],
    taskEnds: new Map(),
    open: [],
    ready,
    rejected: ended.flatMap((call) => rejectedCall(call)),
    output: undefined,
    spent: undefined,
    makesOpenCalls: true,
  };
}

function rejectedCall(operation: Operation): [number, RejectedCall][] {
  const { error, tool, callId } = operation;
  if (error === undefined) return [];
  const position = placeOfCall(operation);
  return [[callIdIndex(callId), { code: error.code, message: error.message, toolName: tool, callId, position }]];
}

/** Returns the position of a call of an earlier process. */
export function placeOfCall({ line, column }: Pick<Operation, 'line' | 'column'>): SourcePosition | undefined {
  return line === undefined || column === undefined ? undefined : { line, column };
}
