import type { CallView, ScriptView } from './types.ts';

/**
 * A call that a script made before another call. `result` is undefined if this call had not ended when the script made
 * the other call.
 */
export interface EarlierCallView {
  readonly call: CallView;
  readonly tool: string;
  readonly line: number | undefined;
  readonly result: unknown;
}

/**
 * The calls that a script made before the call `callId`, in order. A call that had not ended when `callId` was made has
 * no result.
 */
export function callsBefore({ calls }: ScriptView, callId: string): readonly EarlierCallView[] {
  const index = calls.findIndex((call) => call.callId === callId);
  const madeAt = calls[index]?.requestedAt ?? 0;
  return calls.slice(0, Math.max(0, index)).map((call) => ({
    call,
    tool: call.tool,
    line: call.line,
    result: (call.endedAt ?? Infinity) <= madeAt ? call.operation?.result : undefined,
  }));
}

/** Whether the result of one of these calls is too large for the events of the run. */
export function hasOmittedResult(earlier: readonly EarlierCallView[]): boolean {
  return earlier.some(({ call }) => call.operation?.result_omitted === true);
}
