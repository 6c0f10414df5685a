import type { ChangeBoard } from './change-board.js';
import { StoreIdSchema, type StreamEvent } from '@toolscript/core/protocol';
import { endsRun } from '@toolscript/core/stream';
import { type EventPage, EventRangeSchema, type LogPosition, type SubscribeOptions } from '@toolscript/core/ports';
import { parseShape } from './shapes.js';

/** A page of a run's events and the position of its log. The position is undefined if the log does not know the run. */
export interface LogTail extends EventPage {
  readonly position: LogPosition | undefined;
}

interface SubscriptionSource {
  /** Announces the run's id after each change. */
  readonly board: ChangeBoard;
  readonly read: (runId: string, from: number) => Promise<LogTail>;
}

/**
 * Implements `EventLog.subscribe`. The function keeps a position but no events, and after each announcement reads from
 * that position. It can therefore miss no event between the stored events and the new ones.
 */
export async function* subscribeByReading(
  { board, read }: SubscriptionSource,
  runId: string,
  { from = 0, signal, earlier }: SubscribeOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  let next = parseShape(EventRangeSchema, { from }, 'options').from ?? 0;
  const listener = board.listen(parseShape(StoreIdSchema, runId, 'runId'));
  let wasKnown = false;
  const isAborted = () => signal?.aborted === true;
  try {
    while (!isAborted()) {
      const tail = await read(runId, next);
      const { events, position, next: more } = await withEarlier(tail, next, earlier);
      for (const event of events) {
        if (isAborted()) return;
        yield event;
        next = event.seq + 1;
        if (endsRun(event.payload)) return;
      }
      if (position === undefined ? wasKnown : position.isEnded && next >= position.nextSeq) return;
      wasKnown ||= position !== undefined;
      if (more === undefined && !(await listener.next(signal))) return;
    }
  } finally {
    listener.stop();
  }
}

/**
 * Returns a page of trimmed events if the log no longer has the event `next` and `earlier` finds it; otherwise `tail`.
 */
async function withEarlier(tail: LogTail, next: number, earlier: SubscribeOptions['earlier']): Promise<LogTail> {
  const first = tail.events[0]?.seq ?? tail.position?.nextSeq ?? next;
  if (first <= next || earlier === undefined) return tail;
  const page = await earlier(next);
  // The other store does not have these events either.
  if (page.events.length === 0) return tail;
  return { ...page, next: page.events.at(-1)!.seq + 1, position: tail.position };
}
