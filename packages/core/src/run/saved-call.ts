import { guardsSources } from '../calls/flow/call-sources.js';
import type { PayloadSink, RunContext } from '../protocol/run-context.js';
import {
  isInterruptedByStore,
  scriptFailure,
  type ApprovalRequest,
  type ErrorCode,
  type EventPayload,
  type JsonObject,
  type JsonValue,
  type Limits,
  type Operation,
  type Outcome,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import { abortReason } from '../calls/session/index.js';
import { abortedCall, endOfAborted, unknownEndMessage } from '../calls/facade/index.js';
import { runCompiledScript } from './script-runner.js';
import type { HarnessServices } from './script-run.js';
import { structuredCallArguments, callOnce, isAborted, type StructuredCall } from './structured-call.js';

/*
 * A structured call that may have to outlive its process is saved, suspended, resumed and recovered as a script whose
 * only work is the call. The script's events and operations have the call's own id, and no source line.
 */

/** The members of a structured call whose decision is pending. */
export interface PendingCall {
  /** The id of the script that makes the call. `harness.resume(scriptId, decisions)` resumes the call. */
  scriptId: string;
  /** The sealed suspension, for a harness without a store. */
  suspension: string;
  pendingApprovals: ApprovalRequest[];
  /** True: the store of scripts has interrupted the call, whose decision is not pending. */
  isInterruptedByStore?: boolean | undefined;
}

const JAVASCRIPT = `(async()=>{"use strict";
let call = tools;
for (const name of context.call.path) call = call[name];
try {
  await call(...context.call.args);
} catch (error) {
  return { code: error.name, message: error.message };
}
})`;

/** The script has no mappings, because none of its positions refers to the model's source. */
const CALLING_SCRIPT = restoreScript({
  source: '',
  javascript: JAVASCRIPT,
  mappings: '',
  layers: [],
  diagnostics: [],
  plan: [],
  given: [],
  patterns: [],
});

/** Makes a structured call, with a script if the call may have to outlive its process. */
export function makeCall(
  services: HarnessServices,
  context: RunContext,
  call: StructuredCall & { readonly scriptId: string },
): Promise<Operation & Partial<PendingCall>> {
  const args = savedArguments(services, context, call);
  return args === undefined ? callOnce(services, context, call) : callSavedScript(services, context, { ...call, args });
}

/**
 * Returns the arguments as a list if the call may wait for a decision, or if a store must record its effects.
 * Undefined: the harness makes the call directly, without a script.
 */
function savedArguments(
  services: HarnessServices,
  { approvals, mode }: RunContext,
  { name, input }: StructuredCall,
): JsonValue[] | undefined {
  const tool = services.registry.get(name);
  if (mode === 'dry-run' || tool === undefined || !services.exposed.has(tool.name)) return undefined;
  const isFree = tool.approval === 'never' || (tool.approval === 'policy' && tool.effect === 'read');
  // A user must decide about a doubtful argument, also if the policy approves every call.
  const mayWait = guardsSources(tool, services.flow) || (!isFree && approvals !== 'auto' && approvals !== 'deny');
  if (!mayWait && (services.keeping === undefined || tool.effect === 'read')) return undefined;
  const { argsJson, argsProblem } = structuredCallArguments(input);
  if (argsProblem !== undefined) return undefined;
  return argsJson === '' ? [] : [JSON.parse(argsJson) as JsonValue];
}

interface SavedCall extends StructuredCall {
  readonly scriptId: string;
  readonly args: JsonValue[];
}

/** Makes a call with a script. Does not reject if the tool fails. */
async function callSavedScript(
  services: HarnessServices,
  context: RunContext,
  call: SavedCall,
): Promise<Operation & Partial<PendingCall>> {
  const end = isAborted(services, context) ? undefined : await runCallingScript(services, context, call);
  // A call that was aborted before its script could make the call is reported like a refused call, which no script
  // saves.
  if (end === undefined || (end.operations.length === 0 && isAborted(services, context)))
    return callOnce(services, context, call);
  const operation = savedCallOperation(services, context, end, call);
  if (end.status === 'failed' && isInterruptedByStore(end.error)) return { ...operation, isInterruptedByStore: true };
  if (end.status !== 'suspended') return operation;
  const { scriptId, suspension, pendingApprovals } = end;
  return { ...operation, scriptId, suspension, pendingApprovals: callRequests(pendingApprovals, call) };
}

async function runCallingScript(services: HarnessServices, given: RunContext, call: SavedCall): Promise<Outcome> {
  const { callId, scriptId, name, args } = call;
  const context = savedCallContext(given, callId, { call: { path: name.split('.'), args } });
  const text = { source: '', language: 'js', format: 'tool' } as const;
  const script = { text, scriptId, script: CALLING_SCRIPT, cacheHit: false, item: undefined, callId };
  return (await runCompiledScript(services, context, script)).outcome;
}

/**
 * Returns the context of a script that makes a structured call: it runs in every mode, reads the call instead of the
 * host's `context`, and its events have the id of the call.
 */
export function savedCallContext(context: RunContext, callId: string, call: JsonObject = {}): RunContext {
  const sink = sinkOfCall(context.sink, callId);
  return Object.freeze({ ...context, mode: 'enabled', context: call, sink, isInAnswer: false });
}

/** Sets the call's own id in the events of a saved call. */
function sinkOfCall(sink: PayloadSink, callId: string): PayloadSink {
  return {
    identity: sink.identity,
    flush: sink.flush,
    takeCall: sink.takeCall,
    emit: (payload) => sink.emit(payloadOfCall(payload, callId)),
    get hasListeners() {
      return sink.hasListeners;
    },
    get nextSeq() {
      return sink.nextSeq;
    },
  };
}

function payloadOfCall(payload: EventPayload, callId: string): EventPayload {
  switch (payload.type) {
    case 'tool_call_start':
    case 'approval_resolved':
    case 'script_progress':
      return { ...payload, call_id: callId };
    case 'tool_call_done':
      return { ...payload, call_id: callId, operation: { ...payload.operation, call_id: callId } };
    case 'approval_requested':
      return { ...payload, approval: { ...payload.approval, call_id: callId } };
    default:
      return payload;
  }
}

/**
 * Converts the outcome of the script that makes a call to the outcome of the call. The value of the call's outcome is
 * the tool's result.
 */
export function outcomeOfCall(
  services: HarnessServices,
  context: RunContext,
  outcome: Outcome,
  call: StructuredCall,
): Outcome {
  const operation = savedCallOperation(services, context, outcome, call);
  const operations = [operation];
  if (outcome.status === 'failed' || outcome.status === 'running') return { ...outcome, operations };
  if (outcome.status === 'suspended')
    return { ...outcome, operations, pendingApprovals: callRequests(outcome.pendingApprovals, call) };
  const { value: _value, ...ended } = outcome;
  const { error, tool: toolName, callId, result } = operation;
  if (error === undefined) return { ...ended, operations, value: result };
  return {
    ...ended,
    operations,
    status: 'failed',
    error: scriptFailure(error.code, error.message, { toolName, callId }),
  };
}

function callRequests(requests: readonly ApprovalRequest[], { callId }: StructuredCall): ApprovalRequest[] {
  return requests.map((request) => ({ ...request, callId }));
}

function savedCallOperation(
  services: HarnessServices,
  { limits }: RunContext,
  outcome: Outcome,
  call: StructuredCall,
): Operation {
  const made = outcome.operations[0] ?? unstartedOperation(services, call);
  const operation = { ...made, callId: call.callId };
  const hasEnded = operation.status === 'completed' || operation.status === 'awaiting_approval';
  return hasEnded || operation.error !== undefined
    ? operation
    : { ...operation, error: savedCallError(outcome, operation.status, call.name, limits) };
}

/** Returns the operation of a call that was not made, because the run ended first. */
function unstartedOperation({ registry }: HarnessServices, { callId, name, input }: StructuredCall): Operation {
  const effect = registry.get(name)?.effect ?? 'external';
  return { callId, tool: name, input, effect, status: 'not_started', startedAtMs: 0, durationMs: 0 };
}

/** Returns the error of a call that did not complete: the error of the run, or the error that the script caught. */
function savedCallError(
  outcome: Outcome,
  status: Operation['status'],
  name: string,
  limits: Limits,
): NonNullable<Operation['error']> {
  const { code, message } = (outcome.status === 'failed' ? outcome.error : (outcome as { value: unknown }).value) as {
    code: ErrorCode;
    message: string;
  };
  const why = ABORTED_BY[code];
  if (why !== undefined) return endOfAborted(status, abortedCall(name, abortReason(why, limits)).message);
  // The message for a script names `error.retry()`, which a model that calls a function does not have.
  return { code, message: status === 'unknown' ? unknownEndMessage(name) : message };
}

const ABORTED_BY: Readonly<Partial<Record<ErrorCode, 'cancelled' | 'timeout'>>> = {
  ScriptCancelledError: 'cancelled',
  ScriptTimeoutError: 'timeout',
};
