import {
  ABORT_GRACE_MS,
  type ApprovalGate,
  type ApprovalPolicy,
  type GateCall,
  type GateDecision,
  type Limits,
  type Operation,
} from '../protocol/index.js';
import { abortReason } from '../session/index.js';
import { createFacade, endOfAborted, type CallResult, type FacadeEvent } from '../tools/index.js';
import type { PayloadSink } from '../answer/index.js';
import { sessionPayload, emitWorkPlan, type HarnessServices } from './script-run.js';
import { checkSavedScript } from './saved-scripts.js';

/** One structured call. It has the same tools, approvals and limits as a script's calls, and a facade of its own. */
export interface StructuredCall {
  /** The call's id in events and operations. */
  callId: string;
  name: string;
  input: unknown;
  limits: Limits;
  approvals: ApprovalPolicy | undefined;
  app: unknown;
  principal: string | undefined;
  signal: AbortSignal | undefined;
  sink: PayloadSink;
  /** True: the call is checked but not made. */
  isDryRun: boolean;
}

/** Makes a call directly. Does not reject if the tool fails. */
export async function callOnce(services: HarnessServices, call: StructuredCall): Promise<Operation> {
  const { callId, name, input, limits, approvals, app, principal } = call;
  const started = performance.now();
  const facade = createFacade({
    registry: services.registry,
    exposed: services.exposed,
    observed: services.observed,
    limits,
    // defence: dry-run-holds-for-structured-calls, without it: gate: services.makeGate(approvals, limits),
    gate: call.isDryRun ? dryRunGate : services.makeGate(approvals, limits),
    app,
    principal,
    scriptId: undefined,
    identity: call.sink.identity,
    plan: [],
    savedScripts: { linked: [], check: (saved) => checkSavedScript(services, saved, limits) },
    takeCall: call.sink.takeCall,
    clock: { nowMs: () => performance.now() - started },
    startedAtMs: 0,
    onEvent: (event) => {
      // The time limit starts when the tool starts, because a user may take any time to decide.
      if (event.type === 'tool_call_start') timer = setTimeout(() => stop('timeout'), limits.timeoutMs);
      emit(services, call, event);
    },
  });
  let timer: NodeJS.Timeout | undefined;
  let stopped: Promise<unknown> | undefined;
  const stop = (why: 'cancelled' | 'timeout') => {
    stopped ??= facade.abortAll(abortReason(why, limits), ABORT_GRACE_MS);
  };
  const pending = facade.call({ callId, callIndex: 0, tool: name, ...argumentsOf(input) });
  const unlisten = whenAborted(services, call, () => stop('cancelled'));
  const result = await pending;
  clearTimeout(timer);
  unlisten();
  await stopped;
  const [operation] = facade.operations();
  return operation === undefined
    ? refusedOperation(call, errorOf(result))
    : { ...(operation.status === 'completed' ? {} : errorOf(result, operation.status)), ...operation };
}

export function isAborted({ closed }: HarnessServices, { signal }: StructuredCall): boolean {
  return closed.aborted || signal?.aborted === true;
}

/**
 * Calls the listener when the call is cancelled or its harness is closed. Returns a function that removes the
 * listener.
 */
function whenAborted(services: HarnessServices, call: StructuredCall, listener: () => void): () => void {
  if (isAborted(services, call)) listener();
  const signals = [services.closed, call.signal];
  for (const signal of signals) signal?.addEventListener('abort', listener);
  return () => {
    for (const signal of signals) signal?.removeEventListener('abort', listener);
  };
}

/** Denies every call: a dry run makes no call. */
const dryRunGate: ApprovalGate = {
  decide: (call) => Promise.resolve(notInDryRun(call)),
  recheck: (call) => Promise.resolve(notInDryRun(call)),
  forbids: notInDryRun,
  isOpen: () => false,
  redeem: () => false,
  memory: () => ({ tools: [] }),
};

function notInDryRun({ callId, tool }: GateCall): GateDecision {
  const reason = `The call to ${tool.name} was checked but not made: nothing runs in mode "dry-run".`;
  return { decision: 'cancelled', approvalId: `apr_${callId}`, by: 'host', reason };
}

/** Returns the error of a call. The result contains the error even if the operation of an aborted call has none. */
function errorOf(result: CallResult, status: Operation['status'] = 'failed'): Pick<Operation, 'error'> {
  if (result.ok) return {};
  const { code, message } = result.error;
  if (status === 'unknown') return { error: endOfAborted(status, message) };
  return { error: { code: code as NonNullable<Operation['error']>['code'], message } };
}

function emit(services: HarnessServices, { sink, principal }: StructuredCall, event: FacadeEvent): void {
  services.audit?.note(event, { scriptId: undefined, principal, identity: sink.identity });
  if (!sink.hasListeners || event.type === 'waiting_changed' || event.type === 'progress') return;
  if (event.type === 'output' || event.type === 'call_noted') return;
  const payload = sessionPayload(event, undefined);
  if (payload !== undefined) sink.emit(payload);
  if (event.type === 'tool_call_done') emitWorkPlan(sink, services.registry, event.operation);
}

/** Returns the operation of a call to a tool that the harness does not have or does not expose. */
function refusedOperation({ callId, name, input }: StructuredCall, failed: Pick<Operation, 'error'>): Operation {
  return { callId, tool: name, input, effect: 'external', status: 'failed', startedAtMs: 0, durationMs: 0, ...failed };
}

/**
 * Returns the arguments as JSON text. The facade refuses arguments that cannot be written as JSON, like any other
 * invalid arguments.
 */
export function argumentsOf(input: unknown): { argsJson: string; argsProblem?: string } {
  try {
    return { argsJson: JSON.stringify(input) ?? '' };
  } catch {
    return { argsJson: '', argsProblem: 'they cannot be written as JSON' };
  }
}
