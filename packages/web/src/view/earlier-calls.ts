import type { CallView, ScriptView } from './types.ts';

/** A call of a script before another one. `result` is undefined if the call had not ended by then. */
export interface EarlierCallView {
  readonly call: CallView;
  readonly tool: string;
  readonly line: number | undefined;
  readonly result: unknown;
}

/** The calls that a script made before one of its calls, in order. A call that had not ended by then has no result. */
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

/** Whether a result is too large for the events of its run. */
export function hasOmittedResult(earlier: readonly EarlierCallView[]): boolean {
  return earlier.some(({ call }) => call.operation?.result_omitted === true);
}
