import { extendHistory } from '@toolscript/core/agent';
import type { EventPage, ItemPage, RunPage, TurnItems } from '@toolscript/core/ports';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OutputItem, Run, ServiceStores, StreamEvent } from '@toolscript/core/protocol';

/**
 * The conversation as the model reads it, in chronological order. `before`: includes only runs that were created before
 * this run.
 */
export async function loadHistory(
  stores: ServiceStores,
  threadId: string,
  before?: Pick<Run, 'runId'>,
): Promise<readonly OutputItem[]> {
  const runs = earlierThan(await allRuns(stores, threadId), before);
  if (runs.some(({ updatedAt }, index) => updatedAt > (runs[index + 1]?.createdAt ?? updatedAt)))
    return inOrderOfEvents(stores, runs);
  const turns = earlierThan(await allTurns(stores, threadId), before);
  return extendHistory(
    turns.flatMap(({ items }) => items),
    [],
  );
}

function earlierThan<Row extends { readonly runId: string }>(
  rows: Row[],
  before: Pick<Run, 'runId'> | undefined,
): readonly Row[] {
  const index = rows.findIndex(({ runId }) => runId === before?.runId);
  return index === -1 ? rows : rows.slice(0, index);
}

export async function allTurns({ threads }: Pick<ServiceStores, 'threads'>, threadId: string): Promise<TurnItems[]> {
  return allPageItems<ItemPage, TurnItems>(
    (after) => threads.readItems(threadId, after),
    ({ turns }) => turns,
  );
}

export async function allRuns({ runs }: Pick<ServiceStores, 'runs'>, threadId: string): Promise<Run[]> {
  return allPageItems<RunPage, Run>(
    (after) => runs.list({ threadId, ...after }),
    (page) => page.runs,
  );
}

/** All events of a run in the thread store, in order. */
export function allEvents({ threads }: Pick<ServiceStores, 'threads'>, runId: string): Promise<StreamEvent[]> {
  return eventsFrom(0, (from) => threads.readEvents(runId, { from }));
}

/** Like `allEvents`, one page in the memory at a time. Other work gets a turn before each page. */
export async function* storedEvents(
  { threads }: Pick<ServiceStores, 'threads'>,
  runId: string,
): AsyncGenerator<StreamEvent, void, undefined> {
  for (let from: number | undefined = 0; from !== undefined;) {
    // defence: stored-events-yield
    await nextTurn();
    const page: EventPage = await threads.readEvents(runId, { from });
    yield* page.events;
    from = page.next;
  }
}

/** The events starting with `start`, over all pages. */
export async function eventsFrom(start: number, read: (from: number) => Promise<EventPage>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for (let from: number | undefined = start; from !== undefined;) {
    const page = await read(from);
    events.push(...page.events);
    from = page.next;
  }
  return events;
}

/**
 * Orders the events of the runs. A run may have resumed after a later run started, so each part of a run has its own
 * position.
 */
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

/** The items of all pages of a list. */
export async function allPageItems<Page extends { readonly next?: string | undefined }, Item>(
  read: (query: { after?: string | undefined }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for (let query: { after?: string | undefined } | undefined = {}; query !== undefined;) {
    const page: Page = await read(query);
    items.push(...itemsOf(page));
    query = page.next === undefined ? undefined : { after: page.next };
  }
  return items;
}
