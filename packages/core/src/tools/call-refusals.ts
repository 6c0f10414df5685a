import type { ErrorCode } from '../protocol/errors.js';
import type { Operation, OperationStatus } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Tool } from '../protocol/tools.js';
import { didYouMean } from '../text/nearest-names.js';
import { guestError } from './call-errors.js';
import type { CallResult } from './facade-types.js';

/* Errors of calls that were not made. */

const MAX_SHOWN_NAME = 80;

/** `isHidden`: the tool exists, but scripts may not use it here. */
export function notFound(name: string, names: readonly string[], isHidden: boolean): GuestError {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  const what = isHidden ? `The tool "${shown}" is not available here.` : `There is no tool "${shown}".`;
  return guestError('ToolNotFoundError', `${what}${didYouMean(name, names)}`);
}

/** `operations`: the calls that the script made, including those that were refused for the same reason. */
export function overBudget(maxToolCalls: number, operations: readonly Operation[]): GuestError {
  const counts = new Map<OperationStatus, number>();
  for (const { status } of operations) if (status !== 'not_started') counts.set(status, (counts.get(status) ?? 0) + 1);
  const made = [...counts].map(([status, count]) => `${count} ${status.replace('_', ' ')}`).join(', ');
  return guestError(
    'ToolBudgetExceededError',
    `A script may make ${maxToolCalls} tool calls, and this one has made them${made === '' ? '' : ` (${made})`}. Make the remaining calls in the next script, or make fewer calls.`,
  );
}

export function otherArguments(tool: Tool): GuestError {
  const message = `The tool ${tool.name} now reads the arguments of the call differently, so the call was not repeated.`;
  return guestError('ToolValidationError', message);
}

export function notRecorded(tool: Tool): GuestError {
  return guestError('ToolExecutionError', `The call to ${tool.name} could not be recorded, so it was not made.`);
}

export function refusal(code: ErrorCode, message: string): CallResult {
  return { ok: false, error: guestError(code, message) };
}
