import type { AnswerWriter, ItemWriter } from '../answer-writer.js';
import type { WireEvent } from '../body.js';
import type { WireDecoder } from '../decoder.js';
import {
  wireArguments,
  wireCount,
  wireFailure,
  isMembers,
  wireList,
  wireMembers,
  wireName,
  sameJson,
  wireText,
  withoutNulls,
  type Members,
} from '../wire-values.js';
import { EventOrder } from './event-order.js';
import {
  responsesIncompleteReason,
  isClientResult,
  isUnreadContent,
  wireItemKind,
  kindOfDelta,
  knownItem,
  nativeMembers,
  PARAGRAPH,
  textOfItem,
  responsesUsage,
  type WireItemKind,
} from './wire.js';

interface Slot {
  readonly kind: WireItemKind;
  readonly item: ItemWriter;
  /** The item as announced. */
  readonly announced: Members;
  /** The part of a reasoning item that received the last delta. */
  part: string | undefined;
  done: boolean;
}

/**
 * OpenAI Responses → canonical events. Each output item has a slot, found by its `output_index`, because some servers
 * change the id of an item during the stream:
 *
 *   (none) ──output_item.added | a delta──▶ open ──output_item.done | the final response──▶ done
 *
 * The final response lists all items again. Items that were announced but not finished are finished from that list.
 */
export class OpenAiResponsesDecoder implements WireDecoder {
  readonly #writer: AnswerWriter;
  readonly #slots = new Map<number, Slot>();
  /** The indexes of slots, by wire id. */
  readonly #indexes = new Map<string, number>();
  readonly #order = new EventOrder();
  /** The types of refused content that are reported. */
  readonly #refused = new Set<string>();
  #responseId: string | undefined;
  /** True: the server gives each event another response id. */
  #idsVary = false;
  #last = -1;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  /** Only deltas without a positive sequence number may repeat. */
  mayRepeat({ data }: Extract<WireEvent, { type: 'event' }>): boolean {
    const { type, sequence_number } = wireMembers(data);
    return kindOfDelta(wireName(type) ?? '') !== undefined && !(Number(sequence_number) > 0);
  }

  read({ name, data }: Extract<WireEvent, { type: 'event' }>): void {
    const event = wireMembers(data);
    const type = wireName(event.type) ?? name;
    const place = this.#order.read(event.sequence_number, type === 'response.created');
    if (place === 'earlier') return;
    // defence: numbered-events-are-all-there
    if (place === 'gap') return this.#fail('Events of the answer are missing: its sequence numbers have a gap.');
    switch (type) {
      case 'response.created':
        return this.#begin(wireMembers(event.response));
      case 'response.queued':
      case 'response.in_progress':
        return this.#start(wireMembers(event.response));
      case 'response.output_item.added':
        return this.#announce(this.#itemIndex(event), knownItem(wireMembers(event.item)));
      case 'response.output_item.done':
        return this.#finish(this.#itemIndex(event), knownItem(wireMembers(event.item)));
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#end(wireMembers(event.response), type.slice('response.'.length));
      case 'error':
        return this.#writer.fail(wireFailure(event.error ?? event));
      default:
        if (name === 'error') return this.#writer.fail(wireFailure(event.error ?? event));
        if (type === '' && isMembers(event.error)) return this.#writer.fail(wireFailure(event.error));
        return this.#append(type, event);
    }
  }

  readWhole(data: unknown): void {
    const response = wireMembers(data);
    if (isMembers(response.error) && response.output === undefined) {
      return this.#writer.fail(wireFailure(response.error));
    }
    if (!Array.isArray(response.output)) return this.#writer.fail(wireFailure(response.error ?? data));
    this.#end(response, 'completed');
    if (this.#writer.isEnded || UNFINISHED.includes(response.status)) return;
    this.#finishItems(response);
    this.#writer.stopEarly('other', withoutNulls({ stop_reason: wireName(response.status) }));
  }

  readDoneMarker(): void {
    // Some servers send `[DONE]` after the final response. Before the final response, the marker has no meaning.
  }

  readEnd(): void {
    // An answer without its final response is truncated.
  }

  #begin(response: Members): void {
    this.#writer.begin(responseNames(response));
    this.#responseId = wireName(response.id);
  }

  #start(response: Members): void {
    this.#writer.start(responseNames(response));
    this.#idsVary ||= this.#differs(response);
    this.#responseId ??= wireName(response.id);
  }

  #fail(message: string): void {
    this.#writer.fail({ code: 'AnswerMalformed', message: `${message} Send the request again.` });
  }

  /** Handles the announcement of an item. A second announcement restarts an open item, but not a finished item. */
  #announce(index: number, item: Members): void {
    const known = this.#slots.get(index);
    const id = wireName(item.id);
    const isNamed = id === undefined || this.#indexes.get(id) === index;
    const isKnown = known?.kind === wireItemKind(item) && isNamed && !isOtherCall(known, item);
    // defence: done-item-announced-again
    if (isKnown && known.done) return;
    // defence: open-item-announced-again
    known?.item.supersede();
    this.#addSlot(index, item);
  }

  #append(type: string, event: Members): void {
    const kind = kindOfDelta(type);
    const delta = kind === 'function_call' ? wireArguments(event.delta) : wireText(event.delta);
    if (isUnreadContent(type)) return this.#refuseContent(type);
    if (kind === undefined || delta === undefined) return;
    const index = this.#itemIndex(event);
    const slot = this.#slots.get(index) ?? this.#addSlot(index, { type: kind, id: event.item_id });
    if (slot.kind !== kind) return;
    if (kind === 'reasoning') this.#separate(slot, `${type} ${String(event.summary_index ?? event.content_index)}`);
    slot.item.append(delta);
  }

  /** Reports once that the answer has content of a type that Toolscript does not read, such as audio. */
  #refuseContent(type: string): void {
    if (this.#refused.has(type)) return;
    this.#refused.add(type);
    const message = `The answer has content of the type "${type}", which Toolscript does not read. Do not ask the model for it.`;
    this.#writer.report('UnsupportedContent', message);
  }

  /** Inserts a blank line between the parts of reasoning, as the finished text has it. */
  #separate(slot: Slot, part: string): void {
    if (slot.part !== undefined && slot.part !== part) slot.item.append(PARAGRAPH);
    slot.part = part;
  }

  /**
   * The index of the event's item. If a server omits the index, the id decides. Without a known id, an announcement
   * starts the next item, and any other event belongs to the last item.
   */
  #itemIndex(event: Members): number {
    const index = wireCount(event.output_index);
    if (index !== undefined) return index;
    const announced = this.#indexes.get(wireName(event.item_id) ?? wireName(wireMembers(event.item).id) ?? '');
    if (announced !== undefined) return announced;
    return event.type === 'response.output_item.added' || this.#last === -1 ? this.#last + 1 : this.#last;
  }

  #addSlot(index: number, announced: Members): Slot {
    const kind = wireItemKind(announced);
    const slot: Slot = {
      kind,
      item: this.#openItem(kind, announced),
      announced,
      part: undefined,
      done: false,
    };
    this.#slots.set(index, slot);
    this.#last = Math.max(this.#last, index);
    const nativeId = wireName(announced.id);
    if (nativeId !== undefined) this.#indexes.set(nativeId, index);
    return slot;
  }

  #openItem(kind: WireItemKind, item: Members): ItemWriter {
    switch (kind) {
      case 'message':
        return this.#writer.message();
      case 'reasoning':
        return this.#writer.reasoning();
      case 'function_call':
        return this.#writer.call(wireText(item.name) ?? '', wireName(item.call_id) ?? wireName(item.id));
      case 'hosted_code':
        return this.#writer.hostedCode(wireName(item.call_id) ?? '', 'js', item);
      case 'hosted_output':
        return this.#writer.hostedCodeOutput(wireName(item.call_id) ?? '', item);
      case 'opaque':
        return this.#writer.opaque(item);
    }
  }

  #finish(index: number, item: Members): void {
    const known = this.#slots.get(index);
    if (known?.done === true && !isOtherCall(known, item)) return;
    const fits = known?.done === false && known.kind === wireItemKind(item);
    // defence: end-of-another-call
    if (fits && isOfAnotherCall(known, item))
      return this.#fail('The answer mixes two calls: one call ends with the name, id or arguments of the other.');
    const slot = fits ? known : this.#addSlot(index, item);
    slot.done = true;
    slot.item.correct(itemCorrections(slot, item));
    if (slot.kind === 'opaque') {
      slot.item.finish();
      if (isClientResult(item)) this.#writer.report('UnsupportedResult', unsupportedResult(item.type));
      return;
    }
    if (isHosted(slot)) return slot.item.finish({}, textOfItem(item) ?? '');
    const text = textOfItem(item) || slot.item.text;
    const members = nativeMembers(item);
    if (item.status === 'incomplete') slot.item.finishCut(members, text);
    else slot.item.finish(members, text);
    if (item.foreign_type !== undefined) this.#writer.report('UnsupportedCall', unsupportedCall(item.foreign_type));
  }

  #differs({ id }: Members): boolean {
    return wireName(id) !== undefined && this.#responseId !== undefined && wireName(id) !== this.#responseId;
  }

  #end(response: Members, status: string): void {
    const isOfOther = this.#differs(response) && !(this.#idsVary && this.#order.isProven);
    this.#start(response);
    // defence: end-of-another-answer
    if (isOfOther) return this.#fail('The answer ends with the final response of another answer.');
    this.#writer.usage(responsesUsage(response.usage));
    switch (wireName(response.status) ?? status) {
      case 'completed':
        this.#finishItems(response);
        return this.#isPaused() ? this.#writer.stopEarly('paused') : this.#writer.complete(inputChanges(response));
      case 'incomplete':
        this.#finishItems(response);
        return this.#writer.stopEarly(
          responsesIncompleteReason(response.incomplete_details),
          withoutNulls({ stop_reason: wireMembers(response.incomplete_details).reason }),
        );
      case 'failed':
        return this.#writer.fail(
          wireFailure(
            response.error ?? 'The provider reported a failed answer without a reason. Send the request again.',
          ),
        );
      case 'cancelled':
        return this.#writer.cancel();
      default:
        // The response is queued or in progress. It contains no more items.
        return;
    }
  }

  /**
   * Whether the model has not answered yet: its code has ended, or still runs, and a new request continues the answer.
   */
  #isPaused(): boolean {
    const slots = [...this.#slots.values()];
    return slots.some(isHosted) && !slots.some(({ kind }) => kind === 'message' || kind === 'function_call');
  }

  #finishItems(response: Members): void {
    const nothingIsDone = [...this.#slots.values()].every(({ done }) => !done);
    for (const [index, item] of wireList(response.output)
      .map((item) => knownItem(wireMembers(item)))
      .entries()) {
      const announced = this.#indexes.get(wireName(item.id) ?? '');
      if (announced !== undefined || nothingIsDone) this.#finish(announced ?? index, item);
    }
    for (const slot of this.#slots.values()) {
      if (isHosted(slot) || slot.kind === 'opaque') {
        slot.item.cancel('The answer stopped before this item was complete.');
        continue;
      }
      // defence: plain-text-call-not-done
      slot.item.finishCut(nativeMembers(slot.announced));
    }
  }
}

/**
 * Whether the item is another call than the one at its index: some servers give every item the index 0. An item with
 * the same id is the same item, even if its call id has been damaged.
 */
function isOtherCall({ announced }: Slot, item: Members): boolean {
  if (wireName(item.id) !== undefined && item.id === announced.id) return false;
  const [known, id] = [wireName(announced.call_id), wireName(item.call_id)];
  return known !== undefined && id !== undefined && known !== id;
}

function unsupportedCall(type: unknown): string {
  return `The model made a call of the type "${String(type)}", which its client must execute and Toolscript does not know, so nothing ran. Do not offer this tool to the model.`;
}

function unsupportedResult(type: unknown): string {
  return `The answer contains an item of the type "${String(type)}": the result of a call that only its client makes. The item is not sent back.`;
}

/** The statuses of a response that contains no more items yet. */
const UNFINISHED: readonly unknown[] = ['queued', 'in_progress'];

function isHosted({ kind }: Slot): boolean {
  return kind === 'hosted_code' || kind === 'hosted_output';
}

/** Members that the end of an item adds to its announcement. */
function itemCorrections(slot: Slot, item: Members): Members {
  switch (slot.kind) {
    case 'opaque':
      return { native: item };
    case 'hosted_code':
    case 'hosted_output':
      return {
        native: item,
        ...withoutNulls({ call_id: wireName(item.call_id) }),
        ...(slot.kind === 'hosted_output' ? { success: item.status === 'completed' } : {}),
      };
    default:
      return lateNames(slot, item);
  }
}

/** The parts of the request that the service left out, such as the reasoning of another model. */
function inputChanges({ input_transformations }: Members): Members {
  return wireList(input_transformations).length === 0 ? {} : { input_transformations };
}

function responseNames(response: Members): Members {
  return withoutNulls({ response_id: wireName(response.id), model: wireName(response.model) });
}

/**
 * Whether an announced call ends as a different call. The server may format the arguments differently, but must not
 * change their values.
 */
function isOfAnotherCall({ kind, announced, item: { text } }: Slot, item: Members): boolean {
  if (kind !== 'function_call') return false;
  const differs = (name: string): boolean =>
    wireName(announced[name]) !== undefined && wireName(item[name]) !== undefined && announced[name] !== item[name];
  const final = textOfItem(item) ?? '';
  const isRewritten = text === final || final === '' || text === '' || sameJson(text, final);
  return differs('call_id') || differs('name') || !isRewritten;
}

/** The final name and id of a call whose deltas arrived without an announcement. */
function lateNames({ kind, announced }: Slot, item: Members): Members {
  if (kind !== 'function_call' || announced.name !== undefined) return {};
  return withoutNulls({ name: wireText(item.name), call_id: wireName(item.call_id) });
}
