import { z } from 'zod';
import { StoreIdSchema, type StreamEvent, StreamEventSchema, ToolscriptUsageError } from '@toolscript/core/protocol';
import { eventId } from '@toolscript/core/internal';
import { endsRun } from '@toolscript/core/stream';
import {
  DEFAULT_EVENT_PAGE,
  EventOrderError,
  type EventPage,
  type EventRange,
  EventRangeSchema,
  MAX_EVENT_PAGE_LENGTH,
  type RunIdentity,
} from '@toolscript/core/ports';
import { parseShape } from './shapes.js';
import { eventText } from './store-rules.js';
import { storedJson } from './stored-json.js';

/** Consecutive events of one run, as a store writes them. */
export interface EventBatch {
  readonly runId: string;
  readonly firstSeq: number;
  /** The JSON text of each event. */
  readonly texts: readonly string[];
  /** The text by which each event is found: see `eventText`. */
  readonly searched: readonly string[];
  /** The index in `texts` of the run's last event; -1 if the batch does not contain the last event. */
  readonly endIndex: number;
}

/**
 * The JSON texts of events that were checked. A log and a thread store write the same events, so each is checked once.
 */
const CHECKED_TEXTS = new WeakMap<StreamEvent, string>();

const ListSchema = z.array(z.unknown()).min(1);

/** The batch of these events. Throws a `ToolscriptUsageError` unless they are consecutive events of one run. */
export function checkBatch(events: readonly StreamEvent[]): EventBatch {
  parseShape(ListSchema, events, 'events');
  const texts = events.map(checkedText);
  const [first] = events;
  const runId = parseShape(StoreIdSchema, first!.run_id, 'events.0.run_id');
  for (const [index, { run_id, seq }] of events.entries())
    if (run_id !== runId || seq !== first!.seq + index)
      throw new ToolscriptUsageError('EVENT_OUT_OF_PLACE', { index, seq: first!.seq + index, runId });
  const searched = events.map(eventText);
  return {
    runId,
    firstSeq: first!.seq,
    texts,
    searched,
    endIndex: events.findIndex(({ payload }) => endsRun(payload)),
  };
}

function checkedText(event: StreamEvent, index: number): string {
  const known = CHECKED_TEXTS.get(event);
  if (known !== undefined) return known;
  parseShape(StreamEventSchema, event, `events.${index}`);
  const text = JSON.stringify(event);
  CHECKED_TEXTS.set(event, text);
  return text;
}

/**
 * Returns the texts that are new to a store that has the run's events before `nextSeq`. Throws an `EventOrderError` if
 * the batch leaves a gap or differs from stored events. `textAt` returns undefined for trimmed events.
 */
export function placeEvents(
  { runId, firstSeq, texts }: EventBatch,
  nextSeq: number,
  textAt: (seq: number) => string | undefined,
): readonly string[] {
  if (firstSeq > nextSeq)
    throw new EventOrderError(
      `Event ${firstSeq} of the run ${runId} leaves a gap: ${nextSeq} is expected next. Append that event first`,
    );
  const known = texts.slice(0, nextSeq - firstSeq);
  const index = known.findIndex((text, offset) => (textAt(firstSeq + offset) ?? text) !== text);
  if (index === -1) return texts.slice(known.length);
  throw new EventOrderError(
    `The run ${runId} has a different event ${firstSeq + index} already: ${nextSeq} is expected next. Read the run's events before you append`,
  );
}

/** Throws an `EventOrderError` if a new event of the batch follows the run's last one. */
export function refuseAfterEnd({ runId, texts, endIndex }: EventBatch, wasEnded: boolean): void {
  if (wasEnded || (endIndex !== -1 && endIndex < texts.length - 1))
    throw new EventOrderError(`The run ${runId} has ended: no event follows its last one. Start another run`);
}

/** A page of a run's events. The index in `texts` is the `seq`. */
export function pageOfEvents(texts: readonly string[], range: EventRange): EventPage {
  const { from = 0, limit = DEFAULT_EVENT_PAGE } = parseShape(EventRangeSchema, range, 'range');
  return eventPage(from, texts.slice(from, from + limit), texts.length);
}

/**
 * A page with as many of the texts as fit, beginning with event `from`. `nextSeq` is the `seq` of the run's next event.
 */
export function eventPage(from: number, texts: readonly string[], nextSeq: number): EventPage {
  let length = 0;
  const tooMuch = texts.findIndex((text, index) => (length += text.length) > MAX_EVENT_PAGE_LENGTH && index > 0);
  const page = tooMuch === -1 ? texts : texts.slice(0, tooMuch);
  const end = from + page.length;
  return {
    events: page.map((text) => storedJson(text) as StreamEvent),
    ...(end < nextSeq && page.length > 0 ? { next: end } : {}),
  };
}

/** A copy of the event with the identity of the given run. */
export function eventOfRun(event: StreamEvent, { runId, threadId, turnId }: RunIdentity): StreamEvent {
  return { ...event, event_id: eventId(runId, event.seq), run_id: runId, thread_id: threadId, turn_id: turnId };
}

/** The earliest time of these events, given as JSON texts, in ms since 1970; undefined if there are none. */
export function oldestTime(texts: readonly string[]): number | undefined {
  if (texts.length === 0) return undefined;
  return Math.min(...texts.map((text) => (storedJson(text) as StreamEvent).timestamp));
}
