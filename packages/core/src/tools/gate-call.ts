import type { GateCall } from '../protocol/approval-gate.js';
import type { ApprovalRequest } from '../protocol/approvals.js';
import type { JsonValue } from '../protocol/json.js';
import type { Tool } from '../protocol/tools.js';
import type { CallRecord } from './call-record.js';
import type { FacadeOptions } from './facade-types.js';

/** What the gate tells of a call that a person has to decide about. */
export interface ApprovalListener {
  personAsked(record: CallRecord, request: ApprovalRequest): void;
  parked(record: CallRecord): void;
}

/** A call as the gate sees it: its input is the one that was there when it was asked. */
export class CallForGate implements GateCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly principal: string | undefined;
  readonly app: unknown;
  readonly input: JsonValue;
  readonly inputJson: string;
  readonly line: number | undefined;
  readonly snippet: string | undefined;
  readonly plan: GateCall['plan'];
  readonly #record: CallRecord;
  readonly #ear: ApprovalListener;

  constructor(options: FacadeOptions, record: CallRecord, input: JsonValue, ear: ApprovalListener) {
    this.tool = record.tool;
    this.callId = record.call.callId;
    this.scriptId = options.scriptId;
    this.principal = options.principal;
    this.app = options.app;
    this.input = input;
    this.inputJson = record.inputJson;
    this.line = record.call.line;
    this.snippet = record.call.snippet;
    this.plan = options.plan;
    this.#record = record;
    this.#ear = ear;
  }

  /** Made when somebody asks for it. */
  get signal(): AbortSignal {
    return this.#record.signal;
  }

  onRequest(request: ApprovalRequest): void {
    this.#ear.personAsked(this.#record, request);
  }

  onParked(): void {
    this.#ear.parked(this.#record);
  }
}
