import type { PayloadSink } from '../answer/index.js';
import {
  scriptFailure,
  type ApprovalRequest,
  type ErrorCode,
  type EventPayload,
  type JsonValue,
  type Operation,
  type Outcome,
  type RunIdentity,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import { abortReason, type ScriptStart } from '../session/index.js';
import { abortedCall, endOfAborted, unknownEndOf } from '../tools/index.js';
import { present } from '../protocol/json.js';
import { runPrepared } from './script-runner.js';
import type { HarnessServices } from './script-run.js';
import { argumentsOf, callOnce, isAborted, type StructuredCall } from './structured-call.js';

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
  patterns: [],
});

/**
 * Returns the arguments as a list if the call may wait for a decision, or if a store must record its effects.
 * Undefined: the harness makes the call directly, without a script.
 */
export function savedArguments(services: HarnessServices, call: StructuredCall): JsonValue[] | undefined {
  const { name, input, approvals, isDryRun } = call;
  const tool = services.registry.get(name);
  if (isDryRun || tool === undefined || !services.exposed.has(tool.name)) return undefined;
  const isFree = tool.approval === 'never' || (tool.approval === 'policy' && tool.effect === 'read');
  const mayWait = !isFree && approvals !== 'auto' && approvals !== 'deny';
  if (!mayWait && (services.keeping === undefined || tool.effect === 'read')) return undefined;
  const { argsJson, argsProblem } = argumentsOf(input);
  if (argsProblem !== undefined) return undefined;
  return argsJson === '' ? [] : [JSON.parse(argsJson) as JsonValue];
}

type SavedCall = StructuredCall & {
  readonly scriptId: string;
  readonly args: JsonValue[];
  readonly identity: RunIdentity;
  readonly approvalExpiryMs: number | undefined;
};

/** Makes a call with a script. Does not reject if the tool fails. */
export async function callSaved(services: HarnessServices, call: SavedCall): Promise<Operation & Partial<PendingCall>> {
  const end = isAborted(services, call) ? undefined : await runCallingScript(services, call);
  // A call that was aborted before its script could make the call is reported like a refused call, which no script
  // saves.
  if (end === undefined || (end.operations.length === 0 && isAborted(services, call))) return callOnce(services, call);
  const operation = operationOf(services, end, call);
  if (end.status !== 'suspended') return operation;
  const { scriptId, suspension, pendingApprovals } = end;
  return { ...operation, scriptId, suspension, pendingApprovals: requestsOf(pendingApprovals, call) };
}

async function runCallingScript(services: HarnessServices, call: SavedCall): Promise<Outcome> {
  const { callId, scriptId, name, args, input: _input, sink, isDryRun: _isDryRun, ...conditions } = call;
  const request = {
    ...conditions,
    source: '',
    language: 'js',
    format: 'tool',
    mode: 'enabled',
    context: { call: { path: name.split('.'), args } },
    sink: sinkOfCall(sink, callId),
    inAnswer: false,
    callId,
  } as const;
  const script = { scriptId, script: CALLING_SCRIPT, cacheHit: false, item: undefined };
  return (await runPrepared(services, request, script)).outcome;
}

/** Returns the call that a stored script makes. */
export function storedCall({ contextJson }: Pick<ScriptStart, 'contextJson'>): { name: string; input: JsonValue } {
  const { call } = JSON.parse(contextJson) as { call: { path: string[]; args: JsonValue[] } };
  return { name: call.path.join('.'), input: call.args[0] ?? {} };
}

/** Sets the call's own id in the events of a saved call. */
export function sinkOfCall(sink: PayloadSink, callId: string): PayloadSink {
  return {
    ...present({ identity: sink.identity, flush: sink.flush, takeCall: sink.takeCall }),
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

/** The members of a call that its outcome needs. */
type CallNames = Pick<StructuredCall, 'callId' | 'name' | 'input' | 'limits'>;

/**
 * Converts the outcome of the script that makes a call to the outcome of the call. The value of the call's outcome is
 * the tool's result.
 */
export function outcomeOfCall(services: HarnessServices, outcome: Outcome, call: CallNames): Outcome {
  const operation = operationOf(services, outcome, call);
  const operations = [operation];
  if (outcome.status === 'failed') return { ...outcome, operations };
  if (outcome.status === 'suspended')
    return { ...outcome, operations, pendingApprovals: requestsOf(outcome.pendingApprovals, call) };
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

function requestsOf(requests: readonly ApprovalRequest[], { callId }: CallNames): ApprovalRequest[] {
  return requests.map((request) => ({ ...request, callId }));
}

function operationOf(services: HarnessServices, outcome: Outcome, call: CallNames): Operation {
  const made = outcome.operations[0] ?? notStarted(services, call);
  const operation = { ...made, callId: call.callId };
  const hasEnded = operation.status === 'completed' || operation.status === 'awaiting_approval';
  return hasEnded || operation.error !== undefined
    ? operation
    : { ...operation, error: errorOf(outcome, operation.status, call) };
}

/** Returns the operation of a call that was not made, because the run ended first. */
function notStarted({ registry }: HarnessServices, { callId, name, input }: CallNames): Operation {
  const effect = registry.get(name)?.effect ?? 'external';
  return { callId, tool: name, input, effect, status: 'not_started', startedAtMs: 0, durationMs: 0 };
}

/** Returns the error of a call that did not complete: the error of the run, or the error that the script caught. */
function errorOf(
  outcome: Outcome,
  status: Operation['status'],
  { name, limits }: CallNames,
): NonNullable<Operation['error']> {
  const { code, message } = (outcome.status === 'failed' ? outcome.error : (outcome as { value: unknown }).value) as {
    code: ErrorCode;
    message: string;
  };
  const why = ABORTED_BY[code];
  if (why !== undefined) return endOfAborted(status, abortedCall(name, abortReason(why, limits)).message);
  // The message for a script names `error.retry()`, which a model that calls a function does not have.
  return { code, message: status === 'unknown' ? unknownEndOf(name) : message };
}

const ABORTED_BY: Readonly<Partial<Record<ErrorCode, 'cancelled' | 'timeout'>>> = {
  ScriptCancelledError: 'cancelled',
  ScriptTimeoutError: 'timeout',
};
