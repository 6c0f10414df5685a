import { SCRIPT_TOOL } from '@toolscript/core/agent';
import type { EventPayload, OutputItem, StreamEvent, Usage } from '@toolscript/core/protocol';
import { extensionItem, outputText, summaryText, wireCall, wireMessage, wireReasoning } from './output-items.js';
import type { ResponseResource, WireEvent, WireItem, WireStatus, WireUsage } from './wire.js';

export interface TranslatorSettings {
  /** The response before its first event. */
  readonly response: ResponseResource;
  /** Names of the client's functions: the client reads their calls. */
  readonly clientFunctions: ReadonlySet<string>;
  /** Whether scripts, their results and the server's own calls are included. */
  readonly showsScripts: boolean;
}

type Payload<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;

type TextKind = 'message' | 'reasoning' | 'function_call';

/** An item of the run whose text streams to the client. */
interface OpenItem {
  readonly kind: TextKind;
  readonly id: string;
  readonly initial: Readonly<Record<string, unknown>>;
  /**
   * The item's index in the output; undefined until the item is announced. An empty message or reasoning is never
   * announced.
   */
  index: number | undefined;
  text: string;
}

type NewEvent = { readonly type: string; readonly [member: string]: unknown };

/** The reason in a response that is incomplete because it waits for a user's decision. */
const APPROVAL_REQUIRED = 'approval_required';

/** The member of `metadata` that lists the approvals, separated by commas. */
const APPROVALS_MEMBER = 'toolscript_approval_ids';

/** Maximum number of characters of a value of `metadata`. */
const MAX_METADATA_VALUE = 512;

const DELTA_EVENTS: Readonly<Record<TextKind, string>> = {
  message: 'response.output_text.delta',
  reasoning: 'response.reasoning_summary_text.delta',
  function_call: 'response.function_call_arguments.delta',
};

const TEXT_DONE_EVENTS = {
  message: 'response.output_text.done',
  reasoning: 'response.reasoning_summary_text.done',
} as const;

const PART_EVENTS = {
  message: { added: 'response.content_part.added', done: 'response.content_part.done' },
  reasoning: { added: 'response.reasoning_summary_part.added', done: 'response.reasoning_summary_part.done' },
} as const;

/** The event for each final status; every other status ends with `response.incomplete`. */
const END_EVENTS: Readonly<Partial<Record<WireStatus, string>>> = {
  completed: 'response.completed',
  failed: 'response.failed',
};

const STATUS_OF: Readonly<Record<string, WireStatus>> = { suspended: 'incomplete' };

/**
 * Translates the events of a run into those of a streamed response, and folds them into the response. Equal events have
 * equal translations with equal sequence numbers, so that a client can continue to read a stream after any event.
 */
export class ResponseTranslator {
  readonly #settings: TranslatorSettings;
  readonly #open = new Map<string, OpenItem>();
  /** Results of suspended scripts. The client sees them when the scripts have ended. */
  readonly #suspendedResults = new Map<string, OutputItem>();
  readonly #places = new Map<string, number>();
  readonly #output: WireItem[] = [];
  #changes: Partial<ResponseResource> = {};
  #sequence = 0;
  #events: WireEvent[] = [];

  constructor(settings: TranslatorSettings) {
    this.#settings = settings;
    this.#emitResponse('response.created');
  }

  get response(): ResponseResource {
    return { ...this.#settings.response, ...this.#changes, output: [...this.#output] };
  }

  /** The translated events since the previous call of `read`. */
  read(): WireEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** The event that ends a stream before the response has ended. */
  interruptionEvent(message: string): WireEvent {
    const error = { type: 'server_error', code: 'interrupted', message, param: null };
    return { type: 'error', sequence_number: this.#sequence, error };
  }

  take({ payload, timestamp }: StreamEvent): void {
    switch (payload.type) {
      case 'response_start':
        return this.#start();
      case 'item_start':
        return this.#startItem(payload);
      case 'item_delta':
        return this.#appendText(payload);
      case 'item_done':
        return this.#finishItem(payload);
      case 'item_cancelled':
      case 'item_error':
        return this.#cancelItem(payload.item_id);
      case 'item_update':
        return this.#updateItem(payload);
      case 'usage_update':
        this.#changes = { ...this.#changes, usage: wireUsage(payload.usage) };
        return;
      case 'response_error':
        this.#changes = { ...this.#changes, error: { code: payload.code, message: payload.message } };
        return;
      case 'response_done':
        return this.#end(payload, timestamp);
      default:
        return;
    }
  }

  /** A resumed run continues the same response. */
  #start(): void {
    const isFirst = this.#sequence === 1;
    this.#changes = {
      ...this.#changes,
      status: 'in_progress',
      incomplete_details: null,
      error: null,
      metadata: this.#settings.response.metadata,
    };
    if (isFirst) this.#emitResponse('response.in_progress');
  }

  #startItem({ item_id: id, item_type: type, initial = {} }: Payload<'item_start'>): void {
    const kind = this.#streamedKind(type, initial);
    if (kind !== undefined) this.#open.set(id, { kind, id, initial, index: undefined, text: '' });
  }

  /**
   * The kind of text that an item streams. Undefined: the client does not see the item, or sees it only when it is
   * complete.
   */
  #streamedKind(type: OutputItem['type'], members: Readonly<Record<string, unknown>>): TextKind | undefined {
    if (type === 'message') return members.role === 'assistant' ? type : undefined;
    if (type === 'reasoning') return type;
    if (type === 'function_call' && this.#settings.clientFunctions.has(String(members.name))) return type;
    return undefined;
  }

  #appendText({ item_id: id, delta }: Payload<'item_delta'>): void {
    const item = this.#open.get(id);
    if (item !== undefined) this.#append(item, delta);
  }

  #append(item: OpenItem, delta: string): void {
    if (delta === '') return;
    this.#announce(item);
    item.text += delta;
    this.#emitItemEvent(item, {
      type: DELTA_EVENTS[item.kind],
      ...textPlace(item.kind),
      delta,
      ...textLogprobs(item.kind),
    });
  }

  #announce(item: OpenItem): void {
    if (item.index !== undefined) return;
    item.index = this.#add(wireItem(item, 'in_progress'));
    if (item.kind !== 'function_call')
      this.#emitItemEvent(item, {
        type: PART_EVENTS[item.kind].added,
        ...textPlace(item.kind),
        part: textPart(item.kind, ''),
      });
  }

  #add(item: WireItem): number {
    const index = this.#output.push(item) - 1;
    this.#places.set(item.id, index);
    this.#emit({ type: 'response.output_item.added', output_index: index, item });
    return index;
  }

  #finishItem({ item_id: id, final_item: final }: Payload<'item_done'>): void {
    const item = this.#open.get(id) ?? this.#unannouncedItem(final);
    if (item === undefined) return this.#showWhole(final);
    this.#open.delete(id);
    const text = itemText(final);
    if (text.startsWith(item.text)) this.#append(item, text.slice(item.text.length));
    item.text = text;
    if (item.kind === 'function_call') this.#announce(item);
    if (item.index !== undefined) this.#close(item, 'completed');
  }

  /**
   * The open item for a final item that had no start event, or whose name was unknown at its start. Returns undefined
   * if the item streams no text to the client.
   */
  #unannouncedItem(final: OutputItem): OpenItem | undefined {
    const kind = this.#streamedKind(final.type, final);
    return kind === undefined ? undefined : { kind, id: final.id, initial: final, index: undefined, text: '' };
  }

  #close(item: OpenItem, status: 'completed' | 'incomplete'): void {
    const { kind, text } = item;
    if (kind === 'function_call')
      this.#emitItemEvent(item, {
        type: 'response.function_call_arguments.done',
        name: item.initial.name,
        arguments: text,
      });
    else {
      this.#emitItemEvent(item, { type: TEXT_DONE_EVENTS[kind], ...textPlace(kind), text, ...textLogprobs(kind) });
      this.#emitItemEvent(item, { type: PART_EVENTS[kind].done, ...textPlace(kind), part: textPart(kind, text) });
    }
    const whole = wireItem(item, status);
    this.#output[item.index!] = whole;
    this.#emit({ type: 'response.output_item.done', output_index: item.index, item: whole });
  }

  /** Cancels an open item. The item keeps the part that the client has read. */
  #cancelItem(id: string): void {
    const item = this.#open.get(id);
    this.#open.delete(id);
    if (item?.index !== undefined) return this.#close(item, 'incomplete');
    const place = this.#places.get(id);
    if (place !== undefined) this.#output[place] = { ...this.#output[place]!, status: 'incomplete' };
  }

  #showWhole(final: OutputItem): void {
    if (!this.#settings.showsScripts) return;
    if (final.type === 'script_execution_output' && final.status === 'suspended')
      return void this.#suspendedResults.set(final.id, final);
    // The client sees the item of the script instead of this call.
    const isScriptCall = final.type === 'function_call' && final.name === SCRIPT_TOOL;
    const item = isScriptCall ? undefined : extensionItem(final);
    if (item === undefined) return;
    const index = this.#add({ ...item, status: 'in_progress' });
    this.#output[index] = item;
    this.#emit({ type: 'response.output_item.done', output_index: index, item });
  }

  #updateItem({ item_id: id, changes }: Payload<'item_update'>): void {
    const before = this.#suspendedResults.get(id);
    if (before === undefined) return;
    this.#suspendedResults.delete(id);
    this.#showWhole({ ...before, ...changes } as OutputItem);
  }

  #end(done: Payload<'response_done'>, timestamp: number): void {
    const { usage, incomplete_reason: reason } = done;
    const status = STATUS_OF[done.status] ?? (done.status as WireStatus);
    const { response } = this.#settings;
    const approvals = { [APPROVALS_MEMBER]: joinedIds(done.approval_ids ?? []) };
    const isSuspended = done.status === 'suspended';
    const why = isSuspended ? APPROVAL_REQUIRED : String(reason ?? 'other');
    this.#changes = {
      ...this.#changes,
      status,
      completed_at: status === 'completed' ? Math.floor(timestamp / 1000) : null,
      incomplete_details: status === 'incomplete' ? { reason: why } : null,
      metadata: isSuspended ? { ...response.metadata, ...approvals } : response.metadata,
      ...(usage === undefined ? {} : { usage: wireUsage(usage) }),
    };
    this.#emitResponse(END_EVENTS[status] ?? 'response.incomplete');
  }

  #emitItemEvent({ id, index }: OpenItem, { type, ...members }: NewEvent): void {
    this.#emit({ type, item_id: id, output_index: index, ...members });
  }

  #emitResponse(type: string): void {
    this.#emit({ type, response: this.response });
  }

  #emit({ type, ...members }: NewEvent): void {
    this.#events.push({ type, sequence_number: this.#sequence++, ...members });
  }
}

function wireItem(item: OpenItem, status: 'in_progress' | 'completed' | 'incomplete'): WireItem {
  const { kind, id, text, initial } = item;
  if (kind === 'message') return wireMessage(id, text, status);
  if (kind === 'reasoning') return wireReasoning(id, text, status);
  return wireCall({ id, call_id: String(initial.call_id), name: String(initial.name) }, text, status);
}

function textPlace(kind: TextKind): Readonly<Record<string, number>> {
  if (kind === 'function_call') return {};
  return kind === 'message' ? { content_index: 0 } : { summary_index: 0 };
}

function textPart(kind: 'message' | 'reasoning', text: string) {
  return kind === 'message' ? outputText(text) : summaryText(text);
}

function textLogprobs(kind: TextKind): { readonly logprobs?: readonly [] | undefined } {
  return kind === 'message' ? { logprobs: [] } : {};
}

function itemText(item: OutputItem): string {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return item.content;
    case 'function_call':
      return item.arguments;
    default:
      return '';
  }
}

function wireUsage(usage: Usage): WireUsage {
  const { input_tokens, output_tokens, total_tokens = input_tokens + output_tokens } = usage;
  return {
    input_tokens,
    output_tokens,
    total_tokens,
    input_tokens_details: { cached_tokens: tokenCount(usage.cache_read_tokens) },
    output_tokens_details: { reasoning_tokens: tokenCount(usage.reasoning_tokens) },
  };
}

/** The first ids that fit into a value of `metadata`. */
function joinedIds(ids: readonly string[]): string {
  return ids.reduce((list, id) => {
    const longer = list === '' ? id : `${list},${id}`;
    return longer.length > MAX_METADATA_VALUE ? list : longer;
  }, '');
}

function tokenCount(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
