import type { Operation } from '../protocol/operations.js';
import type { CallEnd, CallRecord, CallState } from './call-record.js';
import type { EndedCall, PendingCalls, SuspendedCalls, WaitingCall } from './facade-types.js';
import { waitingCall } from './waiting-calls.js';

/** The calls of one facade, and the number of calls in each state. Every state change of a call passes through here. */
export class CallTable {
  readonly #nowMs: () => number;
  /** Calls that ended before the script was suspended. */
  readonly #earlier: readonly EndedCall[] | undefined;
  readonly #records = new Map<string, CallRecord>();
  readonly #states: Record<CallState, number> = {
    deciding: 0,
    awaiting_approval: 0,
    over_budget: 0,
    queued: 0,
    executing: 0,
    settled: 0,
  };
  /** Detached tasks that are queued or execute. */
  #detached = 0;
  #parked = 0;

  constructor(nowMs: () => number, earlier?: readonly EndedCall[]) {
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

  /** Marks the call as waiting for a decision about which no user is asked. */
  park(record: CallRecord): void {
    record.isParked = true;
    this.#parked += 1;
  }

  unpark(record: CallRecord): void {
    if (!record.isParked) return;
    record.isParked = false;
    this.#parked -= 1;
  }

  get parked(): number {
    return this.#parked;
  }

  get isQuiet(): boolean {
    return this.#records.size === this.#states.settled;
  }

  /** Calls over the budget wait for every other call, including one that awaits approval. */
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
      detached: this.#detached,
      queued: queued + deciding,
      awaitingApproval,
      parked: this.#parked,
      overBudget,
    };
  }

  operation(record: CallRecord): Operation {
    return record.operation(this.#nowMs());
  }

  /** The operations in call order. */
  operations(): Operation[] {
    const now = [...this.#records.values()].sort((left, right) => left.call.callIndex - right.call.callIndex);
    if (this.#earlier === undefined) return now.map((record) => this.operation(record));
    const calls = now.map((record) => ({ callIndex: record.call.callIndex, operation: this.operation(record) }));
    return [...this.#earlierEnds(), ...calls]
      .sort((left, right) => left.callIndex - right.callIndex)
      .map(({ operation }) => operation);
  }

  /**
   * Returns the known state of every call; those that wait for a decision or a refusal are dropped without an answer.
   */
  suspend(): Pick<SuspendedCalls, 'ended' | 'waiting'> {
    const waiting: WaitingCall[] = [];
    const ended = this.#earlierEnds();
    for (const record of this.#records.values()) {
      if (record.state === 'awaiting_approval' && record.request !== undefined)
        waiting.push(waitingCall(record, record.request));
      else ended.push({ callIndex: record.call.callIndex, operation: this.operation(record) });
    }
    for (const record of this.#records.values())
      if (record.state === 'awaiting_approval' || record.state === 'over_budget') record.suspend();
    return { ended, waiting };
  }

  /** Excludes calls that the resumed script has made again. */
  #earlierEnds(): EndedCall[] {
    if (this.#earlier === undefined) return [];
    const again = new Set([...this.#records.values()].map(({ call }) => call.callIndex));
    return this.#earlier.filter(({ callIndex }) => !again.has(callIndex));
  }

  /** Calls that end without a user's decision, except detached tasks and calls over the budget. */
  get #underWay(): number {
    const { deciding, queued, executing } = this.#states;
    return deciding + queued + executing - this.#detached;
  }

  #count({ state, call }: CallRecord, by: 1 | -1): void {
    this.#states[state] += by;
    if (call.detached === true && (state === 'queued' || state === 'executing')) this.#detached += by;
  }
}
