import type { Response, StreamEvent } from '../protocol/index.js';
import { ResponseFold, type LiveActivity } from './response-fold.js';

export interface ResponseReducerOptions {
  /** The run to fold. Default: the run of the first event applied. */
  runId?: string | undefined;
}

export interface ResponseViewOptions {
  /**
   * Also shows the events after a gap, in order, as if the gap were empty. Default false: only events before the first
   * gap are shown, so that later events never contradict what was shown.
   */
  includePending?: boolean | undefined;
}

/** Maximum number of listed missing events, because one stray event can make the gap arbitrarily large. */
const MAX_MISSING_LISTED = 1000;

/**
 * Folds the events of one run into a Response. A live stream and a replay use the same code.
 *
 * Events may arrive in any order and more than once. `seq` is an event's position: the first event with a `seq` counts,
 * and later events with this `seq` are duplicates. Events after a gap wait until it is filled. Events of other runs and
 * payloads that this version does not know are ignored. `apply` never throws for an event that `StreamEventSchema`
 * accepts.
 *
 * - `item_start` adds the item and shows a placeholder, which `item_delta` fills: the content of a message, the
 *   arguments of a call, the source of a script. Results and errors show only after their `item_done`.
 * - `item_done` replaces the placeholder with the final item, or appends the item if it never started.
 * - `item_error` adds an `error` item after the item. The item keeps its text.
 * - `item_cancelled` marks the item `cancelled: true`. An unfinished item without text, an unfinished function call and
 *   an unfinished script are removed.
 * - A script's status follows its output: completed, failed → error, suspended.
 *
 * Treat what `response()` returns as read-only: it shares its items with the events and with later responses.
 */
export class ResponseReducer {
  #runId: string | undefined;
  #firstEvent: StreamEvent | undefined;
  #nextSeq = 0;
  readonly #fold = new ResponseFold();
  /** Events after a gap, by seq. */
  readonly #pending = new Map<number, StreamEvent>();
  #preview: PendingPreview | undefined;

  constructor(options: ResponseReducerOptions = {}) {
    this.#runId = options.runId;
  }

  apply(event: StreamEvent): void {
    this.#runId ??= event.run_id;
    if (event.run_id !== this.#runId) return;
    this.#firstEvent ??= event;
    if (event.seq === this.#nextSeq) this.#applyInOrder(event);
    else if (event.seq > this.#nextSeq) this.#hold(event);
  }

  /** The response so far. Returns the same object until the next event is applied, so frequent calls are cheap. */
  response(options: ResponseViewOptions = {}): Response {
    return this.#view(options).response(this.#firstEvent);
  }

  /** Running tool calls and undecided approvals, which are not items. */
  live(options: ResponseViewOptions = {}): LiveActivity {
    return this.#view(options).live();
  }

  /** Returns the missing seqs below the highest seq so far, ascending; at most 1000. */
  missing(): number[] {
    const missing: number[] = [];
    let expected = this.#nextSeq;
    for (const seq of this.#pendingSeqs()) {
      for (; expected < seq; expected += 1) {
        if (missing.length === MAX_MISSING_LISTED) return missing;
        missing.push(expected);
      }
      expected = seq + 1;
    }
    return missing;
  }

  #applyInOrder(event: StreamEvent): void {
    let next: StreamEvent | undefined = event;
    while (next !== undefined) {
      this.#fold.apply(next);
      this.#nextSeq += 1;
      if (this.#pending.size === 0) break;
      next = this.#pending.get(this.#nextSeq);
      this.#pending.delete(this.#nextSeq);
    }
    this.#preview = undefined;
  }

  #hold(event: StreamEvent): void {
    if (this.#pending.has(event.seq)) return;
    this.#pending.set(event.seq, event);
    if (this.#preview !== undefined && event.seq > this.#preview.lastSeq) {
      this.#preview.fold.apply(event);
      this.#preview.lastSeq = event.seq;
    } else {
      this.#preview = undefined;
    }
  }

  #view({ includePending = false }: ResponseViewOptions): ResponseFold {
    if (!includePending || this.#pending.size === 0) return this.#fold;
    this.#preview ??= this.#previewPending();
    return this.#preview.fold;
  }

  #previewPending(): PendingPreview {
    const fold = this.#fold.clone();
    let lastSeq = this.#nextSeq;
    for (const seq of this.#pendingSeqs()) {
      fold.apply(this.#pending.get(seq)!);
      lastSeq = seq;
    }
    return { fold, lastSeq };
  }

  #pendingSeqs(): number[] {
    return [...this.#pending.keys()].sort((first, second) => first - second);
  }
}

/**
 * Folds a run's events, in any order and with duplicates, into its Response. Missing events are skipped. Without
 * events, the Response has empty ids and the status `in_progress`.
 */
export function foldResponse(events: Iterable<StreamEvent>, options: ResponseReducerOptions = {}): Response {
  const reducer = new ResponseReducer(options);
  for (const event of events) reducer.apply(event);
  return reducer.response({ includePending: true });
}

/** Reads a stream to its end, then folds its events like `foldResponse`. */
export async function foldResponseAsync(
  events: AsyncIterable<StreamEvent> | Iterable<StreamEvent>,
  options: ResponseReducerOptions = {},
): Promise<Response> {
  const reducer = new ResponseReducer(options);
  for await (const event of events) reducer.apply(event);
  return reducer.response({ includePending: true });
}

/** The fold with all pending events. It continues incrementally while events arrive in order after the gap. */
interface PendingPreview {
  readonly fold: ResponseFold;
  lastSeq: number;
}
