import type { Diagnostic, LogEntry, Operation, SandboxCall, SandboxCapture } from '../../protocol/index.js';
import type { SuspendedCalls } from '../facade/index.js';
import type { RejectedCall } from './outcome-failure.js';
import type { ScriptStart } from './script-start.js';
import type { StoredTape } from './journal.js';

/**
 * The stored data of a suspended script: its memory if the runtime could capture it, the tape that leads to the same
 * memory, and the host's state. All members are plain data except `capture.state`, which is bytes.
 */
export interface SuspendedScript {
  readonly start: ScriptStart;
  readonly tape: StoredTape;
  readonly capture: SandboxCapture | undefined;
  readonly calls: SuspendedCalls;
  /** Detached tasks that ran, by the indexes of their calls. */
  readonly running: readonly number[];
  /** Calls that are made again when the script is resumed: timers, waits for tasks, and calls over the budget. */
  readonly open: readonly OpenCall[];
  readonly rejected: readonly (readonly [callIndex: number, call: RejectedCall])[];
  readonly voice: OutputState;
  /** Notes about the script's calls. */
  readonly notes: readonly Diagnostic[];
  readonly spent: SpentSoFar;
}

/** The output of a suspended script, as plain data. */
export interface OutputState {
  readonly logs: readonly LogEntry[];
  readonly lastLogs: readonly LogEntry[];
  readonly output: string;
  readonly logBytes: number;
  readonly droppedLogs: number;
  readonly progressEvents: number;
  readonly droppedProgress: number;
}

/** A call without an answer when its script was suspended. `remainingMs`: the remaining time of a timer. */
export type OpenCall = SandboxCall & { readonly remainingMs?: number | undefined };

/** The state of a clock that continues in another process. All times are in ms. */
export interface ClockReading {
  readonly remainingMs: number;
  readonly pausedMs: number;
}

export interface SpentSoFar {
  readonly wall: ClockReading;
  /** The time since the script's start, in ms. */
  readonly elapsedMs: number;
  /** The time of the suspension, in ms since 1970. */
  readonly atMs: number;
  readonly guestClockMs: number;
  readonly computeMs: number;
  readonly memoryBytes: number;
  readonly cacheHit: boolean;
  readonly compilationCacheHit: boolean;
}

/**
 * A script that was interrupted by the end of its process, as its journal describes it. A call that had started and has
 * no result may have had an effect. Such a call is repeated only if its tool allows repetitions.
 */
export interface InterruptedScript {
  readonly start: ScriptStart;
  readonly tape: StoredTape;
  /** Calls with a known outcome, and calls that had started and whose outcome is unknown. */
  readonly ended: readonly Operation[];
  readonly unknown: readonly Operation[];
  /** The indexes of the calls of `unknown` whose tools allow a repetition. */
  readonly repeatable: ReadonlySet<number>;
  /** Results that were too late to be delivered. */
  readonly ready: StoredTape['batches'][number]['settlements'];
}
