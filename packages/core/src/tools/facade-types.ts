import type { ApprovalRequest, Remember } from '../protocol/approvals.js';
import type { RunIdentity } from '../protocol/run-events.js';
import type { Limits } from '../protocol/limits.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Diagnostic, PlannedCall } from '../protocol/script.js';
import type { SavedScripts } from '../protocol/saved-script.js';
import type { ToolEffect } from '../protocol/tools.js';
import type { ApprovalDecider, ApprovalGate, GateMemory } from '../protocol/approval-gate.js';
import type { ObservedShapes } from './observed-shapes.js';
import type { ToolRegistry } from './registry.js';

/**
 * The only access to tools. A call passes these steps: exists → exposed → within budget → arguments valid → approval
 * (does not count as a running call) → queue (limited concurrency, in order) → execute → result checked and capped. The
 * effective input is serialised once; that text is approved, executed and recorded. The promise of an aborted call may
 * settle before the call has ended. The operation of the call is reported only when the end of the call is known, or
 * when `abortAll` stops waiting for the call.
 */
export interface Facade {
  /** Makes a call. Never rejects. */
  call(call: FacadeCall): Promise<CallResult>;
  /** Aborts one call: a call that lost its race, or a detached task that was cancelled. Unknown ids are ignored. */
  abort(callId: string, reason: string): void;
  /**
   * Ends the script: further calls are refused, every call that is not detached is aborted, and so is a detached call
   * that waits for a decision that no user is asked to make. Aborted calls that run get `graceMs` to settle. Resolves
   * with the operations of calls that did not settle; these operations are then final.
   */
  abortAll(reason: string, graceMs: number): Promise<{ stillRunning: Operation[] }>;
  /**
   * Suspends the script: further calls are refused, and calls that wait for decisions or are over the budget are
   * dropped without an answer. Call this method only if all other pending calls are detached.
   */
  suspend(): SuspendedCalls;
  /**
   * Returns the indexes of the calls over the budget that are not refused yet. A suspended script makes these calls
   * again.
   */
  overBudget(): number[];
  /** Resumes a call that waited when its script was suspended. Never rejects. */
  resumeCall(call: WaitingCall): Promise<CallResult>;
  /** Whether every call has settled. */
  readonly isQuiet: boolean;
  /** Whether a call that had started in an earlier process may be repeated with the same arguments. */
  mayRepeat(operation: Operation): boolean;
  /**
   * Returns the current operations in call order. A running call is `unknown`; a task that outlives the script is
   * `detached`, even before it runs.
   */
  operations(): Operation[];
  pending(): PendingCalls;
  /**
   * Returns the number of calls that count against the budget, including denied and invalid ones, but not calls to
   * unknown tools.
   */
  callsMade(): number;
}

/** A call by a script, or a structured call. */
export interface FacadeCall {
  readonly callId: string;
  /** The index of the call within the script: 0, 1, 2 … */
  readonly callIndex: number;
  /** The tool's name, or its identifier form. */
  readonly tool: string;
  /** JSON text of the arguments; empty if there are none. */
  readonly argsJson: string;
  /** The reason why the arguments could not be written as JSON, including the path. */
  readonly argsProblem?: string;
  readonly line?: number;
  readonly column?: number;
  readonly snippet?: string;
  /** True: the call is a task that outlives the script, so `abortAll` does not abort it while it is queued or runs. */
  readonly detached?: boolean;
  /** True: the call was counted and approved in an earlier process; see `Facade.mayRepeat`. */
  readonly isRepeated?: boolean;
  /** The earlier call, with an unknown outcome, that this call repeats. */
  readonly retries?: Retried;
}

interface Retried {
  readonly callId: string;
  /** The idempotency key of the first call, which the repetition uses too. */
  readonly idempotencyKey: string;
  /**
   * The arguments of the first call. The repetition is refused if the current tool reads these arguments differently.
   */
  readonly inputJson: string;
}

/** `json` is the result's JSON text; an empty text means `undefined`. */
export type CallResult =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly error: GuestError };

export interface PendingCalls {
  /** The number of executing calls, excluding aborted calls that have not settled yet. */
  readonly executing: number;
  /** The number of executing and queued tasks that outlive the script. */
  readonly detached: number;
  readonly queued: number;
  readonly awaitingApproval: number;
  /** The number of calls that wait for a decision that no user is asked to make. */
  readonly parked: number;
  /** The number of calls over the budget. They are refused after all other calls except detached ones have ended. */
  readonly overBudget: number;
}

/** The plain data that is stored about the calls of a suspended script. */
export interface SuspendedCalls {
  /** A user's decisions for several calls. */
  readonly approvals: GateMemory;
  readonly made: number;
  readonly ended: readonly EndedCall[];
  readonly waiting: readonly WaitingCall[];
}

/** A call that is about to execute. */
export interface CallIntent extends EndedCall {
  /** True: the call's tool is idempotent, so the call may be repeated if the process ends now. */
  readonly isRepeatable: boolean;
}

export interface EndedCall {
  readonly callIndex: number;
  readonly operation: Operation;
}

/**
 * A call that waits for a decision. `inputJson` contains the arguments that were shown, and with which the call runs if
 * it is approved.
 */
export interface WaitingCall {
  readonly callIndex: number;
  readonly callId: string;
  readonly tool: string;
  readonly effect: ToolEffect;
  readonly inputJson: string;
  readonly line?: number;
  readonly column?: number;
  readonly snippet?: string;
  readonly detached?: boolean;
  readonly retries?: Retried;
  readonly startedAtMs: number;
  readonly request: ApprovalRequest;
}

export type FacadeEvent =
  | { type: 'tool_call_start'; callId: string; tool: string; input: unknown; effect: ToolEffect; line?: number }
  /** Emitted once for every operation, even for calls that never started. */
  | { type: 'tool_call_done'; operation: Operation }
  /** Emitted when a user is asked. */
  | { type: 'approval_requested'; request: ApprovalRequest }
  /** Also emitted for decisions of rules and policies, which have no earlier request. */
  | {
      type: 'approval_resolved';
      approvalId: string;
      callId: string;
      tool: string;
      /** The arguments with which the call runs if it is approved. */
      inputJson: string;
      /** The script's own arguments, if a user replaced them. */
      replacedInputJson?: string;
      decision: 'approve' | 'deny' | 'timeout' | 'cancelled';
      by: ApprovalDecider;
      note?: string;
      remember?: Remember;
    }
  /** A note about a call's arguments for the script's author. */
  | { type: 'call_noted'; note: Diagnostic }
  | { type: 'progress'; callId: string; tool: string; message: string }
  /** The output of a detached task. */
  | { type: 'output'; callId: string; text: string }
  /**
   * `onlyApprovals`: the facade waits only for decisions. `parked`: the number of these decisions that no user is asked
   * to make.
   */
  | { type: 'waiting_changed'; onlyApprovals: boolean; parked: number };

export interface FacadeOptions {
  readonly registry: ToolRegistry;
  /** Own names of the tools that may be called. */
  readonly exposed: ReadonlySet<string>;
  readonly limits: Pick<
    Limits,
    | 'maxToolCalls'
    | 'maxConcurrentToolCalls'
    | 'maxConcurrentDetachedTasks'
    | 'maxToolInputBytes'
    | 'maxToolInputValues'
    | 'maxToolResultBytes'
    | 'maxToolResultValues'
    | 'maxToolOutputBytes'
    | 'approvalTimeoutMs'
  >;
  readonly gate: ApprovalGate;
  readonly app: unknown;
  readonly principal: string | undefined;
  readonly scriptId: string | undefined;
  readonly identity?: RunIdentity | undefined;
  readonly plan: readonly PlannedCall[];
  readonly savedScripts?: SavedScripts | undefined;
  readonly clock: { nowMs(): number };
  /** The time of the script's start by the monotonic clock. Default: the time when the facade is created. */
  readonly startedAtMs?: number;
  readonly onEvent: (event: FacadeEvent) => void;
  /** Whether the starts and ends of calls are emitted too. Default true. */
  readonly emitsCalls?: boolean;
  /** Records the shapes of results of tools without an output schema. */
  readonly observed?: ObservedShapes;
  /** The calls that were made before the script was suspended. */
  readonly earlier?: Pick<SuspendedCalls, 'made' | 'ended'> | undefined;
  /**
   * Counts a call against the run's budget. Returns false if the run may make no further call. Called once for each
   * call within the script's own budget, except for repeated calls.
   */
  readonly takeCall?: (() => boolean) | undefined;
  /** Called, and awaited, before a call executes. A rejection keeps the call from running. */
  readonly onIntent?: ((intent: CallIntent) => void | Promise<void>) | undefined;
}
