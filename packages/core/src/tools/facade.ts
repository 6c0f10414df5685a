import type { ApprovalRequest } from '../protocol/approvals.js';
import type { ErrorCode } from '../protocol/errors.js';
import type { JsonValue } from '../protocol/json.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Tool, ToolCallContext } from '../protocol/tools.js';
import type { GateCall, GateDecision } from '../protocol/approval-gate.js';
import { checkArguments } from './call-arguments.js';
import { describeThrown, guestError } from './call-errors.js';
import { CallQueue } from './call-queue.js';
import { CallRecord, type CallEnd, type CallState } from './call-record.js';
import { checkResult } from './call-result.js';
import type { CallResult, Facade, FacadeCall, FacadeEvent, FacadeOptions, PendingCalls } from './facade-types.js';
import { deepFreeze } from './json-text.js';
import { didYouMean } from '../text/nearest-names.js';

/** One facade serves one script run, or one structured call. */
export function createFacade(options: FacadeOptions): Facade {
  return new CallFacade(options);
}

const MAX_PROGRESS_LENGTH = 2_000;
const MAX_SHOWN_NAME = 80;
const DONE = Promise.resolve();

class CallFacade implements Facade {
  readonly #options: FacadeOptions;
  readonly #startMs: number;
  readonly #records = new Map<string, CallRecord>();
  readonly #queue: CallQueue;
  readonly #counts: Record<CallState, number> = {
    deciding: 0,
    awaiting_approval: 0,
    queued: 0,
    executing: 0,
    settled: 0,
  };
  #made = 0;
  #onlyApprovals = false;
  #closed = false;

  constructor(options: FacadeOptions) {
    this.#options = options;
    this.#startMs = options.startedAtMs ?? options.clock.nowMs();
    this.#queue = new CallQueue(options.limits.maxConcurrentToolCalls);
  }

  call(call: FacadeCall): Promise<CallResult> {
    return new Promise((resolve) => {
      try {
        this.#admit(call, resolve);
      } catch {
        resolve(refusal('ToolExecutionError', 'The call could not be made because of an internal failure.'));
      }
    });
  }

  abort(callId: string, reason: string): void {
    const record = this.#records.get(callId);
    if (record !== undefined) this.#abort(record, reason);
  }

  async abortAll(reason: string, graceMs: number): Promise<{ stillRunning: Operation[] }> {
    this.#closed = true;
    const attached = [...this.#records.values()].filter((record) => record.call.detached !== true && !record.isSettled);
    for (const record of attached) this.#abort(record, reason);
    await settledWithin(attached, graceMs);
    const stillRunning: Operation[] = [];
    for (const record of attached) {
      if (record.isSettled) continue;
      this.#settle(record, { status: record.statusOfUnfinished() });
      stillRunning.push(this.#operation(record));
    }
    return { stillRunning };
  }

  get isQuiet(): boolean {
    return this.#records.size === this.#counts.settled;
  }

  operations(): Operation[] {
    return [...this.#records.values()]
      .toSorted((left, right) => left.call.callIndex - right.call.callIndex)
      .map((record) => this.#operation(record));
  }

  pending(): PendingCalls {
    const { executing, queued, deciding, awaiting_approval: awaitingApproval } = this.#counts;
    return { executing, queued: queued + deciding, awaitingApproval };
  }

  callsMade(): number {
    return this.#made;
  }

  /** exists → exposed → arguments valid → budget. All of it in the same tick as the call. */
  #admit(call: FacadeCall, deliver: (result: CallResult) => void): void {
    if (this.#closed)
      return deliver(refusal('ToolExecutionError', 'The script has ended; no tool can be called any more.'));
    if (this.#records.has(call.callId))
      return deliver(refusal('ToolExecutionError', 'A call of this id was made before.'));
    const tool = this.#options.registry.get(call.tool);
    if (tool === undefined || !this.#options.exposed.has(tool.name)) {
      return deliver({ ok: false, error: this.#notFound(call.tool, tool) });
    }
    const overBudget = this.#made >= this.#options.limits.maxToolCalls;
    if (!overBudget) this.#made += 1;
    const checked = checkArguments(tool, call, this.#options.limits.maxToolInputBytes);
    if (!checked.ok) {
      const record = this.#addRecord(call, tool, checked.sent, '', deliver);
      return this.#refuse(record, 'failed', guestError('ToolValidationError', checked.message, checked.data));
    }
    const record = this.#addRecord(call, tool, checked.value, checked.json, deliver);
    if (overBudget) return this.#refuse(record, 'not_started', this.#budgetError());
    const pending = this.#askGate(record);
    if (pending === undefined) return this.#enqueue(record);
    void this.#decide(record, pending).catch((thrown: unknown) =>
      this.#refuse(record, 'failed', describeThrown(thrown, tool.name)),
    );
  }

  #addRecord(
    call: FacadeCall,
    tool: Tool,
    input: JsonValue,
    inputJson: string,
    deliver: (result: CallResult) => void,
  ): CallRecord {
    const startedAtMs = Math.max(0, this.#options.clock.nowMs() - this.#startMs);
    const record = new CallRecord(call, tool, deepFreeze(input), inputJson, startedAtMs, deliver);
    this.#records.set(call.callId, record);
    this.#counts[record.state] += 1;
    return record;
  }

  #notFound(name: string, hidden: Tool | undefined): GuestError {
    const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
    const names = this.#options.registry.scriptNames(this.#options.exposed);
    const what = hidden === undefined ? `There is no tool "${shown}".` : `The tool "${shown}" is not available here.`;
    return guestError('ToolNotFoundError', `${what}${didYouMean(name, names)}`);
  }

  #budgetError(): GuestError {
    const { maxToolCalls } = this.#options.limits;
    return guestError(
      'ToolBudgetExceededError',
      `A script may make ${maxToolCalls} tool calls, and this one has. Make fewer calls, or split the work.`,
    );
  }

  #askGate(record: CallRecord): Promise<GateDecision | undefined> | undefined {
    return this.#options.gate.decide(
      new CallForGate(this.#options, record, (request) => this.#personAsked(record, request)),
    );
  }

  async #decide(record: CallRecord, pending: Promise<GateDecision | undefined>): Promise<void> {
    const decision = await pending;
    if (record.isSettled) return;
    if (decision !== undefined && !this.#applyDecision(record, decision)) return;
    this.#enqueue(record);
  }

  #personAsked(record: CallRecord, request: ApprovalRequest): void {
    if (record.isSettled) return;
    record.openApprovalId = request.approvalId;
    this.#emit({ type: 'approval_requested', request });
    this.#moveTo(record, 'awaiting_approval');
  }

  /** True where the call may run. */
  #applyDecision(record: CallRecord, decision: GateDecision): boolean {
    this.#approvalResolved(record, decision);
    if (decision.decision !== 'approve') {
      const code: ErrorCode = decision.decision === 'timeout' ? 'ApprovalTimeoutError' : 'ApprovalDeniedError';
      const status = decision.decision === 'cancelled' ? 'not_started' : 'denied';
      this.#refuse(record, status, guestError(code, decision.reason));
      return false;
    }
    if (!this.#options.gate.redeem(decision.approvalId, record.call.callId, decision.inputJson)) {
      this.#refuse(
        record,
        'denied',
        guestError('ApprovalDeniedError', `The approval of ${record.tool.name} was not given for this call.`),
      );
      return false;
    }
    if (decision.inputJson !== record.inputJson) {
      record.inputJson = decision.inputJson;
      record.input = deepFreeze(JSON.parse(decision.inputJson));
    }
    return true;
  }

  #approvalResolved(record: CallRecord, decision: GateDecision): void {
    record.openApprovalId = undefined;
    this.#emit({
      type: 'approval_resolved',
      approvalId: decision.approvalId,
      callId: record.call.callId,
      decision: decision.decision,
      by: decision.by,
      ...(decision.note !== undefined && { note: decision.note }),
      ...(decision.remember !== undefined && { remember: decision.remember }),
    });
  }

  #enqueue(record: CallRecord): void {
    this.#moveTo(record, 'queued');
    record.leaveQueue = this.#queue.join(() => {
      record.holdsPlace = true;
      this.#recordIntent(record).then(
        () => this.#execute(record),
        () => this.#refuse(record, 'not_started', notRecorded(record.tool)),
      );
    });
  }

  /** Rejects where the intent could not be recorded; nothing has run then. */
  #recordIntent(record: CallRecord): Promise<void> {
    const recorded = this.#options.onIntent;
    if (recorded === undefined) return DONE;
    // What it throws at once is a rejection too.
    return DONE.then(() => recorded({ ...this.#operation(record), status: 'unknown' }));
  }

  /** Never throws. */
  #execute(record: CallRecord): void {
    if (record.isSettled) return;
    record.startExecution(this.#options.clock.nowMs());
    this.#counts.queued -= 1;
    this.#counts.executing += 1;
    this.#announceStart(record);
    const failed = (thrown: unknown): void => this.#finishFailed(record, thrown);
    try {
      const result: unknown = record.tool.execute(JSON.parse(record.inputJson) as never, this.#contextOf(record));
      void Promise.resolve(result)
        .then((value) => this.#finishCompleted(record, value))
        .catch(failed);
    } catch (thrown) {
      failed(thrown);
    }
  }

  #contextOf(record: CallRecord): ToolCallContext {
    const { app, principal, scriptId, limits } = this.#options;
    const { callId, callIndex } = record.call;
    return {
      app,
      principal,
      get signal() {
        return record.signal;
      },
      callId,
      scriptId,
      idempotencyKey: scriptId === undefined ? callId : `${scriptId}:${callIndex}`,
      progress: (message: string) => this.#progress(record, message),
      maxOutputBytes: limits.maxToolOutputBytes,
    };
  }

  #progress(record: CallRecord, message: unknown): void {
    if (record.state !== 'executing' || record.abortReason !== undefined) return;
    const text = (typeof message === 'string' ? message : (JSON.stringify(message) ?? '')).slice(
      0,
      MAX_PROGRESS_LENGTH,
    );
    this.#emit({ type: 'progress', callId: record.call.callId, tool: record.tool.name, message: text });
  }

  #announceStart(record: CallRecord): void {
    if (this.#options.tellsCalls !== false)
      this.#emit({
        type: 'tool_call_start',
        callId: record.call.callId,
        tool: record.tool.name,
        input: record.input,
        effect: record.tool.effect,
        ...(record.call.line !== undefined && { line: record.call.line }),
      });
    this.#noteWaiting();
  }

  #finishCompleted(record: CallRecord, result: unknown): void {
    if (record.isSettled) return;
    const checked = checkResult(record.tool, result, this.#options.limits.maxToolResultBytes);
    if (checked.ok) {
      const value: unknown = checked.json === '' ? undefined : JSON.parse(checked.json);
      if (record.tool.outputSchema === undefined) this.#options.observed?.observe(record.tool, value);
      this.#settle(record, { status: 'completed', result: value });
      record.deliver({ ok: true, json: checked.json });
      return;
    }
    const error = guestError('ToolExecutionError', checked.reason);
    this.#settle(record, { status: 'completed', resultOmitted: true, error });
    record.deliver({ ok: false, error });
  }

  #finishFailed(record: CallRecord, thrown: unknown): void {
    if (record.isSettled) return;
    const error = describeThrown(thrown, record.tool.name);
    this.#settle(record, { status: record.abortReason === undefined ? 'failed' : 'aborted', error });
    record.deliver({ ok: false, error });
  }

  /** Ends a call of which nothing has run. */
  #refuse(record: CallRecord, status: 'failed' | 'denied' | 'not_started', error: GuestError): void {
    if (record.isSettled) return;
    this.#settle(record, { status, error });
    record.deliver({ ok: false, error });
  }

  #abort(record: CallRecord, reason: string): void {
    if (record.isSettled || record.abortReason !== undefined) return;
    record.abortReason = reason;
    const error = guestError('ToolExecutionError', `The call of ${record.tool.name} was aborted: ${reason}.`);
    if (record.state === 'executing') {
      record.deliver({ ok: false, error });
      this.#counts.executing -= 1;
      // A tool that ignores its signal must not keep others waiting.
      this.#releasePlace(record);
    } else {
      this.#cancelApproval(record);
      this.#settle(record, { status: 'not_started' });
      record.deliver({ ok: false, error });
    }
    record.abortSignal(error.message);
    this.#noteWaiting();
  }

  #cancelApproval(record: CallRecord): void {
    if (record.openApprovalId === undefined) return;
    this.#approvalResolved(record, {
      decision: 'cancelled',
      approvalId: record.openApprovalId,
      by: 'host',
      reason: '',
    });
  }

  #settle(record: CallRecord, end: CallEnd): void {
    const abandoned = record.state === 'executing' && record.abortReason !== undefined;
    if (!abandoned) this.#counts[record.state] -= 1;
    record.leaveQueue?.();
    record.settle(end, this.#options.clock.nowMs());
    this.#counts.settled += 1;
    if (this.#options.tellsCalls !== false) this.#emit({ type: 'tool_call_done', operation: this.#operation(record) });
    this.#releasePlace(record);
    this.#noteWaiting();
  }

  #releasePlace(record: CallRecord): void {
    if (!record.holdsPlace) return;
    record.holdsPlace = false;
    this.#queue.leave();
  }

  #moveTo(record: CallRecord, state: 'awaiting_approval' | 'queued'): void {
    this.#counts[record.state] -= 1;
    record.state = state;
    this.#counts[state] += 1;
    this.#noteWaiting();
  }

  #noteWaiting(): void {
    const { awaiting_approval, deciding, queued, executing } = this.#counts;
    const onlyApprovals = awaiting_approval > 0 && deciding + queued + executing === 0;
    if (onlyApprovals === this.#onlyApprovals) return;
    this.#onlyApprovals = onlyApprovals;
    this.#emit({ type: 'waiting_changed', onlyApprovals });
  }

  #operation(record: CallRecord): Operation {
    return record.operation(this.#options.clock.nowMs());
  }

  /** A listener that throws must not change what becomes of a call. */
  #emit(event: FacadeEvent): void {
    try {
      this.#options.onEvent(event);
    } catch {
      // The host's listener failed; the call goes on.
    }
  }
}

/** A class, because its signal is made only when somebody asks for it. */
class CallForGate implements GateCall {
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
  readonly onRequest: GateCall['onRequest'];
  readonly #record: CallRecord;

  constructor(options: FacadeOptions, record: CallRecord, onRequest: GateCall['onRequest']) {
    this.tool = record.tool;
    this.callId = record.call.callId;
    this.scriptId = options.scriptId;
    this.principal = options.principal;
    this.app = options.app;
    this.input = record.input as JsonValue;
    this.inputJson = record.inputJson;
    this.line = record.call.line;
    this.snippet = record.call.snippet;
    this.plan = options.plan;
    this.onRequest = onRequest;
    this.#record = record;
  }

  get signal(): AbortSignal {
    return this.#record.signal;
  }
}

function notRecorded(tool: Tool): GuestError {
  return guestError('ToolExecutionError', `The call of ${tool.name} could not be recorded, so it was not made.`);
}

function refusal(code: ErrorCode, message: string): CallResult {
  return { ok: false, error: guestError(code, message) };
}

function settledWithin(records: readonly CallRecord[], graceMs: number): Promise<void> {
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
