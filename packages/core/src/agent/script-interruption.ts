import { RunInterruption, type ApprovalRequest, type EventPayload, type Outcome } from '../protocol/index.js';

/** Events of an interrupted script that are dropped, because the script is recovered later. */
const WITHHELD = ['tool_call_start', 'tool_call_done', 'approval_requested', 'approval_resolved', 'script_log'];

/**
 * Interrupts the running script of a run whose sub-agents wait for decisions. The script stays in the store as after a
 * crash, and is recovered after the decisions. Its later events are dropped.
 */
export class ScriptInterruption {
  readonly #controller = new AbortController();
  #approvalIds: readonly string[] | undefined;
  #isSettled = false;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** `approvalIds`: the approvals that the sub-agents wait for. */
  interrupt(approvalIds: readonly string[]): void {
    this.#approvalIds = approvalIds;
    this.#controller.abort(new RunInterruption());
  }

  /** Whether the run drops an event of the script. */
  readonly withholds = (payload: EventPayload): boolean => {
    if (this.#approvalIds === undefined || this.#isSettled) return false;
    if (payload.type === 'item_start') return payload.item_type === 'script_execution_output';
    if (payload.type === 'item_done') return payload.final_item.type === 'script_execution_output';
    return WITHHELD.includes(payload.type);
  };

  /** The approvals that the interrupted script, or call, waits for; undefined if nothing was interrupted. */
  settle(): ApprovalRequest[] | undefined {
    if (this.#approvalIds === undefined) return undefined;
    this.#isSettled = true;
    // Only the ids of the requests are read: the requests are those of the sub-agents' scripts.
    return this.#approvalIds.map((approvalId) => ({ approvalId }) as ApprovalRequest);
  }

  /** The outcome of a script, as its run reads it. */
  outcomeOf(outcome: Outcome): Outcome {
    const pendingApprovals = this.settle();
    if (pendingApprovals === undefined) return outcome;
    const { scriptId, operations, logs, output, diagnostics, plan, metadata } = outcome;
    const same = { scriptId, operations, logs, output, diagnostics, plan, metadata };
    return { ...same, status: 'suspended', suspension: '', pendingApprovals };
  }

  get isInterrupted(): boolean {
    return this.#approvalIds !== undefined;
  }
}
