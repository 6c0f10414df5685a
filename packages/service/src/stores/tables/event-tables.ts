import { DEFAULT_EVENT_PAGE, MAX_EVENT_PAGE_LENGTH, type EventRange } from '@toolscript/core/ports';
import type { Database, Value } from './database.js';
import { placeEvents, type EventBatch } from '../event-batches.js';

/** `events` belongs to the thread store, `log_events` to the event log. */
type EventTable = 'events' | 'log_events';

/** The column that names the events of a run. */
const KEY_COLUMNS = { events: 'transcript', log_events: 'run_id' } as const satisfies Record<EventTable, string>;

/** The events of a run in one of the tables: `key` is the value of the column in `KEY_COLUMNS`. */
interface EventPlace {
  readonly table: EventTable;
  readonly key: Value;
}

export interface TextPage {
  readonly texts: readonly string[];
  /** The `from` of the next page; undefined for the last page. */
  readonly next: number | undefined;
}

export async function eventCount(database: Database, transcript: Value): Promise<number> {
  const sql = 'SELECT coalesce(max(seq) + 1, 0) AS count FROM events WHERE transcript = :transcript';
  return (await database.first(sql, { transcript }))!.count as number;
}

/** Adds events. Returns the number of new events, and their length. */
export async function addEvents(
  database: Database,
  place: EventPlace,
  batch: EventBatch,
  nextSeq: number,
): Promise<{ added: number; length: number }> {
  const stored = await storedTexts(database, place, batch, nextSeq);
  const added = placeEvents(batch, nextSeq, (seq) => stored.get(seq));
  const first = batch.firstSeq + batch.texts.length - added.length;
  const rows = added.map((event, index): Value[] => [place.key, first + index, event.length, event]);
  await database.insert(place.table, rows);
  return { added: added.length, length: added.reduce((sum, event) => sum + event.length, 0) };
}

/** The texts of the stored events at the positions of the batch. */
async function storedTexts(
  database: Database,
  { table, key }: EventPlace,
  { firstSeq, texts }: EventBatch,
  nextSeq: number,
): Promise<ReadonlyMap<number, string>> {
  if (firstSeq >= nextSeq) return new Map();
  const rows = await database.all(
    `SELECT seq, event FROM ${table} WHERE ${KEY_COLUMNS[table]} = :key AND seq >= :firstSeq AND seq < :endSeq`,
    { key, firstSeq, endSeq: firstSeq + texts.length },
  );
  return new Map(rows.map(({ seq, event }) => [seq as number, event as string]));
}

/** Reads a page of events. First reads the lengths, and then only the texts that fit into the page. */
export async function readEvents(
  database: Database,
  { table, key }: EventPlace,
  { from = 0, limit = DEFAULT_EVENT_PAGE }: EventRange,
): Promise<TextPage> {
  const range = { key, from, limit: limit + 1 };
  const where = `FROM ${table} WHERE ${KEY_COLUMNS[table]} = :key AND seq >= :from ORDER BY seq LIMIT :limit`;
  const lengths = (await database.all(`SELECT length ${where}`, range)).map(({ length }) => length as number);
  let total = 0;
  const tooLong = lengths.findIndex((length, index) => (total += length) > MAX_EVENT_PAGE_LENGTH && index > 0);
  const count = Math.min(tooLong === -1 ? lengths.length : tooLong, limit);
  const rows = await database.all(`SELECT event ${where}`, { ...range, limit: count });
  return { texts: rows.map(({ event }) => event as string), next: count < lengths.length ? from + count : undefined };
}
