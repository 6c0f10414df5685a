import type { Operation, SandboxEnd } from '../protocol/index.js';

const UNFINISHED: ReadonlySet<Operation['status']> = new Set([
  'unknown',
  'not_started',
  'awaiting_approval',
  'aborted',
]);

/**
 * The operations as the outcome reports them. An unawaited call counts as aborted, even if it was aborted before its
 * start. `detached`: the calls that outlive the script.
 */
export function finalOperations(
  operations: readonly Operation[],
  end: SandboxEnd,
  detached: ReadonlyMap<string, unknown>,
): Operation[] {
  return operations.map((operation) => {
    const rounded = {
      ...operation,
      startedAtMs: roundMs(operation.startedAtMs),
      durationMs: roundMs(operation.durationMs),
    };
    const isUnawaited = end.type === 'returned' && operation.status === 'not_started' && operation.error === undefined;
    if (!isUnawaited || detached.has(operation.callId)) return rounded;
    const message = 'The script ended without awaiting this call; nothing of it ran.';
    return { ...rounded, status: 'aborted', error: { code: 'ToolExecutionError', message } };
  });
}

export function countCalls(operations: readonly Operation[]): { completedTools: number; pendingTools: number } {
  return {
    completedTools: operations.filter(({ status }) => status === 'completed').length,
    pendingTools: operations.filter(({ status }) => UNFINISHED.has(status)).length,
  };
}

/** Rounds to a thousandth, the precision of the clock. */
export function roundMs(value: number): number {
  return Math.round(value * 1000) / 1000;
}
