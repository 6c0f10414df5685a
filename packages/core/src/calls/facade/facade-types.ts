import type { ApprovalRequest } from '../../protocol/approvals.js';
import type { AuditFact } from '../../protocol/audit.js';
import type { RunContext } from '../../protocol/run-context.js';
import type { Operation } from '../../protocol/operations.js';
import type { GuestError, SandboxCall } from '../../protocol/sandbox.js';
import type { Tool } from '../../protocol/tools.js';
import type { Diagnostic, PlannedCall } from '../../protocol/script.js';
import type { SavedScripts } from '../../protocol/saved-script.js';
import type { ApprovalGate, GateMemory } from '../../protocol/approval-gate.js';
import type { ObservedShapes } from '../../schema/observed-shapes.js';
import type { CallSources } from '../flow/call-sources.js';
import type { ToolRegistry } from '../../tools/registry.js';
import type { WhyMissing } from '../../tools/catalog.js';

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
  resumeCall(call: WaitingCall, task?: CallTask): Promise<CallResult>;
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
  readonly argsProblem?: string | undefined;
  /** The members of the arguments that the script gave as bytes. */
  readonly argsBytes?: SandboxCall['argsBytes'];
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly snippet?: string | undefined;
  /** True: the call is a task that outlives the script, so `abortAll` does not abort it while it is queued or runs. */
  readonly detached?: boolean | undefined;
  /** The task of a detached call. */
  readonly task?: CallTask | undefined;
  /** True: the call was counted and approved in an earlier process; see `Facade.mayRepeat`. */
  readonly isRepeated?: boolean | undefined;
  /** The earlier call, with an unknown outcome, that this call repeats. */
  readonly retries?: RetriedCall | undefined;
}

interface RetriedCall {
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
  /** The operations of the other calls. */
  readonly ended: readonly Operation[];
  readonly waiting: readonly WaitingCall[];
}

/** A call that waits for a decision. If it is approved, it runs with the arguments of the request. */
export interface WaitingCall {
  readonly operation: Operation;
  readonly request: ApprovalRequest;
  readonly detached?: boolean | undefined;
  readonly retries?: RetriedCall | undefined;
}

/** A task that outlives its script. It receives the reports about its call. */
export interface CallTask {
  /** Reports the task's status; at first it is queued. */
  setStatus(status: OpenTaskStatus): void;
  /** Reports progress, which is shown if the task has no output. */
  addProgress(message: string): void;
  /** Appends to the task's output. */
  addOutput(text: string): void;
  ended(operation: Operation): void;
}

/** `queued`: the task waits until its script may run one more call. */
export type OpenTaskStatus = 'queued' | 'awaiting_approval' | 'running';

/** The owner of a facade, which reacts to the calls. The events of the calls go to the sink instead. */
export interface CallListener {
  /** Called when a call starts to execute. */
  callStarted?(): void;
  /** Called once for every operation, even for calls that never started. Undefined: the owner needs no operations. */
  callEnded?: ((operation: Operation) => void) | undefined;
  /** Called when the facade starts or stops to wait only for decisions, and when the number of parked calls changes. */
  waitingChanged?(): void;
  /** Receives a note about a call's arguments, for the script's author. */
  noteAdded?(note: Diagnostic): void;
  /** Whether the progress of a call may be emitted now. Undefined: no progress is emitted. */
  mayProgress?(): boolean;
}

/** The tools of a harness, for its facades. */
export interface FacadeServices {
  readonly registry: ToolRegistry;
  /** Own names of the tools that may be called. */
  readonly exposed: ReadonlySet<string>;
  readonly whyMissing: WhyMissing;
  /** Records the shapes of results of tools without an output schema. */
  readonly observed?: ObservedShapes | undefined;
  /** Keeps results that are too large for a script. Undefined: such results are lost. */
  readonly largeResults?: KeepsResults | undefined;
}

/** Keeps results that are too large for a script, and reads their pages for scripts. */
export interface KeepsResults {
  readonly pageTool: Tool;
  /**
   * Stores the result in pages, and returns the error with which the script receives its handle. Undefined: the result
   * has no rows to divide, or a row or the whole is too large. Rejects if the store refuses a page; no page is left
   * then, unless the store fails altogether.
   */
  keep(call: LargeCall): Promise<KeptResult | undefined>;
}

/** A call whose result is too large for its script. */
export interface LargeCall {
  readonly tool: Tool;
  readonly result: unknown;
  readonly context: RunContext;
  /** The conversation that keeps the result. Undefined: the principal does. */
  readonly threadId: string | undefined;
  /** Whether untrusted text may have reached the arguments. */
  readonly hasUntrustedInput: boolean;
}

export interface KeptResult {
  readonly error: GuestError;
  readonly isUntrusted: boolean;
}

/**
 * Called, and awaited, before a call executes. A rejection keeps the call from running. `isRepeatable`: the call's tool
 * is idempotent, so the call may be repeated if the process ends now.
 */
export type OnIntent = (operation: Operation, isRepeatable: boolean) => void | Promise<void>;

export interface FacadeOptions {
  readonly services: FacadeServices;
  readonly context: RunContext;
  readonly gate: ApprovalGate;
  /** Undefined for a structured call that no script makes. */
  readonly scriptId: string | undefined;
  readonly plan: readonly PlannedCall[];
  readonly savedScripts?: SavedScripts | undefined;
  /** The conversation that keeps results that are too large. Default: the principal does. */
  readonly threadId?: string | undefined;
  /** Returns the time in ms since the start of the script or the call. */
  readonly nowMs: () => number;
  readonly listener: CallListener;
  readonly audit?: ((fact: AuditFact) => void) | undefined;
  /** Finds the sources of arguments. Undefined: no rule is about them. */
  readonly flow?: CallSources | undefined;
  /** The calls that were made before the script was suspended. */
  readonly earlier?: Pick<SuspendedCalls, 'made' | 'ended'> | undefined;
  readonly onIntent?: OnIntent | undefined;
}
