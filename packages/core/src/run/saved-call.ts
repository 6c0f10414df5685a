import type { PayloadSink } from '../answer/index.js';
import type {
  ApprovalRequest,
  ErrorCode,
  EventPayload,
  JsonValue,
  Operation,
  Outcome,
  RunIdentity,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import { newId } from '../text/new-id.js';
import { runPrepared } from './script-runner.js';
import type { HarnessServices } from './script-run.js';
import { argumentsOf, refusedOperation, type StructuredCall } from './structured-call.js';

/*
 * A structured call that may have to outlive its process: it is saved, suspended, resumed and recovered as a script
 * whose only work is the call. Its events and operations have the call's own id, and no line.
 */

/** The structured call, where a decision about it is pending. */
export interface PendingCall {
  /** Resumes the call: `harness.resume(scriptId, decisions)`. */
  scriptId: string;
  /** The sealed form, for a harness without a store. */
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

/** Without mappings: no position in it is a model's. */
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
 * The list of arguments of a call that may wait for a decision, or that has effects which a store records. Undefined:
 * the call is made directly.
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

/** Never rejects for what the tool did. */
export async function callSaved(
  services: HarnessServices,
  call: StructuredCall & { args: JsonValue[]; identity: RunIdentity; approvalExpiryMs: number | undefined },
): Promise<Operation & Partial<PendingCall>> {
  const { callId, name, args, input: _input, sink, isDryRun: _isDryRun, ...conditions } = call;
  const { outcome } = await runPrepared(
    services,
    {
      ...conditions,
      source: '',
      language: 'js',
      format: 'tool',
      mode: 'enabled',
      context: { call: { path: name.split('.'), args } },
      sink: sinkOfCall(sink, callId),
      inAnswer: false,
      callId,
    },
    { scriptId: newId('scr'), script: CALLING_SCRIPT, cacheHit: false, item: undefined },
  );
  return operationOf(outcomeOfCall(outcome, callId), call);
}

/** Gives the events of a saved call the call's own id. */
export function sinkOfCall(sink: PayloadSink, callId: string): PayloadSink {
  return {
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
      return { ...payload, call_id: callId };
    case 'tool_call_done':
      return { ...payload, call_id: callId, operation: { ...payload.operation, call_id: callId } };
    case 'approval_requested':
      return { ...payload, approval: { ...payload.approval, call_id: callId } };
    default:
      return payload;
  }
}

/** Gives the operation of a saved call the call's own id. */
export function outcomeOfCall(outcome: Outcome, callId: string): Outcome {
  const operations = outcome.operations.map((operation) => ({ ...operation, callId }));
  if (outcome.status !== 'suspended') return { ...outcome, operations };
  const pendingApprovals = outcome.pendingApprovals.map((request) => ({ ...request, callId }));
  return { ...outcome, operations, pendingApprovals };
}

function operationOf(outcome: Outcome, { callId, name, input }: StructuredCall): Operation & Partial<PendingCall> {
  const operation = outcome.operations[0] ?? refusedOperation(callId, name, input, errorOf(outcome));
  if (outcome.status === 'suspended') {
    const { scriptId, suspension, pendingApprovals } = outcome;
    return { ...operation, scriptId, suspension, pendingApprovals };
  }
  if (outcome.status === 'completed' || operation.error !== undefined) return operation;
  return { ...operation, error: errorOf(outcome) };
}

/** Why the call did not complete: the error of the run, or the one that the script caught. */
function errorOf(outcome: Outcome): NonNullable<Operation['error']> {
  const { code, message } = (outcome.status === 'failed' ? outcome.error : (outcome as { value: unknown }).value) as {
    code: ErrorCode;
    message: string;
  };
  return { code, message };
}
