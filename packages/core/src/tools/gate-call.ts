import type { GateCall } from '../protocol/approval-gate.js';
import type { ApprovalRequest } from '../protocol/approvals.js';
import type { JsonValue } from '../protocol/json.js';
import type { Tool } from '../protocol/tools.js';
import type { CallRecord } from './call-record.js';
import type { FacadeOptions } from './facade-types.js';

/** The gate calls these for a call that a user has to decide. */
export interface ApprovalListener {
  /** The user is asked. */
  requested(record: CallRecord, request: ApprovalRequest): void;
  /** No user is asked about the call, or no longer. */
  parked(record: CallRecord): void;
}

/** A call as the gate sees it, with its input at that moment. */
export class CallForGate implements GateCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly principal: string | undefined;
  readonly app: unknown;
  readonly threadId: string | undefined;
  readonly input: JsonValue;
  readonly inputJson: string;
  readonly line: number | undefined;
  readonly snippet: string | undefined;
  readonly agents: readonly string[] | undefined;
  readonly plan: GateCall['plan'];
  readonly #record: CallRecord;
  readonly #listener: ApprovalListener;

  constructor(options: FacadeOptions, record: CallRecord, input: JsonValue, listener: ApprovalListener) {
    this.tool = record.tool;
    this.callId = record.call.callId;
    this.scriptId = options.scriptId;
    this.principal = options.principal;
    this.app = options.app;
    this.threadId = options.identity?.threadId;
    this.input = input;
    this.inputJson = record.inputJson;
    this.line = record.call.line;
    this.snippet = record.call.snippet;
    this.agents = options.identity?.agents;
    this.plan = options.plan;
    this.#record = record;
    this.#listener = listener;
  }

  /** The signal is created on demand. */
  get signal(): AbortSignal {
    return this.#record.signal;
  }

  onRequest(request: ApprovalRequest): void {
    this.#listener.requested(this.#record, request);
  }

  onParked(): void {
    this.#listener.parked(this.#record);
  }
}
