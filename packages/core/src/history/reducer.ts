import type { Response, StreamEvent } from '../protocol/index.js';
import { ResponseFold, type LiveActivity } from './response-fold.js';

export interface ResponseReducerOptions {
  /** The run to fold. Left out: the run of the first event that is applied. */
  runId?: string;
}

export interface ResponseViewOptions {
  /**
   * Also show the events behind a gap, in their order, as if the gap held nothing. Default false: only what
   * has no gap before it is shown, so that what was shown once is never contradicted.
   */
  includePending?: boolean;
}

/** So many numbers are listed of a gap, which one stray event can make as wide as it likes. */
const MAX_MISSING_LISTED = 1000;

/**
 * Folds the events of one run into a Response: the same code for a live stream and for a replay.
 *
 * Events may come in any order and more than once. `seq` is an event's place: the first event of a `seq`
 * counts, later ones are duplicates. Events ahead of a gap wait until it is filled. Events of another run
 * are ignored, and so are payloads that this version does not know. `apply` never throws on an event that
 * `StreamEventSchema` accepts.
 *
 * - `item_start` gives the item its place and shows a placeholder, which `item_delta` fills: the content of a
 *   message, the arguments of a call, the source of a script. A result or an error shows from its `item_done` on.
 * - `item_done` puts the final item in that place, or at the end when the item never started.
 * - `item_error` adds an `error` item behind the item, which keeps its text.
 * - `item_cancelled` marks the item `cancelled: true`. An unfinished item without text, an unfinished function
 *   call and an unfinished script disappear.
 * - A script's status follows its output: completed, failed → error, suspended.
 *
 * Treat what `response()` returns as read-only: it shares its items with the events and with later responses.
 */
export class ResponseReducer {
  #runId: string | undefined;
  #firstEvent: StreamEvent | undefined;
  #nextSeq = 0;
  readonly #fold = new ResponseFold();
  /** Events behind a gap, by seq. */
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

  /** What the events so far make. The same object until something changes, so it is cheap to ask for. */
  response(options: ResponseViewOptions = {}): Response {
    return this.#view(options).response(this.#firstEvent);
  }

  /** Running tool calls and undecided approvals, which are no items. */
  live(options: ResponseViewOptions = {}): LiveActivity {
    return this.#view(options).live();
  }

  /** The seqs before the highest one seen that have not come, ascending; the first 1000 of them. */
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
 * Folds a run's events, in any order and with duplicates, into its Response. Where events are missing for
 * good, the rest is folded without them. No events: a Response with empty ids, `in_progress`.
 */
export function foldResponse(events: Iterable<StreamEvent>, options: ResponseReducerOptions = {}): Response {
  const reducer = new ResponseReducer(options);
  for (const event of events) reducer.apply(event);
  return reducer.response({ includePending: true });
}

/** `foldResponse` of a stream, when it has ended. */
export async function foldResponseAsync(
  events: AsyncIterable<StreamEvent> | Iterable<StreamEvent>,
  options: ResponseReducerOptions = {},
): Promise<Response> {
  const reducer = new ResponseReducer(options);
  for await (const event of events) reducer.apply(event);
  return reducer.response({ includePending: true });
}

/** The fold with every pending event in it. Goes on by itself while events come in order behind the gap. */
interface PendingPreview {
  readonly fold: ResponseFold;
  lastSeq: number;
}
