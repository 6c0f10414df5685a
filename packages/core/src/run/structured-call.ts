import type { ApprovalGate, ApprovalPolicy, GateCall, GateDecision, Limits, Operation } from '../protocol/index.js';
import { createFacade, type CallResult, type FacadeEvent } from '../tools/index.js';
import type { PayloadSink } from '../answer/index.js';
import type { HarnessServices } from './script-run.js';
import { sessionPayload } from './session-payloads.js';
import { emitWorkPlan } from './work-plans.js';

/** One structured call: the same tools, approvals and limits as a script's, with a facade of its own. */
export interface StructuredCall {
  /** Its name in events and operations. */
  callId: string;
  name: string;
  input: unknown;
  limits: Limits;
  approvals: ApprovalPolicy | undefined;
  app: unknown;
  principal: string | undefined;
  signal: AbortSignal | undefined;
  sink: PayloadSink;
  /** The call is only validated. */
  isDryRun: boolean;
}

/** Never rejects because of the tool. */
export async function callOnce(services: HarnessServices, call: StructuredCall): Promise<Operation> {
  const { callId, name, input, limits, approvals, app, principal, signal } = call;
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
    plan: [],
    clock: { nowMs: () => performance.now() - started },
    startedAtMs: 0,
    onEvent: (event) => {
      // A user may take any time to decide; the tool may not.
      if (event.type === 'tool_call_start') timer = setTimeout(giveUp, limits.timeoutMs);
      emit(services, call, event);
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => facade.abort(callId, `it took longer than ${limits.timeoutMs} ms (timeoutMs)`);
  const abort = () => facade.abort(callId, 'the run was cancelled');
  signal?.addEventListener('abort', abort, { once: true });
  const pending = facade.call({ callId, callIndex: 0, tool: name, ...argumentsOf(input) });
  if (signal?.aborted === true) abort();
  const result = await pending;
  clearTimeout(timer);
  signal?.removeEventListener('abort', abort);
  const [operation] = facade.operations();
  const failure = failureOf(result);
  return operation === undefined ? refusedOperation(callId, name, input, failure.error) : { ...failure, ...operation };
}

/** Denies every call. */
const dryRunGate: ApprovalGate = {
  decide: (call) => Promise.resolve(notInDryRun(call)),
  recheck: (call) => Promise.resolve(notInDryRun(call)),
  forbids: notInDryRun,
  isOpen: () => false,
  redeem: () => false,
  memory: () => ({ tools: [] }),
};

function notInDryRun({ callId, tool }: GateCall): GateDecision {
  const reason = `The call of ${tool.name} was checked but not made: nothing runs in mode "dry-run".`;
  return { decision: 'cancelled', approvalId: `apr_${callId}`, by: 'host', reason };
}

/** A call aborted while it ran has no error of its own; its result contains the reason. */
function failureOf(result: CallResult): Pick<Operation, 'error'> {
  if (result.ok) return {};
  const { code, message } = result.error;
  return { error: { code: code as NonNullable<Operation['error']>['code'], message } };
}

function emit(services: HarnessServices, { sink, principal }: StructuredCall, event: FacadeEvent): void {
  services.audit?.note(event, { scriptId: undefined, principal });
  if (!sink.hasListeners || event.type === 'waiting_changed' || event.type === 'progress') return;
  if (event.type === 'output' || event.type === 'call_noted') return;
  const payload = sessionPayload(event, undefined);
  if (payload !== undefined) sink.emit(payload);
  if (event.type === 'tool_call_done') emitWorkPlan(sink, services.registry, event.operation);
}

/** A call that was never admitted has no operation of its own. */
export function refusedOperation(callId: string, tool: string, input: unknown, error: Operation['error']): Operation {
  const failed = { callId, tool, input, effect: 'external', status: 'failed', startedAtMs: 0, durationMs: 0 } as const;
  return error === undefined ? failed : { ...failed, error };
}

/** What cannot be written as JSON is refused by the facade, as any other wrong argument. */
export function argumentsOf(input: unknown): { argsJson: string; argsProblem?: string } {
  try {
    return { argsJson: JSON.stringify(input) ?? '' };
  } catch {
    return { argsJson: '', argsProblem: 'it is not JSON' };
  }
}
