import type { ApprovalRequest, Remember } from '../protocol/approvals.js';
import type { Limits } from '../protocol/limits.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Diagnostic, PlannedCall } from '../protocol/script.js';
import type { ToolEffect } from '../protocol/tools.js';
import type { ApprovalDecider, ApprovalGate, GateMemory } from '../protocol/approval-gate.js';
import type { ObservedShapes } from './observed-shapes.js';
import type { ToolRegistry } from './registry.js';

/**
 * The only access to tools. A call passes: exists → exposed → within budget → arguments valid → approval (holds no
 * place) → queue (so many at once, in order) → execute → result checked and capped. The effective input is
 * serialised once; that text is approved, executed and recorded.
 *
 * A script's promise may be answered before its call has ended (it was aborted); the operation is reported only when
 * its end is known, or when `abortAll` stops waiting for it.
 */
export interface Facade {
  /** Never rejects. */
  call(call: FacadeCall): Promise<CallResult>;
  /** Ends one call: a race that was lost, a detached task that was cancelled. Unknown ids are ignored. */
  abort(callId: string, reason: string): void;
  /**
   * The script's end: no call is taken any more, every call that is not detached is aborted, and running ones
   * are given `graceMs` to settle. Resolves with those that did not; their operations are final then.
   */
  abortAll(reason: string, graceMs: number): Promise<{ stillRunning: Operation[] }>;
  /**
   * Suspends the script: no call is taken any more, and calls that wait for decisions or are beyond the budget are
   * dropped without an answer. Only where nothing but such calls, and detached ones, are pending.
   */
  suspend(): SuspendedCalls;
  /** Indexes of the calls beyond the budget that are not refused yet. A script that is suspended makes them again. */
  overBudget(): number[];
  /** Resumes a call that waited when its script was suspended. Never rejects. */
  resumeCall(call: WaitingCall): Promise<CallResult>;
  /** Every call that was made has settled. */
  readonly isQuiet: boolean;
  /** Whether a call that had started in an earlier process may be repeated, with the same arguments. */
  mayRepeat(operation: Operation): boolean;
  /** In call order, as of now: a call that runs is `unknown`; a task that outlives the script is `detached`, also before it runs. */
  operations(): Operation[];
  pending(): PendingCalls;
  /** Calls that count against the budget: also denied and invalid ones, but not those of unknown tools. */
  callsMade(): number;
}

/** A call that a script, or a structured request, makes. */
export interface FacadeCall {
  readonly callId: string;
  /** 0, 1, 2 … within the script. */
  readonly callIndex: number;
  /** The tool's name, or its identifier form. */
  readonly tool: string;
  /** JSON text of the arguments; empty for none. */
  readonly argsJson: string;
  /** Why the arguments could not be written as JSON, naming the path. */
  readonly argsProblem?: string;
  readonly line?: number;
  readonly column?: number;
  readonly snippet?: string;
  /** A task that outlives the script: `abortAll` does not abort it. */
  readonly detached?: boolean;
  /** The call was counted and approved in an earlier process, see `Facade.mayRepeat`. */
  readonly isRepeated?: boolean;
  /** The call whose end is unknown, and which the script makes again. */
  readonly retries?: Retried;
}

interface Retried {
  readonly callId: string;
  /** The call has this key, and none of its own. */
  readonly idempotencyKey: string;
  /** The arguments of the first call; the call is refused where its tool reads them differently today. */
  readonly inputJson: string;
}

/** `json` is the result's JSON text; empty for `undefined`. */
export type CallResult =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly error: GuestError };

export interface PendingCalls {
  /** Without those that were aborted and have not settled yet. */
  readonly executing: number;
  /** Tasks that outlive the script, among those that execute or are queued. */
  readonly detached: number;
  readonly queued: number;
  readonly awaitingApproval: number;
  /** Those that wait for a decision which nobody is asked for. */
  readonly parked: number;
  /** Beyond the budget: refused when all others but detached ones have ended. */
  readonly overBudget: number;
}

/** What is stored of the calls of a suspended script. Plain data. */
export interface SuspendedCalls {
  /** A user's decisions for several calls. */
  readonly approvals: GateMemory;
  readonly made: number;
  readonly ended: readonly EndedCall[];
  readonly waiting: readonly WaitingCall[];
}

/** A call that is about to execute. */
export interface CallIntent extends EndedCall {
  /** Its tool is idempotent: the call may be repeated if the process ends now. */
  readonly isRepeatable: boolean;
}

export interface EndedCall {
  readonly callIndex: number;
  readonly operation: Operation;
}

/** A call that waits for a decision. `inputJson` is what was shown, and what runs if it is approved. */
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
  /** Once for every operation, also for calls that never started. */
  | { type: 'tool_call_done'; operation: Operation }
  /** A user is asked. */
  | { type: 'approval_requested'; request: ApprovalRequest }
  /** Also for decisions of rules and policies, which have no request before them. */
  | {
      type: 'approval_resolved';
      approvalId: string;
      callId: string;
      tool: string;
      /** The text that runs if it was approved. */
      inputJson: string;
      /** The script's own arguments, where a user replaced them. */
      replacedInputJson?: string;
      decision: 'approve' | 'deny' | 'timeout' | 'cancelled';
      by: ApprovalDecider;
      note?: string;
      remember?: Remember;
    }
  /** Something about a call's arguments that the script's author should know. */
  | { type: 'call_noted'; note: Diagnostic }
  | { type: 'progress'; callId: string; tool: string; message: string }
  /** The output of a detached task. */
  | { type: 'output'; callId: string; text: string }
  /** Whether decisions are all that is waited for, and how many of them nobody is asked for. */
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
  readonly plan: readonly PlannedCall[];
  readonly clock: { nowMs(): number };
  /** When the script started, by the clock. Default: when the facade is made. */
  readonly startedAtMs?: number;
  readonly onEvent: (event: FacadeEvent) => void;
  /** Whether the starts and ends of calls are emitted too. Default true. */
  readonly emitsCalls?: boolean;
  /** Records the shapes of results of tools without an output schema. */
  readonly observed?: ObservedShapes;
  /** The calls that were made before the script was suspended. */
  readonly earlier?: Pick<SuspendedCalls, 'made' | 'ended'> | undefined;
  /** Called, and awaited, before a call executes. A rejection keeps the call from running. */
  readonly onIntent?: ((intent: CallIntent) => void | Promise<void>) | undefined;
}
