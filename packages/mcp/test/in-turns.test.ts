import { inTurns, ITEMS_PER_TURN } from '#mcp/tools/in-turns.js';
import { expect, it } from 'vitest';

it('other work has a turn after each few items', async () => {
  let turns = 0;
  let other = setImmediate(function turn() {
    turns += 1;
    other = setImmediate(turn);
  });
  const madeInTurn = new Map<number, number>();
  for await (const _item of inTurns(Array.from({ length: 100 * ITEMS_PER_TURN }, (_, item) => item)))
    madeInTurn.set(turns, (madeInTurn.get(turns) ?? 0) + 1);
  clearImmediate(other);
  expect(Math.max(...madeInTurn.values())).toBeLessThanOrEqual(ITEMS_PER_TURN);
  expect(turns).toBeGreaterThanOrEqual(99);
});
