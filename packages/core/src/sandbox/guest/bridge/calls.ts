// The bridge gives each call the next index, writes the call to the outbox, and stores its promise in `promises`. The
// host reads the outbox when the guest has nothing left to do, and later settles calls by their indices.
import { freeze, parse, Promise, stringify } from '../primordials.js';
import { argumentsBytes, argumentsProblem, writeArguments } from './arguments.js';
import { defineHidden, isOfThisScript, makeError } from './errors.js';
import { notifyHost } from './host.js';
import { isKeptResult, makeHandle } from './large-results.js';
import { limits } from './limits.js';
import { outbox } from './outbox.js';

type Resolve = (value: unknown) => void;
type Reject = (reason: unknown) => void;
/** `[call, 1, value]` for success, `[call, frames, code, message, data]` for a failure. */
type Settlement = readonly [call: number, success: 1, value?: unknown] | FailedSettlement;
type FailedSettlement = readonly [call: number, frames: string, code: string, message: string, data?: unknown];

let nextCall = 0;
let toolCalls = 0;
let builtinCalls = 0;
const resolvers: (Resolve | undefined)[] = [];
const rejecters: (Reject | undefined)[] = [];
/** The host reads these promises to find the calls whose results the script can no longer observe. */
export const promises: (Promise<unknown> | undefined)[] = [];

let madeResolve: Resolve | undefined;
let madeReject: Reject | undefined;
const keepResolvers = (resolve: Resolve, reject: Reject): void => {
  madeResolve = resolve;
  madeReject = reject;
};

/**
 * `quotedName` is JSON. `isBuiltin`: the call goes to a function of the bridge, such as `sleep` or `catalog.search`.
 * Such a call is not a tool call and has its own budget.
 */
export function send(quotedName: string, value?: unknown, isBuiltin = false): Promise<unknown> {
  // defence: builtin-calls-are-bounded
  if (isBuiltin ? builtinCalls >= limits.builtinCalls : toolCalls >= limits.calls) return refusedCall(isBuiltin);
  // A getter or a toJSON in the arguments may make calls itself. Those calls get lower indices.
  const text = writeArguments(value);
  const problem = argumentsProblem();
  const bytes = argumentsBytes();
  // defence: budget-after-arguments
  if (isBuiltin ? builtinCalls >= limits.builtinCalls : toolCalls >= limits.calls) return refusedCall(isBuiltin);
  const entry =
    '[' +
    quotedName +
    ',' +
    text.length +
    (problem !== '' ? ',' + stringify(problem) : bytes.length > 0 ? ',"",' + stringify(bytes) : '') +
    ']';
  const promise = new Promise<unknown>(keepResolvers);
  const resolve = madeResolve;
  const reject = madeReject;
  madeResolve = madeReject = undefined;
  const count = outbox.calls.length;
  try {
    resolvers[nextCall] = resolve;
    rejecters[nextCall] = reject;
    promises[nextCall] = promise;
    outbox.arguments[count] = text;
    outbox.calls[count] = entry;
    notifyHost();
  } catch (error) {
    outbox.calls.length = outbox.arguments.length = count;
    resolvers.length = rejecters.length = promises.length = nextCall;
    throw error;
  }
  nextCall++;
  outbox.argumentUnits += text.length;
  if (isBuiltin) builtinCalls++;
  else toolCalls++;
  return promise;
}

/** The index of the last call, if that call returned this promise; a refused call has no index. */
export function indexOfLastCall(promise: Promise<unknown>): number | undefined {
  return promises[nextCall - 1] === promise ? nextCall - 1 : undefined;
}

/** Drops the calls of the previous script: a call that was pending at its end never settles. */
export function resetCalls(): void {
  nextCall = toolCalls = builtinCalls = 0;
  resolvers.length = rejecters.length = promises.length = 0;
  outbox.end = '';
}

/** A script that has ended makes no more calls. */
export function endCell(): void {
  limits.calls = limits.builtinCalls = 0;
  resetCalls();
}

function refusedCall(isBuiltin: boolean): Promise<never> {
  const message = isBuiltin
    ? 'A script may make ' +
      limits.builtinCalls +
      ' calls to sleep, timers, catalog and tools.spawn, and this one has made them. Request more at once, or wait longer.'
    : 'The script made far more calls than its limit allows; this one was not sent.';
  return new Promise((_, reject) =>
    reject(makeError('ToolBudgetExceededError', message, undefined, { code: 'ToolBudgetExceededError' })),
  );
}

export function settle(batchText: string): void {
  const batch = parse(batchText) as readonly Settlement[];
  for (let index = 0; index < batch.length; index++) {
    const settlement = batch[index]!;
    const call = settlement[0];
    const resolve = resolvers[call];
    const reject = rejecters[call];
    if (resolve === undefined || reject === undefined) continue;
    resolvers[call] = rejecters[call] = promises[call] = undefined;
    // The value was just parsed, so only the script refers to it, and the script may change it.
    if (settlement[1] === 1) resolve(settlement[2]);
    else reject(settlementError(settlement));
  }
}

function settlementError([call, frames, code, message, data]: FailedSettlement): Error {
  const error = makeError(code, message, data, { call, code, frames });
  // If the outcome of the call is unknown, the script may request a retry. The host decides about this request.
  const { status, idempotencyKey, handle } = (data ?? {}) as {
    status?: unknown;
    idempotencyKey?: unknown;
    handle?: unknown;
  };
  if (status === 'unknown' && typeof idempotencyKey === 'string')
    defineHidden(
      error,
      'retry',
      freeze(() => (isOfThisScript(error) ? send('"$retry"', { call }) : refusedRetry())),
    );
  if (isKeptResult(handle))
    defineHidden(
      error,
      'handle',
      makeHandle(call, handle, (request) => send('"$page"', request)),
    );
  return error;
}

function refusedRetry(): Promise<never> {
  const code = 'ToolExecutionError';
  const message = 'Only the script that made the call can request a retry. Make a new call.';
  return new Promise((_, reject) => reject(makeError(code, message, undefined, { code })));
}
