import { extendHistory } from '@toolscript/core/agent';
import { addNeeded } from '@toolscript/core/internal';
import type { EventPage, ItemPage, RunPage, TurnItems } from '@toolscript/core/ports';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OutputItem, Run, ServiceStores, StreamEvent } from '@toolscript/core/protocol';

/**
 * The conversation as the model reads it, in chronological order. `before`: includes only runs that were created before
 * this run. `from`: omits the runs that were created before this run.
 */
export function loadHistory(
  stores: ServiceStores,
  threadId: string,
  before?: Pick<Run, 'runId'>,
  from?: Pick<Run, 'runId'>,
): Promise<readonly OutputItem[]> {
  return readHistory(stores, { threadId, before, from, add: addAll });
}

/** The part of the conversation before a run that the run needs. Holds one page of the rest in the memory at a time. */
export function loadNeededHistory(stores: ServiceStores, run: Run): Promise<readonly OutputItem[]> {
  return readHistory(stores, { threadId: run.threadId, before: run, add: addNeeded });
}

interface HistoryQuery {
  readonly threadId: string;
  readonly before?: Pick<Run, 'runId'> | undefined;
  readonly from?: Pick<Run, 'runId'> | undefined;
  /** Adds the items of a page to those before it. */
  readonly add: (items: OutputItem[], more: OutputItem[]) => OutputItem[];
}

async function readHistory(stores: ServiceStores, query: HistoryQuery): Promise<readonly OutputItem[]> {
  const { threadId, before, from } = query;
  const all = await allRuns(stores, threadId);
  const runs = earlierThan(all.slice(from && all.findIndex(({ runId }) => runId === from.runId)), before);
  const overlap = await firstOverlap(stores, runs);
  const end = overlap === -1 ? before : runs[overlap];
  const items = await itemsBetween(stores, query, end);
  if (overlap === -1) return extendHistory(items, []);
  return query.add([], [...(await inOrderOfEvents(stores, items, runs.slice(overlap)))]);
}

function addAll(items: OutputItem[], more: readonly OutputItem[]): OutputItem[] {
  for (const item of more) items.push(item);
  return items;
}

/** The items of the turns from one run on, before another one. Reads no later page. */
async function itemsBetween(
  { threads }: ServiceStores,
  { threadId, from, add }: HistoryQuery,
  end: Pick<Run, 'runId'> | undefined,
): Promise<OutputItem[]> {
  let items: OutputItem[] = [];
  let isBefore = from !== undefined;
  for (let query: { after?: string | undefined } | undefined = {}; query !== undefined;) {
    const page: ItemPage = await threads.readItems(threadId, query);
    const more: OutputItem[] = [];
    const at = page.turns.findIndex(({ runId }) => runId === end?.runId);
    for (const turn of at === -1 ? page.turns : page.turns.slice(0, at)) {
      if (turn.runId === from?.runId) isBefore = false;
      if (!isBefore) for (const item of turn.items) more.push(item);
    }
    items = add(items, more);
    query = page.next === undefined || at !== -1 ? undefined : { after: page.next };
  }
  return items;
}

/**
 * The index of the first run that continued after a later run had begun; -1 if there is none. A prompt that waited in
 * the queue was created long before its run began.
 */
async function firstOverlap(stores: ServiceStores, runs: readonly Run[]): Promise<number> {
  for (const [index, { runId, updatedAt }] of runs.entries()) {
    if (updatedAt <= (runs[index + 1]?.createdAt ?? updatedAt)) continue;
    const next = await firstEvent(stores, runs.slice(index + 1));
    const count = await stores.threads.nextSeq(runId);
    const last = await eventAt(stores, runId, count - 1);
    if (next !== undefined && last !== undefined && last.timestamp > next.timestamp) return index;
  }
  return -1;
}

/** The first event of the first of these runs that has begun. */
async function firstEvent(stores: ServiceStores, runs: readonly Run[]): Promise<StreamEvent | undefined> {
  for (const { runId } of runs) {
    const event = await eventAt(stores, runId, 0);
    if (event !== undefined) return event;
  }
  return undefined;
}

async function eventAt({ threads }: ServiceStores, runId: string, seq: number): Promise<StreamEvent | undefined> {
  return seq < 0 ? undefined : (await threads.readEvents(runId, { from: seq, limit: 1 })).events[0];
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
 * Appends the events of the runs to the items, in order. A run may have resumed after a later run started, so each part
 * of a run has its own position.
 */
async function inOrderOfEvents(
  stores: ServiceStores,
  items: readonly OutputItem[],
  runs: readonly Run[],
): Promise<readonly OutputItem[]> {
  const parts: StreamEvent[][] = [];
  for (const { runId } of runs)
    for (const event of await allEvents(stores, runId)) {
      const part = parts.at(-1);
      if (part === undefined || event.payload.type === 'response_start' || event.seq === 0) parts.push([event]);
      else part.push(event);
    }
  return extendHistory(items, parts.toSorted(([left], [right]) => left!.timestamp - right!.timestamp).flat());
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
