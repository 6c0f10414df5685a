import type { ToolCallContext } from '../protocol/tools.js';
import type { CallRecord } from './call-record.js';
import type { FacadeOptions } from './facade-types.js';

/** Receives a tool's reports while its call runs. */
export interface CallReporter {
  progress(record: CallRecord, message: unknown): void;
  output(record: CallRecord, text: unknown): void;
}

const READ_SIGNAL = Symbol('readSignal');

type LazyContext = Omit<ToolCallContext, 'signal'> & { readonly [READ_SIGNAL]: () => AbortSignal };

/**
 * All contexts share one descriptor: a getter in each object would cost three times as much as the rest of the object.
 */
const SIGNAL: PropertyDescriptor & ThisType<LazyContext> = {
  get() {
    return this[READ_SIGNAL]();
  },
  enumerable: true,
  configurable: true,
};

/** The key by which a tool recognises a repeated call. */
export function idempotencyKey(
  scriptId: string | undefined,
  { callId, callIndex }: { callId: string; callIndex: number },
): string {
  return scriptId === undefined ? callId : `${scriptId}:${callIndex}`;
}

/**
 * A tool's view of its call: a plain object. `signal` is created when it is read, which most tools never do; copies
 * of a context, and objects that inherit from it, have it too.
 */
export function callContext(
  { app, principal, scriptId, identity, limits, savedScripts }: FacadeOptions,
  record: CallRecord,
  reporter: CallReporter,
): ToolCallContext {
  const { callId, callIndex, detached, retries } = record.call;
  const context: LazyContext = {
    app,
    principal,
    threadId: identity?.threadId,
    runId: identity?.runId,
    callId,
    scriptId,
    idempotencyKey: retries?.idempotencyKey ?? idempotencyKey(scriptId, { callId, callIndex }),
    progress: (message) => reporter.progress(record, message),
    output: detached === true ? (text) => reporter.output(record, text) : undefined,
    // defence: tasks-run-no-saved-scripts, without it: savedScripts,
    savedScripts: detached === true && savedScripts !== undefined ? { ...savedScripts, linked: [] } : savedScripts,
    maxOutputBytes: limits.maxToolOutputBytes,
    [READ_SIGNAL]: () => record.signal,
  };
  return Object.defineProperty(context, 'signal', SIGNAL) as LazyContext & ToolCallContext;
}
