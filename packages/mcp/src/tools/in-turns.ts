import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum time of work on items before other work of this process has its turn, in ms. */
const SLICE_MS = 10;

/** The items, for work whose amount a server decides: other work of this process runs in between. */
export async function* inTurns<Item>(items: Iterable<Item>): AsyncGenerator<Item, void, void> {
  let startedAt = performance.now();
  for (const item of items) {
    // defence: mcp-tools-are-made-in-turns
    if (performance.now() - startedAt > SLICE_MS) {
      await nextTurn();
      startedAt = performance.now();
    }
    yield item;
  }
}
