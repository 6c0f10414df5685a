import {
  ABORT_GRACE_MS,
  type ApprovalGate,
  type GateCall,
  type GateDecision,
  type Operation,
} from '../protocol/index.js';
import { createGate } from '../calls/approvals/index.js';
import { abortReason } from '../calls/session/index.js';
import { createFacade, endOfAborted, type CallResult } from '../calls/facade/index.js';
import type { RunContext } from '../protocol/run-context.js';
import { callSources, type HarnessServices } from './script-run.js';
import { checkSavedScript } from './saved-scripts.js';

/** One structured call. It has the same tools, approvals and limits as a script's calls, and a facade of its own. */
export interface StructuredCall {
  /** The call's id in events and operations. */
  readonly callId: string;
  readonly name: string;
  readonly input: unknown;
}

/** Makes a call directly. Does not reject if the tool fails. */
export async function callOnce(
  services: HarnessServices,
  context: RunContext,
  call: StructuredCall,
): Promise<Operation> {
  const { callId, name, input } = call;
  const { limits } = context;
  const started = performance.now();
  const facade = createFacade({
    services,
    context,
    // defence: dry-run-holds-for-structured-calls
    gate: context.mode === 'dry-run' ? dryRunGate : createGate(context),
    scriptId: undefined,
    plan: [],
    flow: callSources(services, context, undefined),
    savedScripts: { linked: [], check: (saved) => checkSavedScript(services, saved, context) },
    nowMs: () => performance.now() - started,
    listener: {
      // The time limit starts when the tool starts, because a user may take any time to decide.
      callStarted: () => {
        timer = setTimeout(() => stop('timeout'), limits.timeoutMs);
      },
    },
    audit: services.audit?.scriptLog(context, undefined),
  });
  let timer: NodeJS.Timeout | undefined;
  let stopped: Promise<unknown> | undefined;
  const stop = (why: 'cancelled' | 'timeout') => {
    stopped ??= facade.abortAll(abortReason(why, limits), ABORT_GRACE_MS);
  };
  const pending = facade.call({ callId, callIndex: 0, tool: name, ...structuredCallArguments(input) });
  const unlisten = whenAborted(services, context, () => stop('cancelled'));
  const result = await pending;
  clearTimeout(timer);
  unlisten();
  await stopped;
  const [operation] = facade.operations();
  return operation === undefined
    ? refusedOperation(call, structuredCallError(result))
    : { ...(operation.status === 'completed' ? {} : structuredCallError(result, operation.status)), ...operation };
}

export function isAborted({ closed }: HarnessServices, { signal }: RunContext): boolean {
  return closed.aborted || signal?.aborted === true;
}

/**
 * Calls the listener when the call is cancelled or its harness is closed. Returns a function that removes the
 * listener.
 */
function whenAborted(services: HarnessServices, context: RunContext, listener: () => void): () => void {
  if (isAborted(services, context)) listener();
  const signals = [services.closed, context.signal];
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
  changesSince: async () => [],
  redeem: () => false,
  memory: () => ({ tools: [] }),
};

function notInDryRun({ callId, tool }: GateCall): GateDecision {
  const reason = `The call to ${tool.name} was checked but not made: nothing runs in mode "dry-run".`;
  return { decision: 'cancelled', approvalId: `apr_${callId}`, by: 'host', reason };
}

/** Returns the error of a call. The result contains the error even if the operation of an aborted call has none. */
function structuredCallError(result: CallResult, status: Operation['status'] = 'failed'): Pick<Operation, 'error'> {
  if (result.ok) return {};
  const { code, message } = result.error;
  if (status === 'unknown') return { error: endOfAborted(status, message) };
  return { error: { code: code as NonNullable<Operation['error']>['code'], message } };
}

/** Returns the operation of a call to a tool that the harness does not have or does not expose. */
function refusedOperation({ callId, name, input }: StructuredCall, failed: Pick<Operation, 'error'>): Operation {
  return { callId, tool: name, input, effect: 'external', status: 'failed', startedAtMs: 0, durationMs: 0, ...failed };
}

/**
 * Returns the arguments as JSON text. The facade refuses arguments that cannot be written as JSON, like any other
 * invalid arguments.
 */
export function structuredCallArguments(input: unknown): { argsJson: string; argsProblem?: string | undefined } {
  try {
    return { argsJson: JSON.stringify(input) ?? '' };
  } catch {
    return { argsJson: '', argsProblem: 'they cannot be written as JSON' };
  }
}
