import type { ApprovalPolicy, Limits, Operation } from '../protocol/index.js';
import { createFacade, type CallResult, type FacadeEvent } from '../tools/index.js';
import type { EventStream } from './event-stream.js';
import type { RunnerParts } from './script-run.js';
import { sessionPayload } from './session-payloads.js';

/** One structured call: the same tools, approvals and limits as a script's, with a facade of its own. */
interface StructuredCall {
  /** Its name in events and operations. */
  callId: string;
  name: string;
  input: unknown;
  limits: Limits;
  approvals: ApprovalPolicy | undefined;
  app: unknown;
  principal: string | undefined;
  signal: AbortSignal | undefined;
  stream: EventStream;
}

/** Never rejects for what the tool did. */
export async function callOnce(parts: RunnerParts, call: StructuredCall): Promise<Operation> {
  const { callId, name, input, limits, approvals, app, principal, signal } = call;
  const started = performance.now();
  const facade = createFacade({
    registry: parts.registry,
    exposed: parts.exposed,
    observed: parts.observed,
    limits,
    gate: parts.makeGate(approvals, limits),
    app,
    principal,
    scriptId: undefined,
    plan: [],
    clock: { nowMs: () => performance.now() - started },
    startedAtMs: 0,
    onEvent: (event) => tell(parts, call, event),
  });
  const abort = () => facade.abort(callId, 'the run was cancelled');
  signal?.addEventListener('abort', abort, { once: true });
  const pending = facade.call({ callId, callIndex: 0, tool: name, ...argumentsOf(input) });
  if (signal?.aborted === true) abort();
  const result = await pending;
  signal?.removeEventListener('abort', abort);
  return facade.operations()[0] ?? refused(callId, name, input, result);
}

function tell(parts: RunnerParts, { stream, principal }: StructuredCall, event: FacadeEvent): void {
  parts.audit?.note(event, { scriptId: undefined, principal });
  if (!stream.isHeard || event.type === 'waiting_changed' || event.type === 'progress' || event.type === 'output')
    return;
  const payload = sessionPayload(event, undefined);
  if (payload !== undefined) stream.emit(payload);
  if (event.type === 'tool_call_done') parts.workPlans.note(stream, parts.registry, event.operation);
}

/** A call that was never admitted has no operation of its own. */
function refused(callId: string, tool: string, input: unknown, result: CallResult): Operation {
  const failed = { callId, tool, input, effect: 'external', status: 'failed', startedAtMs: 0, durationMs: 0 } as const;
  if (result.ok) return failed;
  const { code, message } = result.error;
  return { ...failed, error: { code: code as NonNullable<Operation['error']>['code'], message } };
}

/** What cannot be written as JSON is refused by the facade, as any other wrong argument. */
function argumentsOf(input: unknown): { argsJson: string; argsProblem?: string } {
  try {
    return { argsJson: JSON.stringify(input) ?? '' };
  } catch {
    return { argsJson: '', argsProblem: 'it is not JSON' };
  }
}
