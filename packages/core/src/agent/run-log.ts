import { ResponseReducer } from '../history/index.js';
import {
  EventEnvelopes,
  type EventPayload,
  type OutputItem,
  type PayloadSink,
  type RunIdentity,
  type StreamEvent,
} from '../protocol/index.js';
import { EventStream } from '../answer/index.js';
import { sinceCompaction } from './compaction.js';

/*
 * The conversation of a run is a fold of the earlier items and the run's events. The same reducer folds a response, so
 * the model and a reader of the events see the same items.
 */
class ConversationFold {
  readonly #reducer = new ResponseReducer();
  readonly #envelopes = new EventEnvelopes({ runId: 'conversation', threadId: '', turnId: '' });
  readonly #ids = new Set<string>();

  add(items: readonly OutputItem[]): void {
    for (const item of items) {
      // Ids that a host generates may repeat.
      const id = this.#ids.has(item.id) ? `${item.id}#${this.#ids.size}` : item.id;
      this.#ids.add(id);
      this.apply({ type: 'item_done', item_id: id, final_item: item });
    }
  }

  apply(payload: EventPayload): void {
    if (payload.type === 'response_start') this.add(responseInput(payload));
    this.#reducer.apply(this.#envelopes.next(payload));
  }

  get items(): readonly OutputItem[] {
    return this.#reducer.response().output_items;
  }
}

function responseInput(payload: Extract<EventPayload, { type: 'response_start' }>): readonly OutputItem[] {
  return Array.isArray(payload.input) ? (payload.input as OutputItem[]) : [];
}

/**
 * The conversation after a run: the history with the run's changes to earlier items, then the run's input and output.
 */
export function extendHistory(history: readonly OutputItem[], events: Iterable<StreamEvent>): readonly OutputItem[] {
  const fold = new ConversationFold();
  fold.add(history);
  for (const { payload } of events) fold.apply(payload);
  return fold.items;
}

export interface RunLogPort extends Pick<PayloadSink, 'flush' | 'takeCall'> {
  /** Whether the log drops an event. */
  readonly withholds?: ((payload: EventPayload) => boolean) | undefined;
  /** Whether an earlier process emitted the request for this approval as an event of the run. */
  readonly requestedBefore?: ((approvalId: string) => boolean) | undefined;
}

/** The events of a run, and the conversation that they fold into. */
export class RunLog implements PayloadSink {
  readonly identity: RunIdentity;
  readonly hasListeners = true;
  readonly flush: PayloadSink['flush'];
  readonly takeCall: PayloadSink['takeCall'];
  readonly #stream: EventStream;
  readonly #fold = new ConversationFold();
  readonly #withholds: RunLogPort['withholds'];
  readonly #running = new Set<string>();
  readonly #requestedApprovals = new Set<string>();
  readonly #requestedBefore: RunLogPort['requestedBefore'];

  constructor(
    identity: RunIdentity & { nextSeq?: number | undefined },
    history: readonly OutputItem[],
    listen: (event: StreamEvent) => void,
    { flush, takeCall, withholds, requestedBefore }: RunLogPort = {},
  ) {
    this.flush = flush;
    this.takeCall = takeCall;
    this.#withholds = withholds;
    this.#requestedBefore = requestedBefore;
    const { nextSeq, ...names } = identity;
    this.identity = names;
    this.#fold.add(history);
    this.#stream = new EventStream(this.identity, [({ payload }) => this.#fold.apply(payload), listen], nextSeq);
  }

  readonly emit = (payload: EventPayload): void => {
    if (payload.type === 'approval_requested') this.#requestedApprovals.add(payload.approval.approval_id);
    if (payload.type === 'tool_call_start') this.#running.add(payload.call_id);
    if (payload.type === 'tool_call_done') this.#running.delete(payload.call_id);
    if (this.#withholds?.(payload) !== true) this.#stream.emit(payload);
  };

  /** Whether the run has emitted the request for this approval. */
  hasRequested(approvalId: string): boolean {
    return this.#requestedApprovals.has(approvalId) || this.#requestedBefore?.(approvalId) === true;
  }

  /** The number of calls that have started and not ended. */
  get runningCalls(): number {
    return this.#running.size;
  }

  get nextSeq(): number {
    return this.#stream.nextSeq;
  }

  get items(): readonly OutputItem[] {
    return this.#fold.items;
  }

  /**
   * The part of the conversation that the model reads: the last summary and everything after it. Interrupted items
   * other than messages are omitted.
   */
  conversation(): OutputItem[] {
    const items = sinceCompaction(this.items).filter((item) => item.cancelled !== true || item.type === 'message');
    // A request must not end with the model's own text: an interrupted answer at the end is requested again.
    while (items.at(-1)?.cancelled === true) items.pop();
    return items;
  }
}
