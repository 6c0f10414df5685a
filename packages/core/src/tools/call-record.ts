import type { ApprovalRequest } from '../protocol/approvals.js';
import type { JsonValue } from '../protocol/json.js';
import type { Operation, OperationStatus } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Tool } from '../protocol/tools.js';
import type { CallResult, FacadeCall } from './facade-types.js';

/**
 * The state of a call. `deciding`: it is unknown whether a user must decide. `awaiting_approval`: a user must decide.
 * `over_budget`: it is refused after the calls before it have ended. A call leaves `executing` only after the tool
 * has settled or nothing waits for it any longer.
 */
export type CallState = 'deciding' | 'awaiting_approval' | 'over_budget' | 'queued' | 'executing' | 'settled';

/** How a call ended. */
export interface CallEnd {
  readonly status: OperationStatus;
  readonly result?: unknown;
  readonly resultOmitted?: boolean;
  readonly error?: GuestError;
}

/** One call, from its admission to its end. It knows its own state and changes nothing else. */
export class CallRecord {
  readonly call: FacadeCall;
  readonly tool: Tool;
  readonly startedAtMs: number;
  /** Deep-frozen. For invalid arguments, what the script sent. */
  input: unknown;
  inputJson: string;
  state: CallState = 'deciding';
  abortReason: string | undefined;
  /** The request that a user has to decide. */
  request: ApprovalRequest | undefined;
  /** True if no user is asked. */
  isParked = false;
  /** Stops waiting for a place. */
  leaveQueue: (() => void) | undefined;
  holdsPlace = false;
  end: CallEnd | undefined;
  /** Undefined after the script has received its answer. */
  #deliver: ((result: CallResult) => void) | undefined;
  #settledListeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;
  #executionStartMs: number | undefined;
  #durationMs = 0;

  // Positional parameters: an options object for each call costs measurable time.
  // oxlint-disable-next-line max-params
  constructor(
    call: FacadeCall,
    tool: Tool,
    input: JsonValue,
    inputJson: string,
    startedAtMs: number,
    deliver: (result: CallResult) => void,
  ) {
    this.call = call;
    this.tool = tool;
    this.input = input;
    this.inputJson = inputJson;
    this.startedAtMs = startedAtMs;
    this.#deliver = deliver;
  }

  get isSettled(): boolean {
    return this.state === 'settled';
  }

  /** Created when it is read: most tools never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  abortSignal(message: string): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(new Error(message));
  }

  startExecution(nowMs: number): void {
    this.state = 'executing';
    this.#executionStartMs = nowMs;
  }

  /** Answers the script; only the first answer counts. */
  deliver(result: CallResult): void {
    const deliver = this.#deliver;
    this.#deliver = undefined;
    deliver?.(result);
  }

  /** Ends the call without an answer: it is stored with its script. */
  suspend(): void {
    this.state = 'settled';
    this.#deliver = undefined;
    this.abortSignal('the script is suspended');
  }

  /** The end is final: later events do not change the reported operation. */
  settle(end: CallEnd, nowMs: number): void {
    this.state = 'settled';
    this.end = end;
    if (this.#executionStartMs !== undefined) this.#durationMs = Math.max(0, nowMs - this.#executionStartMs);
    const listeners = this.#settledListeners;
    this.#settledListeners = undefined;
    for (const listener of listeners ?? []) listener();
  }

  onSettled(listener: () => void): void {
    if (this.isSettled) listener();
    else (this.#settledListeners ??= []).push(listener);
  }

  operation(nowMs: number): Operation {
    const end = this.end ?? { status: this.#currentStatus() };
    const running = this.state === 'executing' && this.#executionStartMs !== undefined;
    return {
      callId: this.call.callId,
      tool: this.tool.name,
      input: this.input,
      effect: this.tool.effect,
      status: end.status,
      ...(end.result !== undefined && { result: end.result }),
      ...(end.resultOmitted === true && { resultOmitted: true }),
      ...(end.error !== undefined && { error: { code: end.error.code as never, message: end.error.message } }),
      startedAtMs: this.startedAtMs,
      durationMs: running ? Math.max(0, nowMs - (this.#executionStartMs as number)) : this.#durationMs,
      ...(this.call.line !== undefined && { line: this.call.line }),
      ...(this.call.column !== undefined && { column: this.call.column }),
      ...(this.call.retries !== undefined && { retryOf: this.call.retries.callId }),
    };
  }

  /** The status of a call that has not settled. */
  #currentStatus(): OperationStatus {
    if (this.state === 'awaiting_approval') return 'awaiting_approval';
    if (this.state === 'over_budget') return 'not_started';
    if (this.call.detached === true && this.abortReason === undefined) return 'detached';
    if (this.state !== 'executing') return 'not_started';
    return this.statusOfUnfinished();
  }

  /**
   * The status of a started call whose outcome is unknown. A read changed nothing; every other call may have had an
   * effect.
   */
  statusOfUnfinished(): OperationStatus {
    return this.tool.effect === 'read' && this.abortReason !== undefined ? 'aborted' : 'unknown';
  }
}

/** Resolves when each call has settled, or after `graceMs`. */
export function settledWithin(records: readonly CallRecord[], graceMs: number): Promise<void> {
  const open = records.filter((record) => !record.isSettled);
  if (open.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    let left = open.length;
    const timer = setTimeout(resolve, graceMs);
    const oneLess = (): void => {
      left -= 1;
      if (left > 0) return;
      clearTimeout(timer);
      resolve();
    };
    for (const record of open) record.onSettled(oneLess);
  });
}
