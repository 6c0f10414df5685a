import type { ApprovalChange, ApprovalRequest } from '../../protocol/approvals.js';
import type { JsonValue } from '../../protocol/json.js';
import type { Operation, OperationStatus } from '../../protocol/operations.js';
import type { GuestError } from '../../protocol/sandbox.js';
import type { Tool } from '../../protocol/tools.js';
import { callIdIndex, inCallOrder } from './call-ids.js';
import type { CallResult, FacadeCall, PendingCalls, SuspendedCalls, WaitingCall } from './facade-types.js';

/**
 * The state of a call. `deciding`: the gate has not decided whether a user must decide. `awaiting_approval`: a user
 * must decide. `over_budget`: the call is refused after the calls before it have ended. A call leaves `executing` only
 * after the tool has settled or nothing waits for the call any longer.
 */
type CallState = 'deciding' | 'awaiting_approval' | 'over_budget' | 'queued' | 'executing' | 'settled';

/** The end of a call. */
export interface CallEnd {
  readonly status: OperationStatus;
  readonly result?: unknown;
  readonly resultOmitted?: boolean | undefined;
  readonly error?: GuestError | undefined;
}

/** One call, from its admission to its end. It knows its own state and changes nothing else. */
export class CallRecord {
  readonly call: FacadeCall;
  readonly tool: Tool;
  readonly startedAtMs: number;
  /** The deep-frozen arguments. If they are invalid, the arguments as the script sent them. */
  input: unknown;
  inputJson: string;
  state: CallState = 'deciding';
  abortReason: string | undefined;
  /** The request about which a user has to decide. */
  request: ApprovalRequest | undefined;
  /** The request that a user has approved. Before the call is executed, it is compared with the call. */
  approved: ApprovalRequest | undefined;
  /** The parts that changed after a user approved the call. */
  changed: readonly ApprovalChange[] | undefined;
  /** How often the call has been asked about again because it had changed. */
  changes = 0;
  /** True if no user is asked about the call. */
  isParked = false;
  /** Removes the call from the queue in which it waits. */
  leaveQueue: (() => void) | undefined;
  holdsPlace = false;
  end: CallEnd | undefined;
  /** Delivers the answer to the script; undefined after the call was answered or suspended. */
  #deliver: ((result: CallResult) => void) | undefined;
  #settledListeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;
  #executionStartMs: number | undefined;
  #durationMs = 0;
  #isUntrusted = false;

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

  /** Marks the result, or the error, as text of unknown authors. */
  markUntrusted(): void {
    this.#isUntrusted = true;
  }

  get isSettled(): boolean {
    return this.state === 'settled';
  }

  /** Creates the signal when it is read, because most tools never read it. */
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

  /** Ends the call without an answer, because its script is suspended. */
  suspend(): void {
    this.state = 'settled';
    this.#deliver = undefined;
    this.abortSignal('the script is suspended');
  }

  /** Ends the call. Later events do not change the reported operation. */
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
      ...(this.#isUntrusted && { untrusted: true }),
    };
  }

  /** Returns the status of a call that has not settled. */
  #currentStatus(): OperationStatus {
    if (this.state === 'awaiting_approval') return 'awaiting_approval';
    if (this.state === 'over_budget') return 'not_started';
    if (this.call.detached === true && this.abortReason === undefined) return 'detached';
    if (this.state !== 'executing') return 'not_started';
    return this.statusOfUnfinished();
  }

  /**
   * Returns the status of a started call whose outcome is unknown. An aborted read changed nothing; every other call
   * may have had an effect.
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

/** The calls of one facade, and the number of calls in each state. Every state change of a call passes through here. */
export class CallTable {
  readonly #nowMs: () => number;
  /** Calls that ended before the script was suspended. */
  readonly #earlier: readonly Operation[] | undefined;
  readonly #records = new Map<string, CallRecord>();
  readonly #states: Record<CallState, number> = {
    deciding: 0,
    awaiting_approval: 0,
    over_budget: 0,
    queued: 0,
    executing: 0,
    settled: 0,
  };
  /** The number of detached tasks that are queued or execute. */
  #detachedCount = 0;
  #parkedCount = 0;

  constructor(nowMs: () => number, earlier?: readonly Operation[]) {
    this.#nowMs = nowMs;
    this.#earlier = earlier;
  }

  add(record: CallRecord): void {
    this.#records.set(record.call.callId, record);
    this.#count(record, 1);
  }

  get(callId: string): CallRecord | undefined {
    return this.#records.get(callId);
  }

  open(): CallRecord[] {
    return [...this.#records.values()].filter((record) => !record.isSettled);
  }

  move(record: CallRecord, state: Exclude<CallState, 'executing' | 'settled'>): void {
    this.#count(record, -1);
    record.state = state;
    this.#count(record, 1);
  }

  execute(record: CallRecord): void {
    this.#count(record, -1);
    record.startExecution(this.#nowMs());
    this.#count(record, 1);
  }

  /** Stops waiting for a call that was aborted while its tool runs. */
  giveUp(record: CallRecord): void {
    this.#count(record, -1);
  }

  settle(record: CallRecord, end: CallEnd): void {
    this.unpark(record);
    const wasGivenUp = record.state === 'executing' && record.abortReason !== undefined;
    if (!wasGivenUp) this.#count(record, -1);
    record.settle(end, this.#nowMs());
    this.#count(record, 1);
  }

  /** Marks the call as waiting for a decision that no user is asked to make. */
  park(record: CallRecord): void {
    record.isParked = true;
    this.#parkedCount += 1;
  }

  unpark(record: CallRecord): void {
    if (!record.isParked) return;
    record.isParked = false;
    this.#parkedCount -= 1;
  }

  get parked(): number {
    return this.#parkedCount;
  }

  get isQuiet(): boolean {
    return this.#records.size === this.#states.settled;
  }

  /**
   * Whether no calls remain except calls over the budget and detached tasks. A call over the budget waits for all calls
   * that are not detached, including calls that await approval.
   */
  get onlyOverBudget(): boolean {
    return this.#underWay === 0 && this.#states.awaiting_approval === 0;
  }

  /** Whether the facade waits only for users' decisions. Detached tasks do not count. */
  get waitsForApprovalsOnly(): boolean {
    return this.#states.awaiting_approval > 0 && this.#underWay === 0;
  }

  pending(): PendingCalls {
    const { executing, queued, deciding, awaiting_approval: awaitingApproval, over_budget: overBudget } = this.#states;
    return {
      executing,
      detached: this.#detachedCount,
      queued: queued + deciding,
      awaitingApproval,
      parked: this.#parkedCount,
      overBudget,
    };
  }

  operation(record: CallRecord): Operation {
    return record.operation(this.#nowMs());
  }

  /** Returns the operations in call order. */
  operations(): Operation[] {
    const now = [...this.#records.values()].sort((left, right) => left.call.callIndex - right.call.callIndex);
    if (this.#earlier === undefined) return now.map((record) => this.operation(record));
    return inCallOrder([...this.#earlierEnds(), ...now.map((record) => this.operation(record))]);
  }

  /**
   * Returns the known state of every call. The calls that wait for a decision or a refusal are dropped without an
   * answer.
   */
  suspend(): Pick<SuspendedCalls, 'ended' | 'waiting'> {
    const waiting: WaitingCall[] = [];
    const ended = this.#earlierEnds();
    for (const record of this.#records.values()) {
      const { request, call } = record;
      const operation = this.operation(record);
      if (record.state !== 'awaiting_approval' || request === undefined) ended.push(operation);
      else waiting.push({ operation, request, detached: call.detached, retries: call.retries });
    }
    for (const record of this.#records.values())
      if (record.state === 'awaiting_approval' || record.state === 'over_budget') record.suspend();
    return { ended, waiting };
  }

  /** Returns the ends of earlier calls, without calls that the resumed script has made again. */
  #earlierEnds(): Operation[] {
    if (this.#earlier === undefined) return [];
    const again = new Set([...this.#records.values()].map(({ call }) => call.callIndex));
    return this.#earlier.filter(({ callId }) => !again.has(callIdIndex(callId)));
  }

  /** The number of calls that end without a user's decision, excluding detached tasks and calls over the budget. */
  get #underWay(): number {
    const { deciding, queued, executing } = this.#states;
    return deciding + queued + executing - this.#detachedCount;
  }

  #count({ state, call }: CallRecord, by: 1 | -1): void {
    this.#states[state] += by;
    if (call.detached === true && (state === 'queued' || state === 'executing')) this.#detachedCount += by;
  }
}

/** Returns the call for the resumed script, with the arguments that were effective before the suspension. */
export function resumedCall({ operation, request, detached, retries }: WaitingCall): FacadeCall {
  const { callId, tool, line, column } = operation;
  const { inputJson: argsJson, snippet } = request;
  return { callId, callIndex: callIdIndex(callId), tool, argsJson, line, column, snippet, detached, retries };
}

/**
 * Returns a stand-in for a tool that was removed after its script was suspended, for the operation of a waiting call.
 */
export function goneTool({ tool, effect }: Operation): Tool {
  return {
    name: tool,
    description: '',
    inputSchema: {},
    outputSchema: undefined,
    approval: 'always',
    effect,
    validateInput: () => ({ ok: false, issues: [] }),
    validateOutput: () => ({ ok: false, issues: [] }),
    permissions: undefined,
    preview: undefined,
    execute: () => undefined,
  };
}
