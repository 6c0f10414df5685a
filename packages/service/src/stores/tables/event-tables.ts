import { DEFAULT_EVENT_PAGE, MAX_EVENT_PAGE_LENGTH } from '@toolscript/core/ports';
import type { Database, Value } from './database.js';
import { placeEvents, type EventBatch } from '../event-batches.js';

/** `events` belongs to the thread store, `log_events` to the event log. */
type EventTable = 'events' | 'log_events';

export interface TextPage {
  readonly texts: readonly string[];
  /** The `from` of the next page; undefined for the last page. */
  readonly next: number | undefined;
}

export async function eventCount(database: Database, runId: string): Promise<number> {
  const sql = 'SELECT coalesce(max(seq) + 1, 0) AS count FROM events WHERE run_id = :runId';
  return (await database.first(sql, { runId }))!.count as number;
}

/** Adds events. Returns the number of new events, and their length. */
export async function addEvents(
  database: Database,
  table: EventTable,
  batch: EventBatch,
  nextSeq: number,
): Promise<{ added: number; length: number }> {
  const { runId, texts } = batch;
  const stored = await storedTexts(database, table, batch, nextSeq);
  const added = placeEvents(batch, nextSeq, (seq) => stored.get(seq));
  const first = batch.firstSeq + texts.length - added.length;
  await insertEvents(
    database,
    table,
    runId,
    added.map((event, index) => [first + index, event]),
  );
  return { added: added.length, length: added.reduce((sum, event) => sum + event.length, 0) };
}

export function insertEvents(
  database: Database,
  table: EventTable,
  runId: string,
  events: readonly (readonly [seq: number, event: string])[],
): Promise<void> {
  return database.insert(
    table,
    events.map(([seq, event]): Value[] => [runId, seq, event.length, event]),
  );
}

/** The texts of the stored events at the positions of the batch. */
async function storedTexts(
  database: Database,
  table: EventTable,
  { runId, firstSeq, texts }: EventBatch,
  nextSeq: number,
): Promise<ReadonlyMap<number, string>> {
  if (firstSeq >= nextSeq) return new Map();
  const rows = await database.all(
    `SELECT seq, event FROM ${table} WHERE run_id = :runId AND seq >= :firstSeq AND seq < :endSeq`,
    { runId, firstSeq, endSeq: firstSeq + texts.length },
  );
  return new Map(rows.map(({ seq, event }) => [seq as number, event as string]));
}

/** Reads a page of events. First reads the lengths, and then only the texts that fit into the page. */
export async function readEvents(
  database: Database,
  table: EventTable,
  {
    runId,
    from = 0,
    limit = DEFAULT_EVENT_PAGE,
  }: { runId: string; from?: number | undefined; limit?: number | undefined },
): Promise<TextPage> {
  const range = { runId, from, limit: limit + 1 };
  const where = `FROM ${table} WHERE run_id = :runId AND seq >= :from ORDER BY seq LIMIT :limit`;
  const lengths = (await database.all(`SELECT length ${where}`, range)).map(({ length }) => length as number);
  let total = 0;
  const tooLong = lengths.findIndex((length, index) => (total += length) > MAX_EVENT_PAGE_LENGTH && index > 0);
  const count = Math.min(tooLong === -1 ? lengths.length : tooLong, limit);
  const rows = await database.all(`SELECT event ${where}`, { ...range, limit: count });
  return { texts: rows.map(({ event }) => event as string), next: count < lengths.length ? from + count : undefined };
}
