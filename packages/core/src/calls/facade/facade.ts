import type { EventPayload } from '../../protocol/events.js';
import { internalFault } from '../../protocol/internal-fault.js';
import { PlanItemSchema } from '../../protocol/items.js';
import { type JsonValue, deepFreeze } from '../../protocol/json.js';
import type { Operation } from '../../protocol/operations.js';
import type { GuestError } from '../../protocol/sandbox.js';
import { toSnakeCase } from '../../protocol/spelling.js';
import type { Tool } from '../../protocol/tools.js';
import { newId } from '../../text/crypto.js';
import { CallApprovals, earlierOperations, judgedCall, pinInput } from './call-approvals.js';
import {
  absentNote,
  callContext,
  checkArguments,
  checkResult,
  conversionNote,
  idempotencyKey,
  type CallReporter,
} from './call-exchange.js';
import { CallBudget, CallQueue, EventLoopTurns } from './call-limits.js';
import {
  abortedCall,
  changesAgain,
  argumentsNoLongerFit,
  describeThrown,
  guestError,
  unknownToolError,
  unrecordedCallError,
  otherArguments,
  overBudget,
  refusal,
  runOverBudget,
  unknownEnd,
} from './call-errors.js';
import { hasUntrustedPart, type InputLabel } from '../flow/result-parts.js';
import { CallRecord, CallTable, goneTool, resumedCall, settledWithin, type CallEnd } from './call-record.js';
import type {
  CallResult,
  CallTask,
  Facade,
  FacadeCall,
  FacadeOptions,
  KeepsResults,
  PendingCalls,
  SuspendedCalls,
  WaitingCall,
} from './facade-types.js';

/** Creates a facade for one script run, or for one structured call. */
export function createFacade(options: FacadeOptions): Facade {
  return new CallFacade(options);
}

/** Maximum characters of a tool's warning. */
const MAX_WARNING_LENGTH = 2_000;
const MAX_PROGRESS_LENGTH = 2_000;
/** Maximum number of times that a call is asked about again because it changed after its approval. */
const MAX_CHANGES = 3;
const DONE = Promise.resolve();

class CallFacade implements Facade, CallReporter {
  readonly #options: FacadeOptions;
  readonly #table: CallTable;
  readonly #budget: CallBudget;
  readonly #approvals: CallApprovals;
  readonly #turns = new EventLoopTurns();
  readonly #queue: CallQueue;
  /** Detached tasks have a queue of their own, so the script's calls do not wait for them. */
  readonly #taskQueue: CallQueue;
  readonly #overBudget = new Set<CallRecord>();
  /** The state at the last call of `waitingChanged`. */
  #reportedState = { onlyApprovals: false, parked: 0 };
  #isClosed = false;

  constructor(options: FacadeOptions) {
    const { nowMs, earlier, context } = options;
    const { limits } = context;
    this.#options = options;
    this.#table = new CallTable(nowMs, earlier?.ended);
    this.#budget = new CallBudget(limits, earlier?.made ?? 0);
    this.#queue = new CallQueue(limits.maxConcurrentToolCalls);
    this.#taskQueue = new CallQueue(limits.maxConcurrentDetachedTasks);
    this.#approvals = new CallApprovals(options, this.#table, {
      isClosed: () => this.#isClosed,
      enqueue: (record) => this.#enqueue(record),
      refuse: (record, status, error) => this.#refuse(record, status, error),
      abort: (record, reason) => this.#abort(record, reason),
      emit: (payload) => this.#emit(payload),
      waitingChanged: () => this.#noteWaiting(),
    });
  }

  call(call: FacadeCall): Promise<CallResult> {
    return new Promise((resolve) => {
      try {
        this.#admit(call, resolve);
      } catch {
        resolve(
          refusal(
            'ToolExecutionError',
            'Toolscript itself failed, so the call was not made. Make the call again; if it fails again, report a bug in Toolscript.',
          ),
        );
      }
    });
  }

  abort(callId: string, reason: string): void {
    const record = this.#table.get(callId);
    if (record !== undefined) this.#abort(record, reason);
  }

  async abortAll(reason: string, graceMs: number): Promise<{ stillRunning: Operation[] }> {
    this.#isClosed = true;
    const open = this.#table.open();
    // No later decision can resume these calls.
    for (const record of open) if (record.call.detached === true && record.isParked) this.#abort(record, reason);
    const attached = open.filter((record) => record.call.detached !== true);
    for (const record of attached) this.#abort(record, reason);
    await settledWithin(attached, graceMs);
    const stillRunning: Operation[] = [];
    for (const record of attached) {
      if (record.isSettled) continue;
      this.#settle(record, { status: record.statusOfUnfinished() });
      stillRunning.push(this.#table.operation(record));
    }
    return { stillRunning };
  }

  suspend(): SuspendedCalls {
    this.#isClosed = true;
    return { approvals: this.#options.gate.memory(), made: this.#budget.made, ...this.#table.suspend() };
  }

  overBudget(): number[] {
    return [...this.#overBudget].map(({ call }) => call.callIndex);
  }

  resumeCall(waiting: WaitingCall, task?: CallTask): Promise<CallResult> {
    return new Promise((resolve) => this.#resumeCall(waiting, task, resolve));
  }

  mayRepeat({ tool: name, input }: Operation): boolean {
    const tool = this.#toolOf(name);
    if (tool?.idempotent !== true) return false;
    const validated = tool.validateInput(input);
    // defence: repeated-calls-have-the-same-arguments
    return validated.ok && JSON.stringify(validated.value) === JSON.stringify(input);
  }

  get isQuiet(): boolean {
    return this.#table.isQuiet;
  }

  operations(): Operation[] {
    return this.#table.operations();
  }

  pending(): PendingCalls {
    return this.#table.pending();
  }

  callsMade(): number {
    return this.#budget.made;
  }

  /**
   * Admits a call or refuses it. Checks in this order: exists → exposed → within budget → arguments valid, all in the
   * same tick as the call.
   */
  #admit(call: FacadeCall, deliver: (result: CallResult) => void): void {
    // defence: no-call-after-the-end
    if (this.#isClosed)
      return deliver(
        refusal(
          'ToolExecutionError',
          'The script has ended, so it can no longer call tools. Await all calls before the end.',
        ),
      );
    // defence: call-ids-are-used-once
    if (this.#table.get(call.callId) !== undefined)
      return deliver(refusal('ToolExecutionError', internalFault('A call with this id already exists.').message));
    const tool = this.#toolOf(call.tool);
    if (tool === undefined) return deliver({ ok: false, error: this.#notFound(call.tool) });
    // defence: budget-before-validation
    if (!this.#budget.take(call)) {
      return this.#refuseLater(this.#addRecord(call, tool, null, '', deliver));
    }
    // defence: call-budgets-of-runs
    if (call.isRepeated !== true && this.#options.context.sink.takeCall?.() === false)
      return this.#refuse(this.#addRecord(call, tool, null, '', deliver), 'not_started', runOverBudget());
    const checked = checkArguments(tool, call, this.#budget.argumentLimits());
    this.#turns.use(call.argsJson.length);
    if (!checked.ok) {
      // defence: wrong-arguments
      this.#budget.noteWrong(call);
      const record = this.#addRecord(call, tool, checked.sent, '', deliver);
      return this.#refuse(record, 'failed', guestError('ToolValidationError', checked.message, checked.data));
    }
    const record = this.#addRecord(call, tool, checked.value, checked.json, deliver);
    for (const path of checked.absent) this.#options.listener.noteAdded?.(absentNote(tool, call, path));
    // defence: retries-have-the-same-arguments
    if (call.retries !== undefined && call.retries.inputJson !== checked.json)
      return this.#refuse(record, 'failed', otherArguments(tool));
    if (call.isRepeated === true) this.#repeat(record);
    else this.#askAbout(record);
  }

  #askAbout(record: CallRecord): void {
    if (record.tool.pin === undefined) return this.#ask(record);
    void pinInput(this.#options, record).then(
      () => record.isSettled || this.#ask(record),
      (thrown: unknown) => this.#refuse(record, 'failed', describeThrown(thrown, record.tool.name)),
    );
  }

  #ask(record: CallRecord): void {
    const learnt = this.#approvals.learn(record);
    if (learnt === undefined) this.#approvals.ask(record);
    else void learnt.then(() => record.isSettled || this.#approvals.ask(record));
  }

  /**
   * Refuses a call over the budget after the calls before it have ended. An earlier refusal could end the script, which
   * would abort those calls.
   */
  #refuseLater(record: CallRecord): void {
    this.#overBudget.add(record);
    this.#moveTo(record, 'over_budget');
  }

  #refuseOverBudget(): void {
    if (this.#overBudget.size === 0) return;
    // The last call's own result precedes the refusals.
    queueMicrotask(() => {
      if (!this.#table.onlyOverBudget) return;
      const refused = [...this.#overBudget];
      this.#overBudget.clear();
      const error = this.#budgetError();
      for (const record of refused) this.#refuse(record, 'not_started', error);
    });
  }

  #budgetError(): GuestError {
    return overBudget(this.#options.context.limits.maxToolCalls, this.operations());
  }

  /** Resumes a call. The tool may have changed during the suspension: the current tool, arguments and rules apply. */
  #resumeCall(waiting: WaitingCall, task: CallTask | undefined, deliver: (result: CallResult) => void): void {
    const { operation, request } = waiting;
    const { inputJson } = request;
    const call = { ...resumedCall(waiting), task };
    const found = this.#options.services.registry.get(operation.tool);
    // defence: only-exposed-tools-are-resumed
    const tool = found !== undefined && this.#options.services.exposed.has(found.name) ? found : undefined;
    const input = deepFreeze(JSON.parse(inputJson) as JsonValue);
    const record = new CallRecord(call, tool ?? goneTool(operation), input, inputJson, operation.startedAtMs, deliver);
    record.request = request;
    this.#table.add(record);
    // A decided call is under way, so the script is not suspended again before the call has started.
    if (this.#options.gate.isOpen(request)) this.#moveTo(record, 'awaiting_approval');
    if (tool === undefined) return this.#refuse(record, 'not_started', this.#notFound(operation.tool));
    const checked = checkArguments(tool, call, this.#budget.argumentLimits());
    if (!checked.ok)
      return this.#refuse(record, 'not_started', guestError('ToolValidationError', checked.message, checked.data));
    const { value, json } = checked;
    if (json !== inputJson && this.#options.gate.isOpen(request)) {
      this.#approvals.cancel(record);
      return this.#askWith(record, value);
    }
    deepFreeze(value);
    const learnt = this.#approvals.learn(record, value);
    if (learnt === undefined) this.#approvals.recheck(record, request, value);
    else void learnt.then(() => record.isSettled || this.#approvals.recheck(record, request, value));
  }

  /** Asks again about a call, with the arguments as the current tool reads them. */
  #askWith(record: CallRecord, value: JsonValue): void {
    record.inputJson = JSON.stringify(value);
    record.input = deepFreeze(JSON.parse(record.inputJson) as JsonValue);
    this.#moveTo(record, 'deciding');
    this.#askAbout(record);
  }

  #addRecord(
    call: FacadeCall,
    tool: Tool,
    input: JsonValue,
    inputJson: string,
    deliver: (result: CallResult) => void,
  ): CallRecord {
    const startedAtMs = Math.max(0, this.#options.nowMs());
    const record = new CallRecord(call, tool, deepFreeze(input), inputJson, startedAtMs, deliver);
    this.#table.add(record);
    this.#noteWaiting();
    return record;
  }

  /** The tool that scripts may call by this name. */
  #toolOf(name: string): Tool | undefined {
    const { scriptId, services } = this.#options;
    const { registry, exposed, largeResults } = services;
    if (scriptId !== undefined && name === largeResults?.pageTool.name) return largeResults.pageTool;
    const tool = registry.get(name);
    // defence: only-exposed-tools
    return tool !== undefined && exposed.has(tool.name) ? tool : undefined;
  }

  #notFound(name: string): GuestError {
    const { registry, exposed, whyMissing } = this.#options.services;
    return unknownToolError(name, registry.scriptNames(exposed), whyMissing(name));
  }

  /**
   * Repeats a call that had started in an earlier process, where it was approved. Refuses the call if the current rules
   * deny it.
   */
  #repeat(record: CallRecord): void {
    // defence: prohibitions-hold-for-repeated-calls
    if (this.#approvals.isForbidden(record)) return this.#refuse(record, 'unknown', this.#unknownEnd(record));
    this.#enqueue(record);
  }

  #unknownEnd({ call, tool }: CallRecord): GuestError {
    return unknownEnd(tool.name, call.callId, idempotencyKey(this.#options.scriptId, call));
  }

  #enqueue(record: CallRecord): void {
    this.#moveTo(record, 'queued');
    record.leaveQueue = this.#recordQueue(record).join(() => {
      record.holdsPlace = true;
      if (record.approved === undefined) this.#begin(record);
      else void this.#beginApproved(record);
    });
  }

  #begin(record: CallRecord): void {
    this.#recordIntent(record).then(
      () => this.#turns.run(() => this.#execute(record)),
      () => this.#refuse(record, 'not_started', unrecordedCallError(record.tool)),
    );
  }

  /** Begins a call that a user approved if it is still what the user saw. Otherwise asks again. */
  async #beginApproved(record: CallRecord): Promise<void> {
    const changed = await this.#approvals.changesOf(record);
    if (record.isSettled) return;
    if (changed.length === 0) return this.#begin(record);
    record.changes += 1;
    if (record.changes > MAX_CHANGES) return this.#refuse(record, 'denied', changesAgain(record.tool));
    this.#releasePlace(record);
    record.leaveQueue = undefined;
    record.approved = undefined;
    record.changed = changed;
    const checked = record.tool.validateInput(record.input);
    if (!checked.ok) return this.#refuse(record, 'not_started', argumentsNoLongerFit(record.tool));
    this.#askWith(record, checked.value);
  }

  /** Stores the intent of a call. Rejects if the intent cannot be stored; the call has not run in this case. */
  #recordIntent(record: CallRecord): Promise<void> {
    const recorded = this.#options.onIntent;
    if (recorded === undefined) return DONE;
    // A synchronous throw becomes a rejection too.
    const isRepeatable = record.tool.idempotent === true;
    return DONE.then(() => recorded({ ...this.#table.operation(record), status: 'unknown' }, isRepeatable));
  }

  /** Runs a call. Never throws. */
  #execute(record: CallRecord): void {
    if (record.isSettled) return;
    this.#table.execute(record);
    this.#reportStart(record);
    const failed = (thrown: unknown): void => this.#finishFailed(record, thrown);
    try {
      const result: unknown = record.tool.execute(
        JSON.parse(record.inputJson) as never,
        callContext(this.#options, record, this),
      );
      void Promise.resolve(result).then((value) => this.#turns.run(() => this.#finish(record, value)), failed);
    } catch (thrown) {
      failed(thrown);
    }
  }

  output(record: CallRecord, text: unknown): void {
    if (record.state !== 'executing' || typeof text !== 'string' || text === '') return;
    record.call.task?.addOutput(text);
  }

  hasUntrustedInput(record: CallRecord): boolean {
    return this.#inputLabel(record).isTainted;
  }

  #inputLabel(record: CallRecord): InputLabel {
    const { flow, context } = this.#options;
    const earlier = earlierOperations(this.#table, record);
    if (flow !== undefined)
      return flow.inputLabel(judgedCall(this.#options, record, record.input as JsonValue), earlier);
    const hasRead = context.origin?.hasReadUntrusted === true;
    return { isTainted: hasRead || earlier.some(({ untrusted }) => untrusted === true) };
  }

  warn({ state, call }: CallRecord, message: unknown): void {
    if (state !== 'executing' || typeof message !== 'string') return;
    const { line, column } = call;
    const text = message.slice(0, MAX_WARNING_LENGTH);
    this.#options.listener.noteAdded?.({ severity: 'warning', code: 'tool-warning', message: text, line, column });
  }

  progress(record: CallRecord, message: unknown): void {
    if (record.state !== 'executing' || record.abortReason !== undefined) return;
    const text = (typeof message === 'string' ? message : (JSON.stringify(message) ?? '')).slice(
      0,
      MAX_PROGRESS_LENGTH,
    );
    record.call.task?.addProgress(text);
    const { scriptId, listener } = this.#options;
    if (scriptId === undefined || listener.mayProgress?.() !== true) return;
    const { callId } = record.call;
    this.#emit({ type: 'script_progress', script_id: scriptId, message: text, kind: 'info', call_id: callId });
  }

  #reportStart({ call, tool, input }: CallRecord): void {
    const { scriptId, context, listener, audit } = this.#options;
    const { sink } = context;
    const { callId, line } = call;
    const { name, effect } = tool;
    listener.callStarted?.();
    if (effect !== 'read') audit?.({ type: 'call_started', callId, tool: name, effect, input });
    call.task?.setStatus('running');
    if (sink.hasListeners)
      this.#emit({ type: 'tool_call_start', call_id: callId, script_id: scriptId, tool: name, input, effect, line });
    this.#noteWaiting();
  }

  #reportEnd(record: CallRecord): void {
    const { scriptId, context, listener, audit } = this.#options;
    const { sink } = context;
    const { call, tool } = record;
    if (!sink.hasListeners && audit === undefined && call.task === undefined && listener.callEnded === undefined)
      return;
    const operation = this.#table.operation(record);
    const { callId, effect, status, durationMs, error } = operation;
    if (effect !== 'read') audit?.({ type: 'call_ended', callId, tool: tool.name, effect, status, durationMs, error });
    call.task?.ended(operation);
    if (sink.hasListeners) {
      this.#emit({ type: 'tool_call_done', call_id: callId, script_id: scriptId, operation: toSnakeCase(operation) });
      if (tool.shows === 'plan') this.#emitWorkPlan(operation);
    }
    listener.callEnded?.(operation);
  }

  /** Emits the result of a call as a plan. All plans of a run form one item in its log. */
  #emitWorkPlan({ callId, status, result }: Operation): void {
    if (status !== 'completed') return;
    const { plan, explanation } = (result ?? {}) as { plan?: unknown; explanation?: unknown };
    const item = { type: 'plan', id: newId('item'), call_id: callId, steps: plan, explanation: explanation ?? '' };
    const checked = PlanItemSchema.safeParse(item).data;
    if (checked === undefined) return;
    this.#emit({ type: 'item_start', item_id: checked.id, item_type: 'plan' });
    this.#emit({ type: 'item_done', item_id: checked.id, final_item: checked });
  }

  /** Ends a call whose tool has returned. Never throws. */
  #finish(record: CallRecord, result: unknown): void {
    try {
      this.#finishCompleted(record, result);
    } catch (thrown) {
      this.#finishFailed(record, thrown);
    }
  }

  #finishCompleted(record: CallRecord, result: unknown): void {
    if (record.isSettled) return;
    const checked = checkResult(record.tool, result, this.#options.context.limits);
    // defence: refused-results-in-turns
    this.#turns.use(checked.ok ? checked.json.length : Number.POSITIVE_INFINITY);
    if (checked.ok) {
      const { json, value, notes } = checked;
      for (const what of notes) this.#options.listener.noteAdded?.(conversionNote(record.tool, record.call, what));
      const { services, context } = this.#options;
      // Instead of the result of a tool with `savedScript`, the script receives the result of the saved script.
      const isResult = record.tool.outputSchema === undefined && record.tool.savedScript === undefined;
      if (isResult) services.observed?.observe(record.tool, value, context.principal);
      if (hasUntrustedPart(record.tool, value)) record.markUntrusted();
      this.#settle(record, { status: 'completed', result: value });
      record.deliver({ ok: true, json });
      return;
    }
    const { reason, isTooLarge } = checked;
    const { largeResults } = this.#options.services;
    if (isTooLarge !== true || largeResults === undefined || this.#options.scriptId === undefined)
      return this.#omitResult(record, guestError('ToolExecutionError', reason));
    void this.#keepResult(record, largeResults, result).then(
      (kept) => this.#omitResult(record, kept ?? guestError('ToolExecutionError', reason)),
      (thrown: unknown) => {
        const problem = thrown instanceof Error ? thrown.message : String(thrown);
        this.#omitResult(record, guestError('ToolExecutionError', `${reason} It could not be kept: ${problem}.`));
      },
    );
  }

  async #keepResult(record: CallRecord, largeResults: KeepsResults, result: unknown): Promise<GuestError | undefined> {
    const { tool } = record;
    const { context, threadId } = this.#options;
    const { isTainted, readers } = this.#inputLabel(record);
    // defence: results-with-readers-are-not-kept
    if (readers !== undefined) return undefined;
    const call = { tool, result, context, threadId, hasUntrustedInput: isTainted };
    const kept = await largeResults.keep(call);
    if (kept === undefined) return undefined;
    if (kept.isUntrusted) record.markUntrusted();
    return kept.error;
  }

  #omitResult(record: CallRecord, error: GuestError): void {
    if (record.isSettled) return;
    this.#settle(record, { status: 'completed', resultOmitted: true, error });
    record.deliver({ ok: false, error });
  }

  #finishFailed(record: CallRecord, thrown: unknown): void {
    if (record.isSettled) return;
    const error = describeThrown(thrown, record.tool.name);
    if (record.tool.trust === 'untrusted') record.markUntrusted();
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
    const error = abortedCall(record.tool.name, reason);
    if (record.state === 'executing') {
      record.deliver({ ok: false, error });
      this.#table.giveUp(record);
      // A tool that ignores its signal must not block other calls.
      this.#releasePlace(record);
    } else if (record.state === 'over_budget') {
      this.#refuse(record, 'not_started', this.#budgetError());
    } else {
      this.#approvals.cancel(record);
      this.#settle(record, { status: 'not_started' });
      record.deliver({ ok: false, error });
    }
    record.abortSignal(error.message);
    this.#noteWaiting();
  }

  #settle(record: CallRecord, end: CallEnd): void {
    this.#overBudget.delete(record);
    record.leaveQueue?.();
    record.leaveQueue = undefined;
    this.#table.settle(record, end);
    this.#reportEnd(record);
    this.#releasePlace(record);
    this.#noteWaiting();
  }

  #releasePlace(record: CallRecord): void {
    if (!record.holdsPlace) return;
    record.holdsPlace = false;
    this.#recordQueue(record).leave();
  }

  #recordQueue({ call }: CallRecord): CallQueue {
    return call.detached === true ? this.#taskQueue : this.#queue;
  }

  #moveTo(record: CallRecord, state: 'deciding' | 'awaiting_approval' | 'over_budget' | 'queued'): void {
    this.#table.move(record, state);
    this.#noteWaiting();
  }

  #noteWaiting(): void {
    this.#refuseOverBudget();
    const { waitsForApprovalsOnly: onlyApprovals, parked } = this.#table;
    if (onlyApprovals === this.#reportedState.onlyApprovals && parked === this.#reportedState.parked) return;
    this.#reportedState = { onlyApprovals, parked };
    this.#options.listener.waitingChanged?.();
  }

  /** Emits a payload. A sink that throws must not change the course of a call. */
  #emit(payload: EventPayload): void {
    try {
      this.#options.context.sink.emit(payload);
    } catch {
      // The host's sink failed; the call continues.
    }
  }
}
