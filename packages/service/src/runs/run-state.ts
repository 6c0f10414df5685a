import { HarmlessScripts } from '@toolscript/core/agent';
import { endsRun } from '@toolscript/core/stream';
import { isFinalRunState, toCamelCase } from '@toolscript/core/internal';
import type { RunEnd } from '@toolscript/core/ports';
import type { EventPayload, StreamEvent } from '@toolscript/core/protocol';
import type { ApprovalRequest } from '@toolscript/core';

type ResponseDone = Extract<EventPayload, { type: 'response_done' }>;

const CLOSED_BY: readonly string[] = ['item_done', 'item_cancelled', 'item_error'];

/** The state of a run. It folds the run's events as they arrive. */
export class RunState {
  readonly #openItems = new Set<string>();
  readonly #requests = new Map<string, ApprovalRequest>();
  readonly #harmless = new HarmlessScripts();
  #error: RunEnd['error'];
  #last: EventPayload | undefined;
  #nextSeq = 0;

  constructor(events: readonly StreamEvent[] = []) {
    for (const event of events) this.take(event);
  }

  take({ seq, payload }: StreamEvent): void {
    this.#nextSeq = seq + 1;
    this.#last = payload;
    this.#harmless.take(payload);
    switch (payload.type) {
      case 'item_start':
        this.#openItems.add(payload.item_id);
        return;
      case 'item_done':
        this.#openItems.delete(payload.item_id);
        return;
      case 'approval_requested':
        return this.#noteRequest(payload);
      case 'agent_event':
        return this.#noteOfSubAgent(payload.event as EventPayload);
      case 'response_start':
        this.#error = undefined;
        return;
      case 'response_error':
        this.#error = { code: payload.code, message: payload.message };
        return;
      default:
        if (CLOSED_BY.includes(payload.type)) this.#openItems.delete((payload as { item_id: string }).item_id);
    }
  }

  #noteOfSubAgent(payload: EventPayload): void {
    if (payload.type === 'agent_event') this.#noteOfSubAgent(payload.event as EventPayload);
    if (payload.type === 'approval_requested') this.#noteRequest(payload);
  }

  #noteRequest({ approval }: Extract<EventPayload, { type: 'approval_requested' }>): void {
    this.#requests.set(approval.approval_id, toCamelCase(approval));
  }

  /**
   * The events that reset running scripts for a restart: one for each script that has made no call with effects and was
   * never suspended.
   */
  get restarts(): readonly EventPayload[] {
    return this.#harmless.allRestarts;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** The run's newest event if it ended or suspended the run; otherwise undefined. */
  get done(): ResponseDone | undefined {
    return this.#last?.type === 'response_done' ? this.#last : undefined;
  }

  get isEnded(): boolean {
    return this.#last !== undefined && endsRun(this.#last);
  }

  /** The final state of the run in the store. */
  get end(): RunEnd {
    const status = this.done?.status ?? 'failed';
    const state = isFinalRunState(status as 'failed') ? (status as 'failed') : 'incomplete';
    return { state, ...(this.#error === undefined ? {} : { error: this.#error }) };
  }

  /** The requests of the approvals for which a suspended run waits: its own, and those of its sub-agents. */
  get pendingRequests(): readonly ApprovalRequest[] {
    const { status, approval_ids: ids = [] } = this.done ?? {};
    return status === 'suspended' ? ids.flatMap((id) => this.#requests.get(id) ?? []) : [];
  }

  /**
   * The payloads that cancel the open items of an interrupted run, and then end the run. Empty if the run has ended,
   * and for a suspended run unless `status` is 'cancelled'.
   */
  missingEnd(status: 'failed' | 'incomplete' | 'cancelled'): EventPayload[] {
    if (this.done !== undefined && (this.done.status !== 'suspended' || status !== 'cancelled')) return [];
    const reason = status === 'incomplete' ? { incomplete_reason: 'interrupted' } : {};
    return [
      ...[...this.#openItems].map((item_id): EventPayload => ({ type: 'item_cancelled', item_id })),
      { type: 'response_done', status, ...reason },
    ];
  }
}
