import type { ApprovalRequest } from '../protocol/approvals.js';
import type { ErrorCode } from '../protocol/errors.js';
import type { JsonValue } from '../protocol/json.js';
import type { Limits } from '../protocol/limits.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { PlannedCall } from '../protocol/script.js';
import type { Tool, ToolEffect } from '../protocol/tools.js';
import type { ApprovalDecider, ApprovalGate, GateDecision } from './approval-gate.js';
import { describeThrown, guestError } from './call-errors.js';
import { CallQueue } from './call-queue.js';
import { CallRecord, type CallEnd, type CallState } from './call-record.js';
import { checkResult } from './call-result.js';
import { deepFreeze, parseJson } from './json-text.js';
import { didYouMean } from './nearest-names.js';
import type { ToolRegistry } from './registry.js';
import { issueLines } from './validation-issues.js';

/**
 * The one way to a tool. A call goes: exists → exposed → arguments valid → budget → approval (holds no
 * place) → queue (so many at once, in order) → execute → result checked and capped. The effective input is
 * serialised once; that text is approved, executed and recorded.
 *
 * A script's promise may be answered before its call has ended (it was aborted); the operation is told
 * only when the truth is known, or when `abortAll` gave up waiting for it.
 */
export interface Facade {
  /** Never rejects. */
  call(call: FacadeCall): Promise<CallResult>;
  /** Ends one call: a race that was lost, a detached task that was cancelled. Unknown ids are ignored. */
  abort(callId: string, reason: string): void;
  /**
   * The script's end: no call is taken any more, every call that is not detached is aborted, and running ones
   * are given `graceMs` to settle. Resolves with those that did not; their operations are final then.
   */
  abortAll(reason: string, graceMs: number): Promise<{ stillRunning: Operation[] }>;
  /** In call order. What is true now: a call that runs is `unknown`, or `detached`. */
  operations(): Operation[];
  pending(): PendingCalls;
  /** Calls that were taken from the budget, also denied and invalid ones; those of unknown tools are not. */
  callsMade(): number;
}

/** A call that a script, or a structured request, makes. */
export interface FacadeCall {
  readonly callId: string;
  /** 0, 1, 2 … within the script. */
  readonly callIndex: number;
  /** The tool's name, or its identifier form. */
  readonly tool: string;
  /** JSON text of the arguments; empty for none. */
  readonly argsJson: string;
  /** Why the arguments could not be written as JSON, naming the path. */
  readonly argsProblem?: string;
  readonly line?: number;
  readonly snippet?: string;
  /** A task that outlives the script: `abortAll` leaves it alone. */
  readonly detached?: boolean;
}

/** `json` is the result's JSON text; empty for `undefined`. */
export type CallResult = { readonly ok: true; readonly json: string } | { readonly ok: false; readonly error: GuestError };

export interface PendingCalls {
  /** Without those that were aborted and have not settled yet. */
  readonly executing: number;
  readonly queued: number;
  readonly awaitingApproval: number;
}

export type FacadeEvent =
  | { type: 'tool_call_start'; callId: string; tool: string; input: unknown; effect: ToolEffect; line?: number }
  /** Once for every operation, also for calls that never started. */
  | { type: 'tool_call_done'; operation: Operation }
  /** A person is asked. */
  | { type: 'approval_requested'; request: ApprovalRequest }
  /** Also for decisions of rules and policies, which have no request before them. */
  | {
      type: 'approval_resolved';
      approvalId: string;
      callId: string;
      decision: 'approve' | 'deny' | 'timeout' | 'cancelled';
      by: ApprovalDecider;
      note?: string;
      remember?: 'script' | 'workspace';
    }
  | { type: 'progress'; callId: string; tool: string; message: string }
  /** Whether decisions of people are all that is waited for. */
  | { type: 'waiting_changed'; onlyApprovals: boolean };

export interface FacadeOptions {
  readonly registry: ToolRegistry;
  /** Own names of the tools that may be called. */
  readonly exposed: ReadonlySet<string>;
  readonly limits: Pick<
    Limits,
    'maxToolCalls' | 'maxConcurrentToolCalls' | 'maxToolInputBytes' | 'maxToolResultBytes' | 'maxToolOutputBytes' | 'approvalTimeoutMs'
  >;
  readonly gate: ApprovalGate;
  readonly app: unknown;
  readonly principal: string | undefined;
  readonly scriptId: string | undefined;
  readonly plan: readonly PlannedCall[];
  readonly clock: { nowMs(): number };
  /** When the script started, by the clock. Default: when the facade is made. */
  readonly startedAtMs?: number;
  readonly onEvent: (event: FacadeEvent) => void;
  /** Told of every call before it executes, and awaited. A rejection keeps the call from running. */
  readonly onIntent?: (operation: Operation) => void | Promise<void>;
}

/** One facade serves one script run, or one structured call. */
export function createFacade(options: FacadeOptions): Facade {
  return new CallFacade(options);
}

const MAX_PROGRESS_LENGTH = 2_000;
const MAX_SHOWN_NAME = 80;

class CallFacade implements Facade {
  readonly #options: FacadeOptions;
  readonly #startMs: number;
  readonly #records = new Map<string, CallRecord>();
  readonly #queue: CallQueue;
  readonly #counts: Record<CallState, number> = { deciding: 0, awaiting_approval: 0, queued: 0, executing: 0, settled: 0 };
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
    if (this.#closed) return deliver(refusal('ToolExecutionError', 'The script has ended; no tool can be called any more.'));
    if (this.#records.has(call.callId)) return deliver(refusal('ToolExecutionError', 'A call of this id was made before.'));
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
    void this.#decide(record).catch((thrown: unknown) => this.#refuse(record, 'failed', describeThrown(thrown, tool.name)));
  }

  #addRecord(call: FacadeCall, tool: Tool, input: JsonValue, inputJson: string, deliver: (result: CallResult) => void): CallRecord {
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
    return guestError('ToolBudgetExceededError', `A script may make ${maxToolCalls} tool calls, and this one has. Make fewer calls, or split the work.`);
  }

  async #decide(record: CallRecord): Promise<void> {
    const pending = this.#options.gate.decide({
      tool: record.tool,
      callId: record.call.callId,
      scriptId: this.#options.scriptId,
      principal: this.#options.principal,
      app: this.#options.app,
      input: record.input as JsonValue,
      inputJson: record.inputJson,
      ...(record.call.line !== undefined && { line: record.call.line }),
      ...(record.call.snippet !== undefined && { snippet: record.call.snippet }),
      plan: this.#options.plan,
      signal: record.controller.signal,
      onRequest: (request) => this.#personAsked(record, request),
    });
    if (pending !== undefined) {
      const decision = await pending;
      if (record.isSettled) return;
      if (decision !== undefined && !this.#applyDecision(record, decision)) return;
    }
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
      this.#refuse(record, 'denied', guestError('ApprovalDeniedError', `The approval of ${record.tool.name} was not given for this call.`));
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
      void this.#execute(record).catch((thrown: unknown) => this.#finishFailed(record, thrown));
    });
  }

  async #execute(record: CallRecord): Promise<void> {
    if (!(await this.#intentRecorded(record)) || record.isSettled) return;
    record.startExecution(this.#options.clock.nowMs());
    this.#counts.queued -= 1;
    this.#counts.executing += 1;
    this.#announceStart(record);
    let result: unknown;
    try {
      result = await record.tool.execute(JSON.parse(record.inputJson) as never, this.#contextOf(record));
    } catch (thrown) {
      return this.#finishFailed(record, thrown);
    }
    this.#finishCompleted(record, result);
  }

  /** False where the intent could not be recorded; nothing has run then. */
  async #intentRecorded(record: CallRecord): Promise<boolean> {
    const recorded = this.#options.onIntent;
    if (recorded === undefined) return true;
    try {
      await recorded({ ...this.#operation(record), status: 'unknown' });
      return true;
    } catch {
      const message = `The call of ${record.tool.name} could not be recorded, so it was not made.`;
      this.#refuse(record, 'not_started', guestError('ToolExecutionError', message));
      return false;
    }
  }

  #contextOf(record: CallRecord) {
    const { app, principal, scriptId, limits } = this.#options;
    const { callId, callIndex } = record.call;
    return {
      app,
      principal,
      signal: record.controller.signal,
      callId,
      scriptId,
      idempotencyKey: scriptId === undefined ? callId : `${scriptId}:${callIndex}`,
      progress: (message: string) => this.#progress(record, message),
      maxOutputBytes: limits.maxToolOutputBytes,
    };
  }

  #progress(record: CallRecord, message: unknown): void {
    if (record.state !== 'executing' || record.abortReason !== undefined) return;
    const text = (typeof message === 'string' ? message : JSON.stringify(message) ?? '').slice(0, MAX_PROGRESS_LENGTH);
    this.#emit({ type: 'progress', callId: record.call.callId, tool: record.tool.name, message: text });
  }

  #announceStart(record: CallRecord): void {
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
      this.#settle(record, { status: 'completed', result: checked.json === '' ? undefined : JSON.parse(checked.json) });
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
    record.controller.abort(new Error(error.message));
    this.#noteWaiting();
  }

  #cancelApproval(record: CallRecord): void {
    if (record.openApprovalId === undefined) return;
    this.#approvalResolved(record, { decision: 'cancelled', approvalId: record.openApprovalId, by: 'host', reason: '' });
  }

  #settle(record: CallRecord, end: CallEnd): void {
    const abandoned = record.state === 'executing' && record.abortReason !== undefined;
    if (!abandoned) this.#counts[record.state] -= 1;
    record.leaveQueue?.();
    record.settle(end, this.#options.clock.nowMs());
    this.#counts.settled += 1;
    this.#emit({ type: 'tool_call_done', operation: this.#operation(record) });
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

type CheckedArguments =
  | { ok: true; value: JsonValue; json: string }
  | { ok: false; message: string; sent: JsonValue; data?: unknown };

/** Validates the arguments and serialises the effective input, once. */
function checkArguments(tool: Tool, { argsJson, argsProblem }: FacadeCall, maxBytes: number): CheckedArguments {
  const wrong = (reason: string): CheckedArguments => ({ ok: false, message: `The arguments of ${tool.name} are wrong: ${reason}.`, sent: null });
  if (argsProblem !== undefined) return wrong(argsProblem);
  const bytes = Buffer.byteLength(argsJson);
  if (bytes > maxBytes) return wrong(`they are ${bytes} bytes of JSON, and ${maxBytes} are allowed`);
  const parsed = argsJson === '' ? { ok: true as const, value: {} } : parseJson(argsJson);
  if (!parsed.ok) return wrong(parsed.reason);
  const validated = tool.validateInput(parsed.value);
  if (!validated.ok) {
    const message = `The arguments of ${tool.name} are wrong:\n${issueLines(validated.issues)}`;
    return { ok: false, message, sent: parsed.value, data: { issues: validated.issues.slice(0, 20) } };
  }
  const json = JSON.stringify(validated.value);
  return { ok: true, value: JSON.parse(json) as JsonValue, json };
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
