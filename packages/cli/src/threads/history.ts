import { extendHistory } from '@toolscript/core/agent';
import type {
  ItemPage,
  OutputItem,
  Run,
  RunPage,
  ServiceStores,
  StreamEvent,
  TurnItems,
} from '@toolscript/core/protocol';
import { allEvents } from './run-end.js';

/** The conversation as the model reads it: in the order in which everything happened. */
export async function loadHistory(stores: ServiceStores, threadId: string): Promise<readonly OutputItem[]> {
  const runs = await allRuns(stores, threadId);
  if (runs.some(({ updatedAt }, index) => updatedAt > (runs[index + 1]?.createdAt ?? updatedAt)))
    return inOrderOfEvents(stores, runs);
  const turns = await allTurns(stores, threadId);
  return extendHistory(
    turns.flatMap(({ items }) => items),
    [],
  );
}

export async function allTurns({ threads }: ServiceStores, threadId: string): Promise<TurnItems[]> {
  return allOf<ItemPage, TurnItems>(
    (after) => threads.readItems(threadId, after),
    ({ turns }) => turns,
  );
}

export async function allRuns({ runs }: ServiceStores, threadId: string): Promise<Run[]> {
  return allOf<RunPage, Run>(
    (after) => runs.list({ threadId, ...after }),
    (page) => page.runs,
  );
}

/** A run that was resumed after a later one had begun: each of its parts has its own place. */
async function inOrderOfEvents(stores: ServiceStores, runs: readonly Run[]): Promise<readonly OutputItem[]> {
  const parts: StreamEvent[][] = [];
  for (const { runId } of runs)
    for (const event of await allEvents(stores, runId)) {
      const part = parts.at(-1);
      if (part === undefined || event.payload.type === 'response_start' || event.seq === 0) parts.push([event]);
      else part.push(event);
    }
  return extendHistory([], parts.toSorted(([left], [right]) => left!.timestamp - right!.timestamp).flat());
}

export async function allOf<Page extends { readonly next?: string }, Item>(
  read: (query: { after?: string }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for (let query: { after?: string } | undefined = {}; query !== undefined;) {
    const page: Page = await read(query);
    items.push(...itemsOf(page));
    query = page.next === undefined ? undefined : { after: page.next };
  }
  return items;
}
