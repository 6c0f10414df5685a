import type { Limits, SandboxEnd } from '../protocol/index.js';

/** The reason in the errors of calls that are aborted because the run did not end by itself. */
export function abortReason(why: 'cancelled' | 'timeout', { timeoutMs }: Limits): string {
  return why === 'timeout' ? `the run took longer than ${timeoutMs} ms (timeoutMs)` : 'the run was cancelled';
}

/** The reason for aborting calls that still run at a script's end. */
export function abortReasonAt(end: SandboxEnd, limits: Limits): string {
  if (end.type === 'cancelled') return abortReason(end.reason, limits);
  return end.type === 'returned' ? 'the script ended without awaiting it' : 'the script ended';
}
