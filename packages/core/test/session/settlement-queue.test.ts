import { describe, expect, it } from 'vitest';
import { SettlementQueue } from '#core/calls/session/journal.js';

const answer = (callIndex: number, units: number) => ({ callIndex, ok: true as const, json: 'x'.repeat(units) });

describe('the results for a guest', () => {
  it('are delivered in batches, each of which ends with the result that exceeds 4 194 304 characters', () => {
    const queue = new SettlementQueue();
    for (const [callIndex, units] of [3_000_000, 3_000_000, 1, 1].entries()) queue.add(answer(callIndex, units));
    const indexesOfBatch = () => queue.takeBatch().map(({ callIndex }) => callIndex);
    expect(indexesOfBatch()).toEqual([0, 1]);
    expect([...queue.callIndexes()]).toEqual([2, 3]);
    expect(indexesOfBatch()).toEqual([2, 3]);
    expect(queue.isEmpty).toBe(true);
  });
});
