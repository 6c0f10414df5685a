import type { GateCall, GateDecision } from '../../protocol/approval-gate.js';
import type { ApprovalChange, ApprovalRequest } from '../../protocol/approvals.js';
import type { ErrorCode } from '../../protocol/errors.js';
import type { EventPayload } from '../../protocol/events.js';
import { type JsonValue, deepFreeze } from '../../protocol/json.js';
import { callScope, type RunContext } from '../../protocol/run-context.js';
import type { Operation } from '../../protocol/operations.js';
import type { FlowFinding } from '../../protocol/provenance.js';
import type { GuestError } from '../../protocol/sandbox.js';
import { toSnakeCase } from '../../protocol/spelling.js';
import type { Tool } from '../../protocol/tools.js';
import type { JudgedCall } from '../flow/call-sources.js';
import { describeThrown, guestError } from './call-errors.js';
import type { CallRecord, CallTable } from './call-record.js';
import type { FacadeOptions } from './facade-types.js';

/** The methods of the facade that `CallApprovals` uses. */
interface DecidedCalls {
  /** Whether the script has ended or is suspended. */
  isClosed(): boolean;
  enqueue(record: CallRecord): void;
  refuse(record: CallRecord, status: 'failed' | 'denied' | 'not_started' | 'unknown', error: GuestError): void;
  abort(record: CallRecord, reason: string): void;
  emit(payload: EventPayload): void;
  /** Called when a call starts to wait for a decision, or when no user is asked about a call any longer. */
  waitingChanged(): void;
}

/** Asks the gate about the calls of one facade, and applies its decisions. */
export class CallApprovals implements ApprovalListener {
  readonly #options: FacadeOptions;
  readonly #table: CallTable;
  readonly #calls: DecidedCalls;

  constructor(options: FacadeOptions, table: CallTable, calls: DecidedCalls) {
    this.#options = options;
    this.#table = table;
    this.#calls = calls;
  }

  /**
   * Learns where the call's arguments come from, if a rule is about it. Undefined: nothing is to be learnt. Never
   * rejects.
   */
  learn(record: CallRecord, input = record.input as JsonValue): Promise<void> | undefined {
    const { flow } = this.#options;
    if (flow?.guards(record.tool) !== true) return undefined;
    return flow.learn(judgedCall(this.#options, record, input), earlierOperations(this.#table, record));
  }

  ask(record: CallRecord): void {
    const pending = this.#options.gate.decide(this.#gateCall(record));
    if (pending === undefined) this.#calls.enqueue(record);
    else this.#follow(record, pending);
  }

  /**
   * Asks the gate about a call that waited for `request` when its script was suspended. `input`: the arguments as the
   * current tool reads them.
   */
  recheck(record: CallRecord, request: ApprovalRequest, input: JsonValue): void {
    // defence: rules-read-todays-arguments
    const call = this.#gateCall(record, input);
    this.#follow(record, this.#options.gate.recheck(call, request));
  }

  /** Returns the parts of an approved call that have changed since the user saw them. Never rejects. */
  async changesOf(record: CallRecord): Promise<readonly ApprovalChange[]> {
    // defence: approvals-bind-what-was-seen
    return record.approved === undefined
      ? []
      : this.#options.gate.changesSince(record.approved, this.#gateCall(record));
  }

  /** Whether the current rules deny a call that an earlier process had approved. */
  isForbidden(record: CallRecord): boolean {
    return this.#options.gate.forbids(this.#gateCall(record)) !== undefined;
  }

  cancel(record: CallRecord): void {
    if (record.request === undefined) return;
    const { approvalId } = record.request;
    this.#resolveRequest(record, { decision: 'cancelled', approvalId, by: 'host', reason: '' });
  }

  requested(record: CallRecord, request: ApprovalRequest): void {
    if (record.isSettled) return;
    record.request = request;
    record.call.task?.setStatus('awaiting_approval');
    if (this.#options.context.sink.hasListeners)
      this.#calls.emit({ type: 'approval_requested', approval: toSnakeCase(request) });
    this.#table.move(record, 'awaiting_approval');
    this.#calls.waitingChanged();
  }

  parked(record: CallRecord): void {
    if (record.state !== 'awaiting_approval' || record.isParked) return;
    // The script has ended, so no later decision can resume it.
    if (this.#calls.isClosed()) return this.#calls.abort(record, 'the script ended before a decision');
    this.#table.park(record);
    this.#calls.waitingChanged();
  }

  #gateCall(record: CallRecord, input = record.input as JsonValue): CallForGate {
    const { flow } = this.#options;
    const operations = flow?.guards(record.tool) === true ? () => earlierOperations(this.#table, record) : undefined;
    return new CallForGate(this.#options, record, input, { listener: this, operations });
  }

  #follow(record: CallRecord, pending: Promise<GateDecision | undefined>): void {
    void this.#decide(record, pending).catch((thrown: unknown) =>
      this.#calls.refuse(record, 'failed', describeThrown(thrown, record.tool.name)),
    );
  }

  async #decide(record: CallRecord, pending: Promise<GateDecision | undefined>): Promise<void> {
    const decision = await pending;
    if (record.isSettled) return;
    if (decision !== undefined && !this.#apply(record, decision)) return;
    this.#calls.enqueue(record);
  }

  /** Applies the decision. Returns true if the call may run. */
  #apply(record: CallRecord, decision: GateDecision): boolean {
    this.#resolveRequest(record, decision);
    if (decision.decision !== 'approve') {
      const code: ErrorCode = decision.decision === 'timeout' ? 'ApprovalTimeoutError' : 'ApprovalDeniedError';
      const status = decision.decision === 'cancelled' ? 'not_started' : 'denied';
      this.#calls.refuse(record, status, guestError(code, decision.reason));
      return false;
    }
    // defence: approvals-are-redeemed
    if (!this.#options.gate.redeem(decision.approvalId, record.call.callId, decision.inputJson)) {
      const message = `The approval of ${record.tool.name} belongs to a different call. Make the call again to request a new approval.`;
      this.#calls.refuse(record, 'denied', guestError('ApprovalDeniedError', message));
      return false;
    }
    if (decision.inputJson !== record.inputJson) {
      record.inputJson = decision.inputJson;
      record.input = deepFreeze(JSON.parse(decision.inputJson));
    }
    record.approved = decision.approved;
    return true;
  }

  #resolveRequest(record: CallRecord, decision: GateDecision): void {
    record.request = undefined;
    this.#table.unpark(record);
    const inputJson = decision.decision === 'approve' ? decision.inputJson : record.inputJson;
    const { approvalId, decision: verdict, by, note, remember } = decision;
    const { call, tool } = record;
    const { callId } = call;
    const isEdited = inputJson !== record.inputJson;
    const { scriptId, context, audit } = this.#options;
    const { sink } = context;
    audit?.({
      type: 'approval',
      approvalId,
      callId,
      tool: tool.name,
      inputJson,
      replacedInputJson: isEdited ? record.inputJson : undefined,
      decision: verdict,
      by,
      note,
      remember,
      provenance: decision.provenance,
    });
    call.task?.setStatus('queued');
    if (!sink.hasListeners) return;
    this.#calls.emit({
      type: 'approval_resolved',
      approval_id: approvalId,
      call_id: callId,
      script_id: scriptId,
      decision: verdict,
      by,
      note,
      remember,
      edited_input_json: isEdited ? inputJson : undefined,
    });
  }
}

/** Receives the gate's reports about a call that needs a user's decision. */
interface ApprovalListener {
  /** Called when a user is asked. */
  requested(record: CallRecord, request: ApprovalRequest): void;
  /** Called when no user is asked about the call, or when a user is no longer asked. */
  parked(record: CallRecord): void;
}

/** The operations whose results the script had when it made the call. */
export function earlierOperations(table: CallTable, { call }: CallRecord): readonly Operation[] {
  const all = table.operations();
  return all.slice(
    0,
    all.findIndex(({ callId }) => callId === call.callId),
  );
}

interface GateCallParts {
  readonly listener: ApprovalListener;
  /** Undefined: no rule is about the sources of the arguments. */
  readonly operations: (() => readonly Operation[]) | undefined;
}

/** A call as the gate sees it, with the input that the call has when this object is created. */
class CallForGate implements GateCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly context: RunContext;
  readonly input: JsonValue;
  readonly inputJson: string;
  readonly line: number | undefined;
  readonly snippet: string | undefined;
  readonly plan: GateCall['plan'];
  readonly changed: GateCall['changed'];
  readonly #record: CallRecord;
  readonly #options: FacadeOptions;
  readonly #parts: GateCallParts;
  #flow: FlowFinding | undefined;

  constructor(options: FacadeOptions, record: CallRecord, input: JsonValue, parts: GateCallParts) {
    this.tool = record.tool;
    this.callId = record.call.callId;
    this.scriptId = options.scriptId;
    this.context = options.context;
    this.input = input;
    this.inputJson = record.inputJson;
    this.line = record.call.line;
    this.snippet = record.call.snippet;
    this.plan = options.plan;
    this.changed = record.changed;
    this.#record = record;
    this.#options = options;
    this.#parts = parts;
  }

  /** The finding is made on demand. */
  get flow(): FlowFinding | undefined {
    const { operations } = this.#parts;
    if (operations === undefined) return undefined;
    this.#flow ??= this.#options.flow!.finding(judgedCall(this.#options, this.#record, this.input), operations());
    return this.#flow;
  }

  /** Creates the signal on demand. */
  get signal(): AbortSignal {
    return this.#record.signal;
  }

  onRequest(request: ApprovalRequest): void {
    this.#parts.listener.requested(this.#record, request);
  }

  onParked(): void {
    this.#parts.listener.parked(this.#record);
  }
}

/** A call as `CallSources` judges it. */
export function judgedCall({ scriptId, context }: FacadeOptions, record: CallRecord, input: JsonValue): JudgedCall {
  const { tool, call } = record;
  const { callId, line } = call;
  return { tool: tool.name, effect: tool.effect, input, callId, scriptId, principal: context.principal, line };
}

/**
 * Replaces the input of a call with the result of the tool's `pin`. The result names exact versions of the things to
 * which the input refers, so that the decision and the call are about the same versions. Rejects with the error of
 * `pin`, or with a `TypeError` if the result does not fit the tool.
 */
export async function pinInput({ context }: FacadeOptions, record: CallRecord): Promise<void> {
  const { tool } = record;
  const pinned: unknown = await tool.pin?.(record.input as never, callScope(context));
  const checked = tool.validateInput(pinned);
  if (!checked.ok)
    throw new TypeError(
      `"pin" of the tool ${tool.name} returned arguments that do not fit the input schema. The author of the tool must correct "pin".`,
    );
  record.inputJson = JSON.stringify(checked.value);
  record.input = deepFreeze(JSON.parse(record.inputJson) as JsonValue);
}
