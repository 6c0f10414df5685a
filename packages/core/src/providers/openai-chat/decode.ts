import type { AnswerWriter, ItemWriter } from '../answer-writer.js';
import type { WireEvent } from '../body.js';
import type { WireDecoder } from '../decoder.js';
import { wireFailure, isJsonObject, withoutNulls, type Members, type WireFailure } from '../wire-values.js';
import {
  ReasoningDetails,
  isAnswer,
  readChunk,
  finishReasonStop,
  wholeAsChunk,
  type WireCall,
  type WireChunk,
  type WireDelta,
} from './wire.js';

interface OpenCall {
  readonly index: number | undefined;
  readonly id: string | undefined;
  item: ItemWriter;
  native: Members;
}

/**
 * OpenAI Chat Completions → canonical events. An answer has at most one reasoning item, one message and any number of
 * calls, each opened by its first delta. The format does not mark the end of items, so all items end with the answer:
 *
 *   answering ──finish_reason──▶ stopping ──[DONE] | the body's end──▶ done
 *       │ ──[DONE]──▶ done (some servers send no finish_reason)
 *       └──error | the connection breaks──▶ failed, or cancelled; reasoning that led to an item is done
 */
export class OpenAiChatDecoder implements WireDecoder {
  readonly #writer: AnswerWriter;
  readonly #calls: OpenCall[] = [];
  readonly #reasoningTexts = new Map<string, string>();
  readonly #reasoningDetails = new ReasoningDetails();
  #message: ItemWriter | undefined;
  #reasoning: ItemWriter | undefined;
  /** The wire name of the reasoning that is shown. A server may send the same text under two names. */
  #reasoningName: string | undefined;
  #refusal = '';
  /** Native members of the message: lists are concatenated, any other value is replaced. */
  readonly #native = new Map<string, unknown>();
  #about: Members = {};
  #finishReason: string | undefined;
  #responseId: string | undefined;
  /** The number of consecutive chunks with the current id, among the chunks that must have the id of this answer. */
  #idCount = 0;
  /** The number of chunks that must have the id of this answer, and have any id. */
  #chunks = 0;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  /** Text deltas and arguments of an unfinished call may repeat. */
  mayRepeat({ data }: Extract<WireEvent, { type: 'event' }>): boolean {
    const calls = readChunk(data).choice?.delta.calls ?? [];
    return calls.every((wire) => {
      const text = this.#continuedCall(wire)?.item.text;
      return text !== undefined && !isJsonObject(text);
    });
  }

  read({ name, data }: Extract<WireEvent, { type: 'event' }>): void {
    const chunk = readChunk(data);
    if (chunk.error === undefined && name === 'error') return this.#fail(wireFailure(data));
    if (chunk.choice !== undefined || chunk.usage !== undefined || chunk.responseId !== undefined) {
      this.#writer.start(withoutNulls({ response_id: chunk.responseId, model: chunk.model }));
    }
    this.#writer.usage(chunk.usage);
    this.#about = { ...this.#about, ...chunk.about };
    if (chunk.error !== undefined) return this.#fail(wireFailure(chunk.error));
    if (chunk.choice === undefined) return;
    // defence: chat-answer-of-another-id
    if (this.#needsSameId(chunk.choice) && this.#isOfAnother(chunk.responseId)) return this.#writer.begin();
    const { delta, finishReason } = chunk.choice;
    this.#readDelta(delta);
    // Content after a reason shows that the answer continues.
    if (finishReason !== undefined || saysSomething(delta)) this.#finishReason = finishReason;
  }

  readWhole(data: unknown): void {
    const chunk = wholeAsChunk(data);
    if (!isAnswer(data)) return this.#writer.fail(wireFailure(readChunk(chunk).error ?? data));
    this.read({ type: 'event', name: '', data: chunk });
    this.#end();
  }

  readDoneMarker(): void {
    if (this.#writer.isStarted) this.#end();
  }

  readEnd(): void {
    if (this.#finishReason !== undefined) this.#end();
  }

  readBreak(): void {
    if (this.#message !== undefined || this.#calls.length > 0) this.#finishReasoning();
  }

  /**
   * Whether the chunk must have the id of this answer. Some servers give an empty last chunk another id: such a chunk
   * may end text, but not calls.
   */
  #needsSameId({ delta, finishReason }: NonNullable<WireChunk['choice']>): boolean {
    return saysSomething(delta) || (finishReason !== undefined && this.#calls.length > 0);
  }

  /**
   * Whether the id belongs to another answer: a new id after several chunks with the same id, or after a first chunk
   * that opened a call. Some servers give each chunk its own id; others give the last chunk a different id.
   */
  #isOfAnother(id: string | undefined): boolean {
    if (id === undefined) return false;
    const opened = this.#chunks === 1 && this.#calls.length > 0;
    const isAnother = id !== this.#responseId && this.#responseId !== undefined && (this.#idCount > 1 || opened);
    this.#chunks += 1;
    this.#idCount = id === this.#responseId ? this.#idCount + 1 : 1;
    this.#responseId = id;
    return isAnother;
  }

  #fail(failure: WireFailure): void {
    this.readBreak();
    this.#writer.fail(failure);
  }

  #readDelta(delta: WireDelta): void {
    this.#readReasoning(delta);
    if (delta.text !== '' || delta.refusal !== '') {
      this.#message ??= this.#writer.message();
      this.#message.append(delta.text + delta.refusal);
      this.#refusal += delta.refusal;
    }
    for (const call of delta.calls) this.#readCall(call);
    for (const [name, value] of Object.entries(delta.native)) this.#keep(name, value);
  }

  #readReasoning({ reasoning, reasoningDetails }: WireDelta): void {
    const details = this.#reasoningDetails.add(reasoningDetails);
    const said = reasoning.size > 0 || reasoningDetails.length > 0;
    if (said && (this.#reasoning !== undefined || hasSubstance(reasoning, reasoningDetails))) {
      this.#reasoning ??= this.#writer.reasoning();
    }
    for (const [name, text] of reasoning) {
      if (text !== '') this.#reasoningName ??= name;
      this.#reasoningTexts.set(name, (this.#reasoningTexts.get(name) ?? '') + text);
      if (name === this.#reasoningName) this.#reasoning?.append(text);
    }
    if (details !== '') this.#reasoningName ??= DETAILS;
    if (this.#reasoningName === DETAILS) this.#reasoning?.append(details);
  }

  #readCall(wire: WireCall): void {
    let call = this.#continuedCall(wire);
    if (call === undefined) {
      call = {
        index: wire.index,
        id: wire.id,
        item: this.#writer.call(wire.name ?? '', wire.id),
        native: {},
      };
      this.#calls.push(call);
    }
    // defence: whole-call-again
    if (beginsAgain(call.item.text, wire)) call.item = this.#begunAgain(call.item, wire);
    if (wire.name !== undefined) call.item.correct({ name: wire.name });
    call.native = { ...call.native, ...wire.native };
    call.item.append(wire.arguments);
  }

  #begunAgain(item: ItemWriter, { name, id }: WireCall): ItemWriter {
    item.supersede();
    return this.#writer.call(name ?? '', id);
  }

  /**
   * The call that a delta continues; undefined if the delta starts a call. An index decides, unless the delta has a
   * name and an id that differs from the call's id: some servers number every call 0. Without an index the id decides,
   * then the name.
   */
  #continuedCall({ index, id, name }: WireCall): OpenCall | undefined {
    if (index !== undefined) {
      const call = this.#calls.findLast((open) => open.index === index);
      const isAnother = name !== undefined && id !== undefined && call?.id !== undefined && call.id !== id;
      return isAnother ? undefined : call;
    }
    if (id !== undefined) return this.#calls.find((open) => open.id === id);
    return name === undefined ? this.#calls.at(-1) : undefined;
  }

  #keep(name: string, value: unknown): void {
    const before = this.#native.get(name);
    if (Array.isArray(before) && Array.isArray(value)) for (const member of value as unknown[]) before.push(member);
    else this.#native.set(name, Array.isArray(value) ? [...(value as unknown[])] : value);
  }

  #end(): void {
    const stop = finishReasonStop(this.#finishReason);
    const members = withoutNulls({ stop_reason: this.#finishReason });
    if (stop.status === 'failed') {
      const message = `The provider stopped with the reason "${this.#finishReason}". Change the request, or send it again.`;
      return this.#writer.fail({ code: 'ProviderError', message }, members);
    }
    this.#finishItems(stop.status === 'incomplete');
    if (stop.status === 'incomplete') this.#writer.stopEarly(stop.reason, members);
    else this.#writer.complete(members);
  }

  #finishReasoning(): void {
    const details = this.#reasoningDetails.all();
    this.#reasoning?.finish({
      ...Object.fromEntries(this.#reasoningTexts),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
    });
  }

  #finishItems(stoppedEarly: boolean): void {
    this.#finishReasoning();
    if (this.#native.size > 0) this.#message ??= this.#writer.message();
    this.#message?.finish({
      ...this.#about,
      ...Object.fromEntries(this.#native),
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
    });
    for (const { item, id, native } of this.#calls) {
      const members = { ...native, ...(id === undefined ? {} : { native_id: id }) };
      if (stoppedEarly) item.finishCut(members);
      else item.finish(members);
    }
  }
}

function saysSomething({ text, refusal, calls, reasoning }: WireDelta): boolean {
  return text !== '' || refusal !== '' || calls.length > 0 || [...reasoning.values()].some((said) => said !== '');
}

/**
 * Whether a delta starts a new call: the earlier arguments are complete, and the delta has a name and new arguments.
 */
function beginsAgain(text: string, wire: WireCall): boolean {
  return wire.name !== undefined && wire.arguments.trim() !== '' && text.endsWith('}') && isJsonObject(text);
}

/** The name of the reasoning if its text arrives only in `reasoning_details`. */
const DETAILS = 'reasoning_details';

/**
 * Whether reasoning is more than an empty member that a server sends with every delta. An empty `reasoning_content`
 * counts, because servers that send it require it back.
 */
function hasSubstance(reasoning: ReadonlyMap<string, string>, details: readonly Members[]): boolean {
  if (details.length > 0 || reasoning.has('reasoning_content')) return true;
  return [...reasoning.values()].some((text) => text !== '');
}
