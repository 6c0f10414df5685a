import { ResponseReducer } from '../history/index.js';
import { EventEnvelopes } from '../protocol/index.js';
import type { EventPayload, OutputItem, RunIdentity, StreamEvent } from '../protocol/index.js';
import { EventStream, type PayloadSink } from '../answer/index.js';
import { sinceCompaction } from './compaction.js';

/*
 * A conversation is a fold: the items that were there, then the events of a run, by the same reducer that folds a
 * response. So what the model is given is what a reader of the events sees.
 */
class ConversationFold {
  readonly #reducer = new ResponseReducer();
  readonly #envelopes = new EventEnvelopes({ runId: 'conversation', threadId: '', turnId: '' });
  readonly #ids = new Set<string>();

  add(items: readonly OutputItem[]): void {
    for (const item of items) {
      // Names of a host's own making may come twice.
      const id = this.#ids.has(item.id) ? `${item.id}#${this.#ids.size}` : item.id;
      this.#ids.add(id);
      this.apply({ type: 'item_done', item_id: id, final_item: item });
    }
  }

  apply(payload: EventPayload): void {
    if (payload.type === 'response_start') this.add(inputOf(payload));
    this.#reducer.apply(this.#envelopes.next(payload));
  }

  get items(): readonly OutputItem[] {
    return this.#reducer.response().output_items;
  }
}

function inputOf(payload: Extract<EventPayload, { type: 'response_start' }>): readonly OutputItem[] {
  return Array.isArray(payload.input) ? (payload.input as OutputItem[]) : [];
}

/** The conversation behind a run's events: what was asked, what came of it, and what changed of earlier items. */
export function extendHistory(history: readonly OutputItem[], events: Iterable<StreamEvent>): readonly OutputItem[] {
  const fold = new ConversationFold();
  fold.add(history);
  for (const { payload } of events) fold.apply(payload);
  return fold.items;
}

/** The events of a run, and the conversation that they make. */
export class RunLog implements PayloadSink {
  readonly identity: RunIdentity;
  readonly hasListeners = true;
  readonly #stream: EventStream;
  readonly #fold = new ConversationFold();

  constructor(
    identity: RunIdentity & { nextSeq?: number },
    history: readonly OutputItem[],
    listen: (event: StreamEvent) => void,
  ) {
    const { runId, threadId, turnId, nextSeq } = identity;
    this.identity = { runId, threadId, turnId };
    this.#fold.add(history);
    this.#stream = new EventStream(this.identity, [({ payload }) => this.#fold.apply(payload), listen], nextSeq);
  }

  readonly emit = (payload: EventPayload): void => this.#stream.emit(payload);

  get nextSeq(): number {
    return this.#stream.nextSeq;
  }

  get items(): readonly OutputItem[] {
    return this.#fold.items;
  }

  /** What the model reads: everything since the last summary. Of interrupted items, only a message's text is kept. */
  conversation(): OutputItem[] {
    const items = sinceCompaction(this.items).filter((item) => item.cancelled !== true || item.type === 'message');
    // A request does not end with the model's own text: an interrupted answer that nothing follows is asked for anew.
    while (items.at(-1)?.cancelled === true) items.pop();
    return items;
  }
}
