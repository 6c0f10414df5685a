import type { ApprovalRequest } from '../protocol/approvals.js';
import type { ErrorCode } from '../protocol/errors.js';
import type { JsonValue } from '../protocol/json.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Tool } from '../protocol/tools.js';
import type { GateDecision } from '../protocol/approval-gate.js';
import { absentNote, checkArguments, type ArgumentLimits } from './call-arguments.js';
import { notFound, notRecorded, otherArguments, overBudget, refusal } from './call-refusals.js';
import { callContext, idempotencyKey, type CallVoice } from './call-context.js';
import { describeThrown, guestError, unknownEnd } from './call-errors.js';
import { CallCounts } from './call-counts.js';
import { CallQueue } from './call-queue.js';
import { CallRecord, settledWithin, type CallEnd } from './call-record.js';
import { checkResult } from './call-result.js';
import type {
  CallResult,
  EndedCall,
  Facade,
  FacadeCall,
  FacadeEvent,
  FacadeOptions,
  PendingCalls,
  SuspendedCalls,
  WaitingCall,
} from './facade-types.js';
import { CallForGate, type ApprovalListener } from './gate-call.js';
import { goneTool, waitingCall } from './waiting-calls.js';
import { deepFreeze } from '../text/deep-freeze.js';

/** One facade serves one script run, or one structured call. */
export function createFacade(options: FacadeOptions): Facade {
  return new CallFacade(options);
}

const MAX_PROGRESS_LENGTH = 2_000;
/** Of arguments that were wrong, in one script. */
const MAX_WRONG_BYTES = 2_097_152;
const MAX_BYTES_AFTER = 65_536;
/** Characters of JSON behind which there is more to do in the same turn of the event loop. */
const MAX_UNITS_IN_TURN = 65_536;
const DONE = Promise.resolve();

class CallFacade implements Facade, CallVoice, ApprovalListener {
  readonly #options: FacadeOptions;
  readonly #startMs: number;
  readonly #records = new Map<string, CallRecord>();
  readonly #queue: CallQueue;
  /** Of detached tasks: however long they take, the script's calls do not wait for them. */
  readonly #taskQueue: CallQueue;
  readonly #counts = new CallCounts();
  #made: number;
  #wrongBytes = 0;
  readonly #overBudget = new Set<CallRecord>();
  /** What listeners were last told of the wait. */
  #told = { onlyApprovals: false, parked: 0 };
  #closed = false;
  #isTurnUsed = false;

  constructor(options: FacadeOptions) {
    this.#options = options;
    this.#startMs = options.startedAtMs ?? options.clock.nowMs();
    this.#made = options.earlier?.made ?? 0;
    this.#queue = new CallQueue(options.limits.maxConcurrentToolCalls);
    this.#taskQueue = new CallQueue(options.limits.maxConcurrentDetachedTasks);
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
    const open = [...this.#records.values()].filter((record) => !record.isSettled);
    // Nobody will be asked about these any more.
    for (const record of open) if (record.call.detached === true && record.isParked) this.#abort(record, reason);
    const attached = open.filter((record) => record.call.detached !== true);
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

  suspend(): SuspendedCalls {
    this.#closed = true;
    const waiting: WaitingCall[] = [];
    const ended = this.#earlierEnds();
    for (const record of this.#records.values()) {
      if (record.state === 'awaiting_approval' && record.request !== undefined)
        waiting.push(waitingCall(record, record.request));
      else ended.push({ callIndex: record.call.callIndex, operation: this.#operation(record) });
    }
    for (const record of this.#records.values())
      if (record.state === 'awaiting_approval' || record.state === 'over_budget') record.putAside();
    return { approvals: this.#options.gate.memory(), made: this.#made, ended, waiting };
  }

  overBudget(): number[] {
    return [...this.#overBudget].map(({ call }) => call.callIndex);
  }

  resumeCall(waiting: WaitingCall): Promise<CallResult> {
    return new Promise((resolve) => this.#resumeCall(waiting, resolve));
  }

  mayRepeat({ tool: name, input }: Operation): boolean {
    const tool = this.#options.registry.get(name);
    if (tool?.idempotent !== true || !this.#options.exposed.has(tool.name)) return false;
    const validated = tool.validateInput(input);
    // defence: repeated-calls-have-the-same-arguments, without it: return validated.ok;
    return validated.ok && JSON.stringify(validated.value) === JSON.stringify(input);
  }

  get isQuiet(): boolean {
    return this.#records.size === this.#counts.settled;
  }

  operations(): Operation[] {
    const now = [...this.#records.values()].sort((left, right) => left.call.callIndex - right.call.callIndex);
    if (this.#options.earlier === undefined) return now.map((record) => this.#operation(record));
    const calls = now.map((record) => ({ callIndex: record.call.callIndex, operation: this.#operation(record) }));
    return [...this.#earlierEnds(), ...calls]
      .sort((left, right) => left.callIndex - right.callIndex)
      .map(({ operation }) => operation);
  }

  /** Without those of calls that were made again since. */
  #earlierEnds(): EndedCall[] {
    const { earlier } = this.#options;
    if (earlier === undefined) return [];
    const again = new Set([...this.#records.values()].map(({ call }) => call.callIndex));
    return earlier.ended.filter(({ callIndex }) => !again.has(callIndex));
  }

  pending(): PendingCalls {
    return this.#counts.pending();
  }

  callsMade(): number {
    return this.#made;
  }

  /** exists → exposed → within budget → arguments valid. All of it in the same tick as the call. */
  #admit(call: FacadeCall, deliver: (result: CallResult) => void): void {
    // defence: no-call-after-the-end
    if (this.#closed)
      return deliver(refusal('ToolExecutionError', 'The script has ended; no tool can be called any more.'));
    // defence: call-ids-are-used-once
    if (this.#records.has(call.callId))
      return deliver(refusal('ToolExecutionError', 'A call of this id was made before.'));
    const tool = this.#options.registry.get(call.tool);
    // defence: only-exposed-tools, without it: if (tool === undefined) return deliver({ ok: false, error: this.#notFound(call.tool, tool) });
    if (tool === undefined || !this.#options.exposed.has(tool.name)) {
      return deliver({ ok: false, error: this.#notFound(call.tool, tool) });
    }
    // defence: budget-before-validation
    if (call.isRepeated !== true && this.#made >= this.#options.limits.maxToolCalls) {
      return this.#refuseLater(this.#addRecord(call, tool, null, '', deliver));
    }
    if (call.isRepeated !== true) this.#made += 1;
    const checked = checkArguments(tool, call, this.#argumentLimits());
    this.#useTurn(call.argsJson.length);
    if (!checked.ok) {
      // defence: wrong-arguments
      this.#wrongBytes += call.argsJson.length;
      const record = this.#addRecord(call, tool, checked.sent, '', deliver);
      return this.#refuse(record, 'failed', guestError('ToolValidationError', checked.message, checked.data));
    }
    const record = this.#addRecord(call, tool, checked.value, checked.json, deliver);
    for (const path of checked.absent) this.#emit({ type: 'call_noted', note: absentNote(tool, call, path) });
    // defence: retries-have-the-same-arguments
    if (call.retries !== undefined && call.retries.inputJson !== checked.json)
      return this.#refuse(record, 'failed', otherArguments(tool));
    if (call.isRepeated === true) this.#recheck(record);
    else this.#askGate(record);
  }

  /**
   * A call beyond the budget is refused when the calls before it have ended: a script that ends by the refusal would
   * take those with it.
   */
  #refuseLater(record: CallRecord): void {
    this.#overBudget.add(record);
    this.#moveTo(record, 'over_budget');
  }

  #refuseOverBudget(): void {
    if (this.#overBudget.size === 0 || !this.#counts.onlyOverBudget) return;
    // The last call's own result comes before the refusals.
    queueMicrotask(() => {
      if (!this.#counts.onlyOverBudget) return;
      const refused = [...this.#overBudget];
      this.#overBudget.clear();
      const error = this.#budgetError();
      for (const record of refused) this.#refuse(record, 'not_started', error);
    });
  }

  #budgetError(): GuestError {
    return overBudget(this.#options.limits.maxToolCalls, this.operations());
  }

  /** The tool may have changed meanwhile: the call is held to what holds now. */
  #resumeCall(waiting: WaitingCall, deliver: (result: CallResult) => void): void {
    const { callId, callIndex, inputJson, line, column, snippet, detached, retries, request } = waiting;
    const call: FacadeCall = {
      callId,
      callIndex,
      tool: waiting.tool,
      argsJson: inputJson,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      ...(snippet !== undefined && { snippet }),
      ...(detached !== undefined && { detached }),
      ...(retries !== undefined && { retries }),
    };
    const found = this.#options.registry.get(waiting.tool);
    // defence: only-exposed-tools-are-taken-up, without it: const tool = found;
    const tool = found !== undefined && this.#options.exposed.has(found.name) ? found : undefined;
    const record = new CallRecord(
      call,
      tool ?? goneTool(waiting),
      deepFreeze(JSON.parse(inputJson) as JsonValue),
      inputJson,
      waiting.startedAtMs,
      deliver,
    );
    this.#records.set(callId, record);
    this.#counts.enter(record);
    record.request = request;
    this.#moveTo(record, 'awaiting_approval');
    if (tool === undefined) return this.#refuse(record, 'not_started', this.#notFound(waiting.tool, found));
    const { maxToolInputBytes, maxToolInputValues } = this.#options.limits;
    const checked = checkArguments(tool, call, { maxBytes: maxToolInputBytes, maxValues: maxToolInputValues });
    if (!checked.ok)
      return this.#refuse(record, 'not_started', guestError('ToolValidationError', checked.message, checked.data));
    if (checked.json !== inputJson && this.#options.gate.isOpen(request)) return this.#askAnew(record, checked);
    // The user decided about the text of then; rules read the arguments as the tool names them today.
    // defence: rules-read-todays-arguments, without it: const gateCall = this.#gateCall(record);
    const gateCall = this.#gateCall(record, deepFreeze(checked.value));
    this.#follow(record, this.#options.gate.recheck(gateCall, request));
  }

  /** The tool has got defaults since: what was shown is not what would run, and nobody has approved it. */
  #askAnew(record: CallRecord, { value, json }: { value: JsonValue; json: string }): void {
    this.#cancelApproval(record);
    record.input = deepFreeze(value);
    record.inputJson = json;
    this.#counts.leave(record);
    record.state = 'deciding';
    this.#counts.enter(record);
    this.#askGate(record);
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
    this.#counts.enter(record);
    return record;
  }

  /** Large arguments take long to refuse: a script that sent many of them may send small ones only. */
  #argumentLimits(): ArgumentLimits {
    const { maxToolInputBytes, maxToolInputValues: maxValues } = this.#options.limits;
    const isWrong = this.#wrongBytes > MAX_WRONG_BYTES;
    return { maxBytes: isWrong ? Math.min(maxToolInputBytes, MAX_BYTES_AFTER) : maxToolInputBytes, maxValues };
  }

  #notFound(name: string, hidden: Tool | undefined): GuestError {
    const { registry, exposed } = this.#options;
    return notFound(name, registry.scriptNames(exposed), hidden !== undefined);
  }

  #askGate(record: CallRecord): void {
    const pending = this.#options.gate.decide(this.#gateCall(record));
    if (pending === undefined) this.#enqueue(record);
    else this.#follow(record, pending);
  }

  #unknownEnd({ call, tool }: CallRecord): GuestError {
    return unknownEnd(tool.name, call.callId, idempotencyKey(this.#options.scriptId, call));
  }

  /** Somebody has let the call through before it started, in an earlier process. */
  #recheck(record: CallRecord): void {
    const denial = this.#options.gate.forbids(this.#gateCall(record));
    // defence: prohibitions-hold-for-repeated-calls
    if (denial !== undefined) return this.#refuse(record, 'unknown', this.#unknownEnd(record));
    this.#enqueue(record);
  }

  #follow(record: CallRecord, pending: Promise<GateDecision | undefined>): void {
    void this.#decide(record, pending).catch((thrown: unknown) =>
      this.#refuse(record, 'failed', describeThrown(thrown, record.tool.name)),
    );
  }

  #gateCall(record: CallRecord, input = record.input as JsonValue): CallForGate {
    return new CallForGate(this.#options, record, input, this);
  }

  async #decide(record: CallRecord, pending: Promise<GateDecision | undefined>): Promise<void> {
    const decision = await pending;
    if (record.isSettled) return;
    if (decision !== undefined && !this.#applyDecision(record, decision)) return;
    this.#enqueue(record);
  }

  personAsked(record: CallRecord, request: ApprovalRequest): void {
    if (record.isSettled) return;
    record.request = request;
    this.#emit({ type: 'approval_requested', request });
    this.#moveTo(record, 'awaiting_approval');
  }

  parked(record: CallRecord): void {
    if (record.state !== 'awaiting_approval' || record.isParked) return;
    // Nothing will ever ask for the decision: its script has ended.
    if (this.#closed) return this.#abort(record, 'the script ended before anybody decided');
    record.isParked = true;
    this.#counts.park();
    this.#noteWaiting();
  }

  #unpark(record: CallRecord): void {
    if (!record.isParked) return;
    record.isParked = false;
    this.#counts.unpark();
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
    // defence: approvals-are-redeemed
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
    record.request = undefined;
    this.#unpark(record);
    const inputJson = decision.decision === 'approve' ? decision.inputJson : record.inputJson;
    this.#emit({
      type: 'approval_resolved',
      approvalId: decision.approvalId,
      callId: record.call.callId,
      tool: record.tool.name,
      inputJson,
      ...(inputJson !== record.inputJson && { replacedInputJson: record.inputJson }),
      decision: decision.decision,
      by: decision.by,
      ...(decision.note !== undefined && { note: decision.note }),
      ...(decision.remember !== undefined && { remember: decision.remember }),
    });
  }

  #enqueue(record: CallRecord): void {
    this.#moveTo(record, 'queued');
    record.leaveQueue = this.#queueOf(record).join(() => {
      record.holdsPlace = true;
      this.#recordIntent(record).then(
        () => this.#inTurn(() => this.#execute(record)),
        () => this.#refuse(record, 'not_started', notRecorded(record.tool)),
      );
    });
  }

  /** Rejects where the intent could not be recorded; nothing has run then. */
  #recordIntent(record: CallRecord): Promise<void> {
    const recorded = this.#options.onIntent;
    if (recorded === undefined) return DONE;
    // What it throws at once is a rejection too.
    const { callIndex } = record.call;
    const isRepeatable = record.tool.idempotent === true;
    return DONE.then(() =>
      recorded({ callIndex, operation: { ...this.#operation(record), status: 'unknown' }, isRepeatable }),
    );
  }

  /** Runs at once, or in a later turn of the event loop where large data has cost time in this one. */
  #inTurn(run: () => void): void {
    // defence: large-data-in-turns, without it: run();
    if (this.#isTurnUsed) setImmediate(() => this.#inTurn(run));
    else run();
  }

  /** Characters of arguments or of a result were read in this turn. */
  #useTurn(units: number): void {
    if (units <= MAX_UNITS_IN_TURN || this.#isTurnUsed) return;
    this.#isTurnUsed = true;
    setImmediate(() => {
      this.#isTurnUsed = false;
    });
  }

  /** Never throws. */
  #execute(record: CallRecord): void {
    if (record.isSettled) return;
    this.#counts.leave(record);
    record.startExecution(this.#options.clock.nowMs());
    this.#counts.enter(record);
    this.#announceStart(record);
    const failed = (thrown: unknown): void => this.#finishFailed(record, thrown);
    try {
      const result: unknown = record.tool.execute(
        JSON.parse(record.inputJson) as never,
        callContext(this.#options, record, this),
      );
      void Promise.resolve(result).then((value) => this.#inTurn(() => this.#finish(record, value)), failed);
    } catch (thrown) {
      failed(thrown);
    }
  }

  output(record: CallRecord, text: unknown): void {
    if (record.state !== 'executing' || typeof text !== 'string' || text === '') return;
    this.#emit({ type: 'output', callId: record.call.callId, text });
  }

  progress(record: CallRecord, message: unknown): void {
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

  /** Never throws. */
  #finish(record: CallRecord, result: unknown): void {
    try {
      this.#finishCompleted(record, result);
    } catch (thrown) {
      this.#finishFailed(record, thrown);
    }
  }

  #finishCompleted(record: CallRecord, result: unknown): void {
    if (record.isSettled) return;
    const checked = checkResult(record.tool, result, this.#options.limits);
    if (checked.ok) {
      const { json, value } = checked;
      this.#useTurn(json.length);
      const { observed, principal } = this.#options;
      if (record.tool.outputSchema === undefined) observed?.observe(record.tool, value, principal);
      this.#settle(record, { status: 'completed', result: value });
      record.deliver({ ok: true, json });
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

  /** Ends a call that this facade has not run. */
  #refuse(record: CallRecord, status: 'failed' | 'denied' | 'not_started' | 'unknown', error: GuestError): void {
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
      this.#counts.leave(record);
      // A tool that ignores its signal must not keep others waiting.
      this.#releasePlace(record);
    } else if (record.state === 'over_budget') {
      this.#refuse(record, 'not_started', this.#budgetError());
    } else {
      this.#cancelApproval(record);
      this.#settle(record, { status: 'not_started' });
      record.deliver({ ok: false, error });
    }
    record.abortSignal(error.message);
    this.#noteWaiting();
  }

  #cancelApproval(record: CallRecord): void {
    if (record.request === undefined) return;
    this.#approvalResolved(record, {
      decision: 'cancelled',
      approvalId: record.request.approvalId,
      by: 'host',
      reason: '',
    });
  }

  #settle(record: CallRecord, end: CallEnd): void {
    this.#overBudget.delete(record);
    this.#unpark(record);
    const wasGivenUp = record.state === 'executing' && record.abortReason !== undefined;
    if (!wasGivenUp) this.#counts.leave(record);
    record.leaveQueue?.();
    record.leaveQueue = undefined;
    record.settle(end, this.#options.clock.nowMs());
    this.#counts.enter(record);
    if (this.#options.tellsCalls !== false) this.#emit({ type: 'tool_call_done', operation: this.#operation(record) });
    this.#releasePlace(record);
    this.#noteWaiting();
  }

  #releasePlace(record: CallRecord): void {
    if (!record.holdsPlace) return;
    record.holdsPlace = false;
    this.#queueOf(record).leave();
  }

  #queueOf({ call }: CallRecord): CallQueue {
    return call.detached === true ? this.#taskQueue : this.#queue;
  }

  #moveTo(record: CallRecord, state: 'awaiting_approval' | 'over_budget' | 'queued'): void {
    this.#counts.leave(record);
    record.state = state;
    this.#counts.enter(record);
    this.#noteWaiting();
  }

  #noteWaiting(): void {
    this.#refuseOverBudget();
    const { waitsForApprovalsOnly: onlyApprovals, parked } = this.#counts;
    if (onlyApprovals === this.#told.onlyApprovals && parked === this.#told.parked) return;
    this.#told = { onlyApprovals, parked };
    this.#emit({ type: 'waiting_changed', ...this.#told });
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
