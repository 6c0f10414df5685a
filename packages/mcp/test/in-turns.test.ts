import { inTurns } from '#mcp/tools/in-turns.js';
import { expect, it } from 'vitest';

it('work on many items leaves turns to other work', async () => {
  const other = { turns: 0 };
  let isOver = false;
  const turn = () => {
    other.turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const start = performance.now();
  let made = 0;
  // The work ends when other work has had turns, or after far more time than one slice.
  const work = function* () {
    while (other.turns < 3 && performance.now() - start < 10_000) yield made + 1;
  };
  for await (const item of inTurns(work())) made = item;
  isOver = true;
  expect(made).toBeGreaterThan(3);
  expect(other.turns).toBeGreaterThanOrEqual(3);
});
