import {
  DEFAULT_LIMITS,
  type Diagnostic,
  type Limits,
  type Operation,
  type SandboxCapture,
  type Settlement,
  type SourcePosition,
} from '../protocol/index.js';
import type { CallResult, EndedCall, WaitingCall } from '../tools/index.js';
import type { RejectedCall } from './outcome-failure.js';
import type { VoiceState } from './script-voice.js';
import type { InterruptedScript, OpenCall, SpentSoFar, SuspendedScript } from './suspended-script.js';
import type { StoredTape } from './tape.js';

/** What a session goes on from: a script that was put aside, or one whose process ended. */
export interface EarlierLife {
  readonly attempt: number;
  readonly bridge: number | undefined;
  /** With which the script was started, or went on before. */
  readonly limits: Limits;
  /** Undefined: the tape is the only way. */
  readonly capture: SandboxCapture | undefined;
  readonly tape: StoredTape;
  readonly made: number;
  readonly ended: readonly EndedCall[];
  readonly waiting: readonly WaitingCall[];
  /** Calls of which nothing is known but that they had started. */
  readonly unknown: ReadonlySet<number>;
  /** Of those, the ones whose tools said that they may be repeated. */
  readonly repeatable: ReadonlySet<number>;
  /** Detached tasks that had not ended, by the indexes of their calls. */
  readonly running: readonly number[];
  /** What is written of their ends, by the same. */
  readonly taskEnds: ReadonlyMap<number, TaskEnd>;
  readonly open: readonly OpenCall[];
  readonly ready: readonly Settlement[];
  readonly rejected: readonly (readonly [callIndex: number, call: RejectedCall])[];
  /** Undefined: what the script says while it is replayed counts as said. */
  readonly voice: VoiceState | undefined;
  readonly notes?: readonly Diagnostic[] | undefined;
  /** Undefined: its clocks begin anew. */
  readonly spent: SpentSoFar | undefined;
  /** Calls that the tape leaves open are made anew. */
  readonly makesOpenCalls: boolean;
  /** Only what was is to be seen again: nothing goes on. */
  readonly endsWithTape?: boolean;
}

export interface TaskEnd {
  readonly operation: Operation;
  readonly result: CallResult;
}

export function afterSuspension(script: SuspendedScript, taskEnds: ReadonlyMap<number, TaskEnd>): EarlierLife {
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
    voice,
    notes,
    spent,
    makesOpenCalls: false,
  };
}

export function afterInterruption(script: InterruptedScript): EarlierLife {
  const { start, tape, ended, unknown, ready } = script;
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
    unknown: new Set(unknown.map(({ callIndex }) => callIndex)),
    repeatable: new Set(unknown.filter(({ isRepeatable }) => isRepeatable).map(({ callIndex }) => callIndex)),
    running: [],
    taskEnds: new Map(),
    open: [],
    ready,
    rejected: ended.flatMap((call) => rejectedCall(call)),
    voice: undefined,
    spent: undefined,
    makesOpenCalls: true,
  };
}

function rejectedCall({ callIndex, operation }: EndedCall): [number, RejectedCall][] {
  const { error, tool, callId } = operation;
  if (error === undefined) return [];
  const position = placeOfCall(operation);
  return [[callIndex, { code: error.code, message: error.message, toolName: tool, callId, position }]];
}

/** Of a call of an earlier life. Earlier releases kept the line alone. */
export function placeOfCall({ line, column = 1 }: Pick<Operation, 'line' | 'column'>): SourcePosition | undefined {
  return line === undefined ? undefined : { line, column };
}
