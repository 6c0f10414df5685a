import { CATCHABLE_CODES, ToolCallError, type ErrorCode } from '../protocol/errors.js';
import { jsonDepthExceeds, MAX_JSON_DEPTH } from '../protocol/json.js';
import type { Operation } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';

/** Maximum characters of a tool's message that reach the script. */
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_DATA_LENGTH = 16_384;

export function guestError(code: ErrorCode, message: string, data?: unknown): GuestError {
  // defence: error-messages-are-cut, without it: const cut = message;
  const cut = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
  return data === undefined ? { code, message: cut } : { code, message: cut, data };
}

/** The error of a call that was aborted. `reason`: part of a sentence. */
export function abortedCall(tool: string, reason: string): GuestError {
  return guestError('ToolExecutionError', `The call to ${tool} was aborted: ${reason}.`);
}

/** The error of a structured call that was aborted, whose outcome may be unknown. */
export function endOfAborted(status: Operation['status'], message: string): NonNullable<Operation['error']> {
  const end = status === 'unknown' ? `${message} Whether it took effect is not known.` : message;
  return { code: 'ToolExecutionError', message: end };
}

/** The message about a call that had started when its process ended. */
export function unknownEndOf(tool: string): string {
  return `The call to ${tool} had started when its process ended. Whether it took effect is not known; it was not made again.`;
}

/**
 * The error of a script's call that had started when its process ended. `idempotencyKey`: of that call, and of its
 * retry.
 */
export function unknownEnd(tool: string, callId: string, idempotencyKey: string): GuestError {
  return guestError(
    'ToolExecutionError',
    `${unknownEndOf(tool)} \`await error.retry()\` repeats it under the same idempotency key.`,
    { status: 'unknown', callId, idempotencyKey },
  );
}

/**
 * The part of a tool's error that reaches a script: a catchable code, the message and JSON data. Never a stack, a
 * cause, or another member. Never throws, for any thrown value.
 */
export function describeThrown(thrown: unknown, toolName: string): GuestError {
  try {
    const message = messageOf(thrown) || `The tool "${toolName}" failed.`;
    // defence: errors-cross-as-messages-alone, without it: if (!(thrown instanceof ToolCallError)) return guestError('ToolExecutionError', message, jsonData({ ...(thrown as object) }));
    if (!(thrown instanceof ToolCallError)) return guestError('ToolExecutionError', message);
    // defence: only-catchable-codes-cross, without it: const code = thrown.code;
    const code = CATCHABLE_CODES.includes(thrown.code) ? thrown.code : 'ToolExecutionError';
    return guestError(code, message, jsonData(thrown.data));
  } catch {
    return guestError('ToolExecutionError', `The tool "${toolName}" failed.`);
  }
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown === 'object' && thrown !== null) {
    return 'message' in thrown && typeof thrown.message === 'string' ? thrown.message : '';
  }
  return thrown === undefined || thrown === null ? '' : String(thrown);
}

function jsonData(data: unknown): unknown {
  try {
    const json = JSON.stringify(data);
    // defence: error-data-is-bounded
    if (json === undefined || json.length > MAX_DATA_LENGTH || jsonDepthExceeds(json, MAX_JSON_DEPTH)) return undefined;
    // defence: error-data-is-a-copy, without it: return data;
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
