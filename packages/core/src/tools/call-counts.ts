import type { CallRecord, CallState } from './call-record.js';
import type { PendingCalls } from './facade-types.js';

/** How many calls of one facade stand where. */
export class CallCounts {
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

  /** Before a record leaves its state, or is given up. */
  leave(record: CallRecord): void {
    this.#count(record, -1);
  }

  /** After it has come to its state. */
  enter(record: CallRecord): void {
    this.#count(record, 1);
  }

  park(): void {
    this.#parked += 1;
  }

  unpark(): void {
    this.#parked -= 1;
  }

  get settled(): number {
    return this.#states.settled;
  }

  /** Whether decisions of people are all that is waited for; a detached task is nobody's reason to wait. */
  get waitsForApprovalsOnly(): boolean {
    return this.#states.awaiting_approval > 0 && this.underWay === 0;
  }

  /** Calls beyond the budget wait for every other call, also for one that awaits approval. */
  get onlyOverBudget(): boolean {
    return this.underWay === 0 && this.#states.awaiting_approval === 0;
  }

  /** Calls that end without a user's decision; without detached tasks and calls beyond the budget. */
  get underWay(): number {
    const { deciding, queued, executing } = this.#states;
    return deciding + queued + executing - this.#detached;
  }

  get parked(): number {
    return this.#parked;
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

  #count({ state, call }: CallRecord, by: 1 | -1): void {
    this.#states[state] += by;
    if (call.detached === true && (state === 'queued' || state === 'executing')) this.#detached += by;
  }
}
