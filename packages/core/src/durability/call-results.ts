import type { Settlement } from '../protocol/index.js';
import type { TapeBatch } from '../session/index.js';
import type { EndedCall } from '../tools/index.js';

/*
 * What a call gave back stands in the settlement that told the script. Whatever keeps both, keeps it once: the
 * operation is written without it, and has it again when it is read.
 */

export function withoutResult({ callIndex, operation }: EndedCall): EndedCall {
  const { result: _result, ...rest } = operation;
  return { callIndex, operation: rest };
}

export function withResult({ callIndex, operation }: EndedCall, results: ReadonlyMap<number, Settlement>): EndedCall {
  const settlement = results.get(callIndex);
  if (settlement?.ok !== true || settlement.json === '' || operation.status !== 'completed')
    return { callIndex, operation };
  return { callIndex, operation: { ...operation, result: JSON.parse(settlement.json) as unknown } };
}

/** Every settlement of a tape, by call. */
export function resultsOf(batches: readonly TapeBatch[]): ReadonlyMap<number, Settlement> {
  return new Map(
    batches.flatMap(({ settlements }) => settlements.map((settlement) => [settlement.callIndex, settlement])),
  );
}
