import { DEFAULT_EVENT_PAGE, MAX_EVENT_PAGE_LENGTH, placeEvents, type EventBatch } from '@toolscript/core/protocol';
import type { Database } from './database.js';

/** `events`: of the thread store. `log_events`: of the event log. */
type EventTable = 'events' | 'log_events';

export interface TextPage {
  readonly texts: readonly string[];
  /** `from` of the next page, if there is one. */
  readonly next: number | undefined;
}

export function eventCount(database: Database, runId: string): number {
  return database.first('SELECT coalesce(max(seq) + 1, 0) AS count FROM events WHERE run_id = :runId', { runId })!
    .count as number;
}

/** Returns the number of new events. */
export function addEvents(database: Database, table: EventTable, batch: EventBatch, nextSeq: number): number {
  const { runId, texts } = batch;
  const textAt = (seq: number) =>
    database.first(`SELECT event FROM ${table} WHERE run_id = :runId AND seq = :seq`, { runId, seq })?.event as string;
  const added = placeEvents(batch, nextSeq, textAt);
  const first = batch.firstSeq + texts.length - added.length;
  for (const [index, event] of added.entries()) {
    const row = { runId, seq: first + index, length: event.length, event };
    database.run(`INSERT INTO ${table} VALUES (:runId, :seq, :length, :event)`, row);
  }
  return added.length;
}

/** A page ends before it is too long. The lengths are read first, so that no text is read unnecessarily. */
export function readEvents(
  database: Database,
  table: EventTable,
  {
    runId,
    from = 0,
    limit = DEFAULT_EVENT_PAGE,
  }: { runId: string; from?: number | undefined; limit?: number | undefined },
): TextPage {
  const range = { runId, from, limit: limit + 1 };
  const where = `FROM ${table} WHERE run_id = :runId AND seq >= :from ORDER BY seq LIMIT :limit`;
  const lengths = database.all(`SELECT length ${where}`, range).map(({ length }) => length as number);
  let total = 0;
  const tooLong = lengths.findIndex((length, index) => (total += length) > MAX_EVENT_PAGE_LENGTH && index > 0);
  const count = Math.min(tooLong === -1 ? lengths.length : tooLong, limit);
  const rows = database.all(`SELECT event ${where}`, { ...range, limit: count });
  return { texts: rows.map(({ event }) => event as string), next: count < lengths.length ? from + count : undefined };
}
