import { ResponseReducer } from '../history/index.js';
import { EventEnvelopes } from '../protocol/index.js';
import type { EventPayload, OutputItem, RunIdentity, StreamEvent } from '../protocol/index.js';
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

/** What a run tells, and the conversation that it makes. */
export class RunLog {
  readonly identity: RunIdentity;
  readonly #envelopes: EventEnvelopes;
  readonly #fold = new ConversationFold();
  readonly #plan = new OnePlan();
  readonly #listen: (event: StreamEvent) => void;

  constructor(
    identity: RunIdentity & { nextSeq?: number },
    history: readonly OutputItem[],
    listen: (event: StreamEvent) => void,
  ) {
    const { runId, threadId, turnId, nextSeq } = identity;
    this.identity = { runId, threadId, turnId };
    this.#envelopes = new EventEnvelopes(this.identity, nextSeq);
    this.#fold.add(history);
    this.#listen = listen;
  }

  emit(payload: EventPayload): void {
    this.#fold.apply(payload);
    this.#listen(this.#envelopes.next(payload));
  }

  /** What a script or a call tells of itself. Each has a plan item of its own; a run has one, which later ones change. */
  forward(payload: EventPayload): void {
    const told = this.#plan.take(payload);
    if (told !== undefined) this.emit(told);
  }

  /** A finished item, at once. */
  put(item: OutputItem): void {
    this.emit({ type: 'item_start', item_id: item.id, item_type: item.type });
    this.emit({ type: 'item_done', item_id: item.id, final_item: item });
  }

  get items(): readonly OutputItem[] {
    return this.#fold.items;
  }

  /** What a model is given: since the last summary, without what was cut off before it was whole. */
  conversation(): OutputItem[] {
    return sinceCompaction(this.items).filter((item) => !(isSpoken(item) && item.cancelled === true));
  }
}

/** Makes later plan items changes of the first. */
class OnePlan {
  #id: string | undefined;
  readonly #later = new Set<string>();

  /** Undefined for what needs not be told. */
  take(payload: EventPayload): EventPayload | undefined {
    if (payload.type === 'item_start' && payload.item_type === 'plan') return this.#start(payload);
    if (!isOfItem(payload) || !this.#later.has(payload.item_id)) return payload;
    if (payload.type !== 'item_done') return { ...payload, item_id: this.#id! };
    const { type: _type, id: _id, ...changes } = payload.final_item;
    return { type: 'item_update', item_id: this.#id!, changes };
  }

  #start(payload: Extract<EventPayload, { type: 'item_start' }>): EventPayload | undefined {
    if (this.#id !== undefined) {
      this.#later.add(payload.item_id);
      return undefined;
    }
    this.#id = payload.item_id;
    return payload;
  }
}

type ItemPayload = Extract<EventPayload, { item_id: string }>;

function isOfItem(payload: EventPayload): payload is ItemPayload {
  return payload.type.startsWith('item_');
}

function isSpoken({ type }: OutputItem): boolean {
  return type === 'message' || type === 'reasoning' || type === 'function_call';
}
