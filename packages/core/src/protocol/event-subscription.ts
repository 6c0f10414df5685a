import type { ChangeBoard } from './change-board.js';
import { EventRangeSchema, type EventPage, type LogPosition } from './event-log.js';
import type { StreamEvent } from './events.js';
import { endsRun } from './run-end.js';
import { parseShape, StoreIdSchema } from './store-shapes.js';

/** A page of a run's events and the position of its log. Without a position, the log does not know the run. */
export interface LogTail extends EventPage {
  readonly position: LogPosition | undefined;
}

interface SubscriptionSource {
  /** Announces the run's id after each change. */
  readonly board: ChangeBoard;
  readonly read: (runId: string, from: number) => Promise<LogTail>;
}

/**
 * Implements `EventLog.subscribe`. It stores a position but no events, and after each announcement reads from that
 * position. So no event between stored and new ones can be missed.
 */
export async function* subscribeByReading(
  { board, read }: SubscriptionSource,
  runId: string,
  { from = 0, signal }: { readonly from?: number; readonly signal?: AbortSignal },
): AsyncGenerator<StreamEvent, void, undefined> {
  let next = parseShape(EventRangeSchema, { from }, 'options').from ?? 0;
  const listener = board.listen(parseShape(StoreIdSchema, runId, 'runId'));
  let wasKnown = false;
  const isAborted = () => signal?.aborted === true;
  try {
    while (!isAborted()) {
      const { events, position, next: more } = await read(runId, next);
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
