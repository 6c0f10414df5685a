import type { EventPayload, OutputItem, ResponseStatus, Usage } from '../protocol/index.js';
import { isJsonObject, jsonOf, type Members, type WireFailure } from './wire-values.js';

/** The wire formats that are read. */
export const PROVIDER_APIS = ['openai-responses', 'openai-chat', 'anthropic-messages'] as const;
export type ProviderApi = (typeof PROVIDER_APIS)[number];

/** Why an answer that stopped by itself is not all of what the model had to say. */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'context_window'
  | 'refusal'
  /** The provider asks to be called again with what it said so far. */
  | 'paused'
  | 'other';

type ItemType = 'message' | 'reasoning' | 'function_call';

const TEXT_MEMBER = { message: 'content', reasoning: 'content', function_call: 'arguments' } as const;

/**
 * The canonical side of a decoder: one answer, written down as event payloads. It keeps their laws whatever the
 * wire does: `response_start` is first; an item's events are in order, and each item that starts also ends;
 * `response_done` comes once, as the last.
 *
 *   waiting ──start──▶ answering ──complete | stopEarly | fail | cancel──▶ ended
 *
 * The answer and its items are named by us, `ANSWER_item_N`; the wire's own name, which may come twice, is the item's
 * `native_id`.
 */
export class AnswerWriter {
  readonly api: ProviderApi;
  readonly #prefix: string;
  readonly #open = new Set<ItemWriter>();
  readonly #callIds = new Set<string>();
  #state: 'waiting' | 'answering' | 'ended' = 'waiting';
  #payloads: EventPayload[] = [];
  #items = 0;
  #usage: Usage | undefined;
  #usageJson: string | undefined;

  constructor(api: ProviderApi, prefix: string) {
    this.api = api;
    this.#prefix = prefix;
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  get started(): boolean {
    return this.#state !== 'waiting';
  }

  /** What was written since the last time. */
  take(): EventPayload[] {
    const payloads = this.#payloads;
    this.#payloads = [];
    return payloads;
  }

  /** Only the first one counts. */
  start(members: Members = {}): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'answering';
    this.#payloads.push({ ...members, type: 'response_start', api: this.api });
  }

  message(): ItemWriter {
    return this.#openItem('message', { role: 'assistant' });
  }

  reasoning(): ItemWriter {
    return this.#openItem('reasoning', {});
  }

  /** A call without a name of its own, or with one that this answer used before, is given another. */
  call(name: string, callId: string | undefined): ItemWriter {
    const taken = callId === undefined || this.#callIds.has(callId);
    const id = taken ? `${this.#prefix}_call_${this.#items}` : callId;
    this.#callIds.add(id);
    return this.#openItem('function_call', { call_id: id, name });
  }

  /**
   * What the model or its provider did that is neither text nor a call for us to run: a hosted tool's call, its
   * result, sealed reasoning. It has no text; `native` holds it as it came, to be given back in this place.
   */
  opaque(native: Members): ItemWriter {
    return this.#openItem('reasoning', { native });
  }

  usage(usage: Usage | undefined): void {
    const json = usage === undefined ? undefined : jsonOf(usage);
    if (usage === undefined || json === this.#usageJson) return;
    this.start();
    this.#usage = usage;
    this.#usageJson = json;
    this.#payloads.push({ type: 'usage_update', usage });
  }

  complete(members: Members = {}): void {
    this.#end('completed', members);
  }

  stopEarly(reason: IncompleteReason, members: Members = {}): void {
    this.#end('incomplete', { ...members, incomplete_reason: reason });
  }

  cancel(members: Members = {}): void {
    if (this.ended) return;
    this.start();
    this.#giveUpItems('The answer was cancelled.');
    this.#end('cancelled', members);
  }

  /** What was said stays, marked as cancelled; half a call disappears. `details` are the error's. */
  fail(
    { code, message, native }: Omit<WireFailure, 'native'> & { native?: Members },
    members: Members = {},
    details: Members = {},
  ): void {
    if (this.ended) return;
    this.start();
    this.#giveUpItems(message);
    const shown = native === undefined ? details : { ...details, native };
    this.#payloads.push({ ...shown, type: 'response_error', code, message });
    this.#end('failed', members);
  }

  #openItem(type: ItemType, members: Members): ItemWriter {
    this.start();
    const id = `${this.#prefix}_item_${this.#items++}`;
    const initial = { ...members, api: this.api, answer_id: this.#prefix };
    const item = new ItemWriter(type, id, initial, (payload, open) => {
      this.#payloads.push(payload);
      if (!open) this.#open.delete(item);
    });
    this.#open.add(item);
    this.#payloads.push({ type: 'item_start', item_id: id, item_type: type, initial });
    return item;
  }

  #giveUpItems(reason: string): void {
    for (const item of this.#open) item.cancel(reason);
  }

  #end(status: ResponseStatus, members: Members): void {
    if (this.ended) return;
    this.start();
    for (const item of this.#open) item.finish();
    this.#state = 'ended';
    const usage = this.#usage === undefined ? {} : { usage: this.#usage };
    this.#payloads.push({ ...members, type: 'response_done', status, ...usage });
  }
}

/** One item while it is written. After its end every further call does nothing. */
export class ItemWriter {
  readonly type: ItemType;
  readonly id: string;
  /** The canonical members beside the text, as far as they are known. */
  #initial: Members;
  readonly #write: (payload: EventPayload, open: boolean) => void;
  #text = '';
  #ended = false;

  constructor(type: ItemType, id: string, initial: Members, write: (payload: EventPayload, open: boolean) => void) {
    this.type = type;
    this.id = id;
    this.#initial = initial;
    this.#write = write;
  }

  get text(): string {
    return this.#text;
  }

  /** What was announced, and is known better now. */
  correct(members: Members): void {
    this.#initial = { ...this.#initial, ...members };
  }

  append(delta: string): void {
    if (this.#ended || delta === '') return;
    this.#text += delta;
    this.#write({ type: 'item_delta', item_id: this.id, delta }, true);
  }

  /** The members ride along: one with the name of a canonical member is left out. */
  finish(members: Members = {}, text: string = this.#text): void {
    if (this.#ended) return;
    this.#ended = true;
    const own = { type: this.type, id: this.id, [TEXT_MEMBER[this.type]]: text };
    const item = { ...members, ...this.#initial, ...own };
    this.#write({ type: 'item_done', item_id: this.id, final_item: item as unknown as OutputItem }, false);
  }

  /** A call whose arguments the answer's early end may have cut: never done where they are no JSON object. */
  finishCut(members: Members = {}, text: string = this.#text): void {
    if (this.#ended) return;
    if (this.type !== 'function_call' || isJsonObject(text)) return this.finish(members, text);
    this.#ended = true;
    const message = 'The answer stopped before the arguments of this call were complete.';
    this.#write({ type: 'item_error', item_id: this.id, code: 'ArgumentsIncomplete', message }, false);
  }

  cancel(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#write({ type: 'item_cancelled', item_id: this.id, reason }, false);
  }
}
