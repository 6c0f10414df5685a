import type { Operation } from '../../protocol/operations.js';

/** Returns the index at the end of the id of a script's call. */
export function callIdIndex(callId: string): number {
  return Number(callId.slice(callId.lastIndexOf('_') + 1));
}

export function inCallOrder(operations: readonly Operation[]): Operation[] {
  return operations.toSorted((left, right) => callIdIndex(left.callId) - callIdIndex(right.callId));
}
