import type { ErrorCode } from '../protocol/errors.js';
import type { Operation, OperationStatus } from '../protocol/operations.js';
import type { GuestError } from '../protocol/sandbox.js';
import type { Tool } from '../protocol/tools.js';
import { didYouMean } from '../text/nearest-names.js';
import { guestError } from './call-errors.js';
import type { CallResult } from './facade-types.js';

/* Errors of calls that were not made. */

const MAX_SHOWN_NAME = 80;

/** `names`: of the exposed tools. A hidden tool is refused as if it did not exist. */
export function notFound(name: string, names: readonly string[]): GuestError {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  return guestError('ToolNotFoundError', `There is no tool "${shown}".${didYouMean(name, names)}`);
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

export function runOverBudget(): GuestError {
  return guestError(
    'ToolBudgetExceededError',
    'The budget of this sub-agent permits no further tool call. Answer with what is known, or launch it with a larger budget.calls.',
  );
}

export function otherArguments(tool: Tool): GuestError {
  const message = `The tool ${tool.name} now reads the arguments of the call differently, so the call was not repeated.`;
  return guestError('ToolValidationError', message);
}

export function notRecorded(tool: Tool): GuestError {
  return guestError(
    'ToolExecutionError',
    `The store failed to record the call to ${tool.name}, so the call was not made. Try it again later.`,
  );
}

export function refusal(code: ErrorCode, message: string): CallResult {
  return { ok: false, error: guestError(code, message) };
}
