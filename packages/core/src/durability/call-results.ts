import type { Settlement } from '../protocol/index.js';
import type { TapeBatch } from '../session/index.js';
import type { EndedCall } from '../tools/index.js';

/*
 * The result of a call is stored in the settlement that delivered it to the script. Stores with both keep it once: the
 * operation is written without its result and gets it back when it is read.
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
