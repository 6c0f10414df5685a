import { CATCHABLE_CODES, ToolCallError, type ErrorCode } from '../../protocol/errors.js';
import { jsonDepthExceeds, MAX_JSON_DEPTH } from '../../protocol/json.js';
import type { Operation, OperationStatus } from '../../protocol/operations.js';
import type { GuestError } from '../../protocol/sandbox.js';
import type { Tool } from '../../protocol/tools.js';
import { didYouMean } from '../../text/nearest-names.js';
import type { CallResult } from './facade-types.js';

/** Maximum characters of a tool's message that reach the script. */
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_DATA_LENGTH = 16_384;

export function guestError(code: ErrorCode, message: string, data?: unknown): GuestError {
  // defence: error-messages-are-cut
  const cut = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
  return data === undefined ? { code, message: cut } : { code, message: cut, data };
}

/** Returns the error of a call that was aborted. `reason`: part of a sentence. */
export function argumentsNoLongerFit({ name }: Tool): GuestError {
  return guestError(
    'ToolValidationError',
    `The tool ${name} has changed since the call was approved, and no longer accepts the arguments. Call it again with arguments that it accepts.`,
  );
}

export function changesAgain({ name }: Tool): GuestError {
  return guestError(
    'ApprovalDeniedError',
    `The call to ${name} was approved, but what it would do changed each time before it could run. Make the call again when nothing else changes its data.`,
  );
}

export function abortedCall(tool: string, reason: string): GuestError {
  return guestError('ToolExecutionError', `The call to ${tool} was aborted: ${reason}.`);
}

/** Returns the error of an aborted structured call whose outcome may be unknown. */
export function endOfAborted(status: Operation['status'], message: string): NonNullable<Operation['error']> {
  const end = status === 'unknown' ? `${message} Whether it took effect is not known.` : message;
  return { code: 'ToolExecutionError', message: end };
}

/** Returns the message about a call that had started when its process ended. */
export function unknownEndMessage(tool: string): string {
  return `The call to ${tool} had started when its process ended. Whether it took effect is not known; it was not made again.`;
}

/**
 * Returns the error of a script's call that had started when its process ended. `idempotencyKey`: the key of the call
 * and of its retry.
 */
export function unknownEnd(tool: string, callId: string, idempotencyKey: string): GuestError {
  return guestError(
    'ToolExecutionError',
    `${unknownEndMessage(tool)} \`await error.retry()\` repeats it under the same idempotency key.`,
    { status: 'unknown', callId, idempotencyKey },
  );
}

/**
 * Returns the part of a tool's error that reaches a script: a catchable code, the message, the system's code or the
 * HTTP status, and JSON data. The result never contains a stack, the text of a cause, or another member. Never throws,
 * for any thrown value.
 */
export function describeThrown(thrown: unknown, toolName: string): GuestError {
  try {
    const message =
      toolErrorMessage(thrown) || `The tool "${toolName}" failed and gave no reason. Check the arguments of the call.`;
    // defence: errors-cross-as-messages-alone
    if (!(thrown instanceof ToolCallError)) return guestError('ToolExecutionError', message);
    // defence: only-catchable-codes-cross
    const code = CATCHABLE_CODES.includes(thrown.code) ? thrown.code : 'ToolExecutionError';
    return guestError(code, message, jsonData(thrown.data));
  } catch {
    return guestError(
      'ToolExecutionError',
      `The tool "${toolName}" failed and gave no reason. Check the arguments of the call.`,
    );
  }
}

function toolErrorMessage(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown === 'object' && thrown !== null) {
    const message = 'message' in thrown && typeof thrown.message === 'string' ? thrown.message : '';
    const facts = errorFacts(thrown, message);
    return facts.length === 0 ? message : `${message} (${facts.join(', ')})`.trimStart();
  }
  return thrown === undefined || thrown === null ? '' : String(thrown);
}

/** Codes of the system and of Node.js, such as `ECONNREFUSED` and `ERR_INVALID_URL`: they never hold data. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{1,39}$/u;
const MAX_CODES = 3;

/** The codes of an error, of its cause and of the errors that it holds, and its HTTP status, unless the message names them. */
function errorFacts(thrown: object, message: string): string[] {
  const { cause, errors, status } = thrown as { cause?: unknown; errors?: unknown; status?: unknown };
  const held = Array.isArray(errors) ? errors.slice(0, MAX_CODES) : [];
  const codes = [thrown, cause, ...held].flatMap((one) => {
    const code = typeof one === 'object' && one !== null ? (one as { code?: unknown }).code : undefined;
    return typeof code === 'string' && SYSTEM_CODE.test(code) ? [code] : [];
  });
  const isStatus = typeof status === 'number' && status >= 400 && status < 600;
  const named = [...new Set(codes.slice(0, MAX_CODES))].filter((code) => !message.includes(code));
  const isNew = isStatus && codes.length < MAX_CODES && !message.includes(String(status));
  return isNew ? [...named, `status ${status}`] : named;
}

function jsonData(data: unknown): unknown {
  try {
    const json = JSON.stringify(data);
    // defence: error-data-is-bounded
    if (json === undefined || json.length > MAX_DATA_LENGTH || jsonDepthExceeds(json, MAX_JSON_DEPTH)) return undefined;
    // defence: error-data-is-a-copy
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const MAX_SHOWN_NAME = 80;

/**
 * Returns the error of a call to an unknown tool. `names`: the names of the exposed tools. A hidden tool is refused as
 * if it did not exist. `reason`: why the tool may be missing.
 */
export function unknownToolError(name: string, names: readonly string[], reason: string | undefined): GuestError {
  if (reason !== undefined) return guestError('ToolNotFoundError', reason);
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  return guestError('ToolNotFoundError', `There is no tool "${shown}".${didYouMean(name, names)}`);
}

/**
 * Returns the error of a call over the budget. `operations`: the calls that the script made, including the calls that
 * were refused for the same reason.
 */
export function overBudget(maxToolCalls: number, operations: readonly Operation[]): GuestError {
  const counts = new Map<OperationStatus, number>();
  for (const { status } of operations) if (status !== 'not_started') counts.set(status, (counts.get(status) ?? 0) + 1);
  const made = [...counts].map(([status, count]) => `${count} ${status.replace('_', ' ')}`).join(', ');
  return guestError(
    'ToolBudgetExceededError',
    `A script may make ${maxToolCalls} tool calls, and this one has made them${made === '' ? '' : ` (${made})`}. Make the remaining calls in the next script, or make fewer calls.`,
  );
}

export function runOverBudget(): GuestError {
  return guestError(
    'ToolBudgetExceededError',
    'The budget of this sub-agent permits no further tool call. Answer with what is known. The caller can launch a sub-agent with a larger budget.calls.',
  );
}

export function otherArguments(tool: Tool): GuestError {
  const message = `The tool ${tool.name} now reads the arguments of the call differently, so the call was not repeated. Check what the first call did, and make a new call if needed.`;
  return guestError('ToolValidationError', message);
}

export function unrecordedCallError(tool: Tool): GuestError {
  return guestError(
    'ToolExecutionError',
    `The store failed to record the call to ${tool.name}, so the call was not made. Make the call again later.`,
  );
}

export function refusal(code: ErrorCode, message: string): CallResult {
  return { ok: false, error: guestError(code, message) };
}
