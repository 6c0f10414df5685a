import { reportInternalError } from '../durability/services.js';
import { ToolCallError, type ApprovalCallback } from '../protocol/index.js';
import type { HarnessOptions } from './options.js';

/** Receives the details of a fault of the installation, which concerns every script of a harness. */
export type OperatorNotice = (detail: string) => void;

/**
 * Each text is reported once: to the host's `onInternalError`, or as a warning of the process if the host has none,
 * because a program that does not look for such faults must not run with them in silence.
 */
export function operatorNotices({ onInternalError }: Pick<HarnessOptions, 'onInternalError'>): OperatorNotice {
  const reported = new Set<string>();
  return (detail) => {
    if (reported.has(detail) || reported.size >= MAX_NOTICES) return;
    reported.add(detail);
    if (onInternalError === undefined) process.emitWarning(detail, { type: 'ToolscriptWarning' });
    else reportInternalError({ onInternalError }, '', detail);
  };
}

/** Maximum number of notices: texts with varying details would otherwise be reported without end. */
const MAX_NOTICES = 10;

/** For scripts that run without a type check because there is no type checker. */
export function uncheckedNotice(notice: OperatorNotice): (reason: string) => void {
  let isReported = false;
  return (reason) => {
    if (isReported) return;
    isReported = true;
    notice(
      `Scripts run WITHOUT type checks, because no type checker could be started: ${reason} Install typescript 7 with its optional packages where the program runs (docs/how-to/bundlers.md), or accept it with \`typecheck: 'off'\`.`,
    );
  };
}

/** For scripts whose suspension nobody would receive: denies calls that need approval, and names the options. */
export function denyUnattended(notice: OperatorNotice): ApprovalCallback {
  return ({ tool }) => {
    notice(
      `Toolscript denied a call of the tool "${tool}": it needs approval, and no user can decide about it. Give createHarness or asTool the option \`approvals\` ('auto', 'deny', rules, or a function), give asTool \`onOutcome\` or createHarness a \`store\` and resume suspended scripts, or define the tool with \`effect: 'read'\` or \`approval: 'never'\`.`,
    );
    throw new ToolCallError('ApprovalDeniedError', 'no user can be asked here');
  };
}
