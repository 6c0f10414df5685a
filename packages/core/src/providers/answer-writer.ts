import type { EventPayload, OutputItem, ResponseStatus, Usage } from '../protocol/index.js';
import { codeOfCall } from '../protocol/hosted-code.js';
import { hostedCallId, hostedResultId } from './hosted-pairs.js';
import {
  isJsonObject,
  isMembers,
  wireJson,
  wireName,
  withoutNulls,
  type Members,
  type WireFailure,
} from './wire-values.js';

/** The supported wire formats. */
export const PROVIDER_APIS = ['openai-responses', 'openai-chat', 'anthropic-messages'] as const;
export type ProviderApi = (typeof PROVIDER_APIS)[number];

/** The reason why an answer is incomplete although the provider did not report an error. */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'context_window'
  | 'refusal'
  /** The provider wants a new request that contains the partial answer. */
  | 'paused'
  | 'other';

/** The error of an answer that the provider restarts before its end. */
const RESTARTED = {
  code: 'AnswerRestarted',
  message:
    'The provider restarted the answer midway. The answer ends here because its calls may already have run. Send the request again.',
};

/**
 * The origin of an answer. Its items store what decides whether a later request may contain their native members: all
 * items the service, reasoning also the rest.
 */
export interface AnswerOrigin {
  /** The model that the request named. */
  readonly model?: string | undefined;
  /** The hash of what preceded the answer. */
  readonly prefix?: string | undefined;
  /** Names the service: a hash of its host. */
  readonly service?: string | undefined;
  /** True: the service stores the answer, so that a request may name its items by their ids. */
  readonly stored?: boolean | undefined;
}

type ItemType = 'message' | 'reasoning' | 'function_call' | 'hosted_code' | 'hosted_code_output';

type ItemDone = Extract<EventPayload, { type: 'item_done' }>;

const TEXT_MEMBER = {
  message: 'content',
  reasoning: 'content',
  function_call: 'arguments',
  hosted_code: 'source_code',
  hosted_code_output: 'output',
} as const;

/**
 * The output side of a decoder: the writer turns one answer into event payloads. These rules hold whatever the wire
 * sends: `response_start` is first; the events of an item are in order; each item that starts also ends;
 * `response_done` is emitted once and last.
 *
 *   waiting ──start──▶ answering ──complete | stopEarly | fail | cancel──▶ ended
 *
 * Item ids are generated here as `ANSWER_item_N`. The wire may use an id twice, so the wire's id is stored as
 * `native_id`.
 */
export class AnswerWriter {
  readonly api: ProviderApi;
  readonly #prefix: string;
  readonly #origin: Members;
  readonly #place: Members;
  readonly #open = new Set<ItemWriter>();
  readonly #callIds = new Set<string>();
  /** The names and items of the hosted calls without a result, by the wire's id. */
  readonly #hostedCalls = new Map<string, HostedCall>();
  /** Keys of the finished calls: wire id, name and arguments. */
  readonly #doneCalls = new Set<string>();
  #state: 'waiting' | 'answering' | 'ended' = 'waiting';
  #payloads: EventPayload[] = [];
  #items = 0;
  #lastDone: string | undefined;
  #usage: Usage | undefined;
  #usageJson: string | undefined;

  constructor(api: ProviderApi, prefix: string, origin: AnswerOrigin = {}) {
    this.api = api;
    this.#prefix = prefix;
    const { service, stored, ...ofReasoning } = origin;
    this.#origin = ofReasoning;
    this.#place = withoutNulls({ service, stored });
  }

  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  get isStarted(): boolean {
    return this.#state !== 'waiting';
  }

  /** Returns the payloads written since the last call. */
  take(): EventPayload[] {
    const payloads = this.#payloads;
    this.#payloads = [];
    return payloads;
  }

  /** Starts the answer. Only the first call has an effect. */
  start(members: Members = {}): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'answering';
    this.#write({ ...members, type: 'response_start', api: this.api });
  }

  /** Called when the wire announces an answer. If items already exist, the announcement belongs to a second answer. */
  begin(members: Members = {}): void {
    // defence: answer-restart
    if (this.#items > 0) return this.fail(RESTARTED);
    this.start(members);
  }

  message(): ItemWriter {
    return this.#openItem('message', { role: 'assistant' });
  }

  reasoning(): ItemWriter {
    return this.#openItem('reasoning', this.#origin);
  }

  /** Starts a call. A call without an id, or with an id that this answer already used, gets a new id. */
  call(name: string, callId: string | undefined): ItemWriter {
    const taken = callId === undefined || this.#callIds.has(callId);
    const id = taken ? `${this.#prefix}_call_${this.#items}` : callId;
    this.#callIds.add(id);
    return this.#openItem('function_call', { call_id: id, name }, callId);
  }

  /**
   * Starts an item for output that is neither text nor a call for the harness: a call of a hosted tool, the result of
   * such a call, or sealed reasoning. The item has no text. `native` is stored unchanged, and is sent back at this
   * position.
   */
  opaque(native: Members): ItemWriter {
    return this.#openItem('reasoning', { ...this.#origin, native });
  }

  /** Starts an item for code that the provider runs. `native` is stored and sent back as in `opaque`. */
  hostedCode(callId: string, language: 'python' | 'js', native: Members): ItemWriter {
    return this.#openItem('hosted_code', { call_id: callId, language, native });
  }

  hostedCodeOutput(callId: string, native: Members): ItemWriter {
    return this.#openItem('hosted_code_output', { call_id: callId, success: false, native });
  }

  /** Changes members of the last item that has ended. The wire reports some facts about an answer after its items. */
  addToLastItem(changes: Members): void {
    if (this.#lastDone !== undefined)
      this.#write({ type: 'item_update', item_id: this.#lastDone, changes: { ...changes } });
  }

  /** Reports a failure of a part of the answer to users, as an item of its own. */
  report(code: string, message: string): void {
    this.start();
    const item_id = `${this.#prefix}_item_${this.#items++}`;
    this.#write({ type: 'item_start', item_id, item_type: 'error' });
    this.#write({ type: 'item_error', item_id, code, message });
  }

  usage(usage: Usage | undefined): void {
    const json = usage === undefined ? undefined : wireJson(usage);
    if (usage === undefined || json === this.#usageJson) return;
    this.start();
    this.#usage = usage;
    this.#usageJson = json;
    this.#write({ type: 'usage_update', usage });
  }

  complete(members: Members = {}): void {
    this.#end('completed', members);
  }

  stopEarly(reason: IncompleteReason, members: Members = {}): void {
    this.#end('incomplete', { ...members, incomplete_reason: reason });
  }

  cancel(members: Members = {}): void {
    if (this.isEnded) return;
    this.start();
    this.#giveUpItems('The answer was cancelled.');
    this.#end('cancelled', members);
  }

  /**
   * Ends the answer with an error. Emitted text stays, marked as cancelled; an unfinished call is removed. `details`
   * become members of the error.
   */
  fail(
    { code, message, native }: Omit<WireFailure, 'native'> & { native?: Members | undefined },
    members: Members = {},
    details: Members = {},
  ): void {
    if (this.isEnded) return;
    this.start();
    this.#giveUpItems(message);
    const shown = native === undefined ? details : { ...details, native };
    this.#write({ ...shown, type: 'response_error', code, message });
    this.#end('failed', members);
  }

  #openItem(type: ItemType, members: Members, wireId?: string): ItemWriter {
    this.start();
    const id = `${this.#prefix}_item_${this.#items++}`;
    const initial = { ...members, ...this.#place, api: this.api, answer_id: this.#prefix };
    const item = new ItemWriter(type, id, initial, (payload, open) => {
      const written = payload.type === 'item_done' ? this.#judge(payload, wireId) : payload;
      this.#write(written);
      if (open) return;
      this.#open.delete(item);
      if (written.type === 'item_done') this.#noteDone(written);
      // A cancelled call frees its id for its replacement.
      if (written.type !== 'item_done') this.#callIds.delete(String(members.call_id));
    });
    this.#open.add(item);
    this.#write({ type: 'item_start', item_id: id, item_type: type, initial });
    return item;
  }

  #noteDone({ item_id: itemId, final_item: item }: ItemDone): void {
    this.#lastDone = itemId;
    // Code that has called tools waits for their results.
    if (item.type === 'function_call') this.#hostedCalls.delete(codeOfCall(item) ?? '');
    if (!isMembers(item.native)) return;
    const isCode = item.type === 'hosted_code';
    const call = isCode ? item.call_id : hostedCallId(item.native);
    const name = wireName(item.native.name) ?? String(item.native.type);
    if (call !== undefined) this.#hostedCalls.set(call, { itemId, name, isCode });
    this.#hostedCalls.delete(hostedResultId(item.native) ?? '');
  }

  /**
   * Marks and reports the hosted calls whose results no later answer brings. `mayResume`: the answer was not
   * interrupted. In Messages, the next answer then begins with the results; in Responses, only with those of code.
   */
  #loseHostedCalls(mayResume: boolean): void {
    for (const { itemId, name, isCode } of this.#hostedCalls.values()) {
      if (mayResume && (isCode || this.api === 'anthropic-messages')) continue;
      this.#write({ type: 'item_update', item_id: itemId, changes: { lost: true } });
      const message = `The answer ended before the provider sent the result of its call "${name}". Send the prompt again.`;
      this.report('HostedCallLost', message);
    }
  }

  /** Cancels an item without a type, and a finished call that has no name or that the answer already contains. */
  #judge(done: ItemDone, wireId: string | undefined): EventPayload {
    const { item_id, final_item: call } = done;
    // defence: item-without-type
    if (isMembers(call.native) && wireName(call.native.type) === undefined)
      return { type: 'item_cancelled', item_id, reason: 'The provider sent an item without a type.' };
    if (call.type !== 'function_call') return done;
    // defence: call-without-name
    if (call.name === '')
      return { type: 'item_cancelled', item_id, reason: 'The call names no tool, so the call does not run.' };
    if (wireId === undefined) return done;
    const key = JSON.stringify([wireId, call.name, call.arguments]);
    // defence: call-done-twice
    if (this.#doneCalls.has(key))
      return {
        type: 'item_cancelled',
        item_id,
        reason: 'The provider sent this call twice, so the call runs only once.',
      };
    this.#doneCalls.add(key);
    return done;
  }

  #giveUpItems(reason: string): void {
    for (const item of this.#open) item.cancel(reason);
  }

  #end(status: ResponseStatus, members: Members): void {
    if (this.isEnded) return;
    this.start();
    for (const item of this.#open) item.finishCut();
    this.#loseHostedCalls(status === 'completed' || members.incomplete_reason === 'paused');
    const usage = this.#usage === undefined ? {} : { usage: this.#usage };
    this.#write({ ...members, type: 'response_done', status, ...usage });
    this.#state = 'ended';
  }

  /** Ignores payloads after the end of the answer. */
  #write(payload: EventPayload): void {
    if (!this.isEnded) this.#payloads.push(payload);
  }
}

interface HostedCall {
  readonly itemId: string;
  readonly name: string;
  readonly isCode: boolean;
}

/** One item while it is being written. After its end, every further call does nothing. */
export class ItemWriter {
  readonly type: ItemType;
  readonly id: string;
  /** The canonical members besides the text, as far as they are known. */
  #initial: Members;
  readonly #write: (payload: EventPayload, open: boolean) => void;
  #text = '';
  #isEnded = false;

  constructor(type: ItemType, id: string, initial: Members, write: (payload: EventPayload, open: boolean) => void) {
    this.type = type;
    this.id = id;
    this.#initial = initial;
    this.#write = write;
  }

  get text(): string {
    return this.#text;
  }

  /** Corrects members that were announced earlier. */
  correct(members: Members): void {
    this.#initial = { ...this.#initial, ...members };
  }

  append(delta: string): void {
    if (this.#isEnded || delta === '') return;
    this.#text += delta;
    this.#write({ type: 'item_delta', item_id: this.id, delta }, true);
  }

  /** Ends the item. `members` are added to the item, except those that share a name with a canonical member. */
  finish(members: Members = {}, text: string = this.#text): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const own = { type: this.type, id: this.id, [TEXT_MEMBER[this.type]]: text };
    const item = { ...members, ...this.#initial, ...own };
    this.#write({ type: 'item_done', item_id: this.id, final_item: item as unknown as OutputItem }, false);
  }

  /**
   * Ends an item that may be truncated. A call counts as done only if its arguments are a JSON object. A call of a
   * custom tool never counts as done, because truncation of raw text cannot be detected.
   */
  finishCut(members: Members = {}, text: string = this.#text): void {
    if (this.#isEnded) return;
    // defence: cut-arguments
    const isWhole = members.native_type !== 'custom_tool_call' && isJsonObject(text);
    if (this.type !== 'function_call' || isWhole) return this.finish(members, text);
    this.#isEnded = true;
    const message =
      'The answer stopped before the arguments of this call were complete, so the call does not run. Send the request again.';
    this.#write({ type: 'item_error', item_id: this.id, code: 'ArgumentsIncomplete', message }, false);
  }

  /** Ends the item because another one replaces it: text stays, an unfinished call is cancelled. */
  supersede(): void {
    if (this.type === 'function_call') this.cancel('The provider restarted this call.');
    else this.finish();
  }

  cancel(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#write({ type: 'item_cancelled', item_id: this.id, reason }, false);
  }
}
