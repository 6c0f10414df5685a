import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum number of items before other work of this process has its turn. */
export const ITEMS_PER_TURN = 8;

/** The items, for work whose amount a server decides: other work of this process runs in between. */
export async function* inTurns<Item>(items: Iterable<Item>): AsyncGenerator<Item, void, void> {
  let left = ITEMS_PER_TURN;
  for (const item of items) {
    // defence: mcp-tools-are-made-in-turns
    if (left === 0) {
      await nextTurn();
      left = ITEMS_PER_TURN;
    }
    left -= 1;
    yield item;
  }
}
