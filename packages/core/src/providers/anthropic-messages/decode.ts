import type { AnswerWriter, ItemWriter } from '../answer-writer.js';
import type { WireEvent } from '../body.js';
import type { WireDecoder } from '../decoder.js';
import { hostedCallId } from '../hosted-pairs.js';
import {
  wireArguments,
  wireCount,
  wireFailure,
  isJsonObject,
  isMembers,
  wireList,
  wireMembers,
  wireName,
  wireText,
  without,
  withoutNulls,
  type Members,
} from '../wire-values.js';
import { hostedResult, messagesIncompleteReason, blockKind, messagesUsage, type BlockKind } from './wire.js';

interface Block {
  readonly kind: BlockKind;
  readonly item: ItemWriter;
  /** The block's members besides its text. Deltas add to them. */
  members: Record<string, unknown>;
  readonly citations: unknown[];
  /** The concatenated JSON deltas of an input; undefined until the first one. */
  input: string | undefined;
  stopped: boolean;
}

/**
 * Anthropic Messages → canonical events. Each content block is an item:
 *
 *   (none) ──content_block_start──▶ open ──content_block_stop──▶ stopped
 *
 * The answer is complete when it has a stop reason and every block has stopped. A call whose input is not JSON waits
 * for the stop reason, which says whether the input was truncated.
 */
export class AnthropicMessagesDecoder implements WireDecoder {
  readonly #writer: AnswerWriter;
  readonly #blocks = new Map<number, Block>();
  #usage: Record<string, unknown> = {};
  /** The index of the newest block. */
  #last = -1;
  /** Members of the end of the answer: the stop reason, its details, the stop sequence and the container. */
  #stop: Members = {};

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  mayRepeat({ data }: Extract<WireEvent, { type: 'event' }>): boolean {
    return wireMembers(data).type === 'content_block_delta';
  }

  read({ name, data }: Extract<WireEvent, { type: 'event' }>): void {
    const event = wireMembers(data);
    switch (wireName(event.type) ?? name) {
      case 'message_start':
        return this.#begin(wireMembers(event.message));
      case 'content_block_start':
        return this.#announce(this.#blockIndex(event, 1), wireMembers(event.content_block));
      case 'content_block_delta':
        return this.#readDelta(this.#blocks.get(this.#blockIndex(event, 0)), wireMembers(event.delta));
      case 'content_block_stop':
        return this.#stopBlock(this.#blocks.get(this.#blockIndex(event, 0)));
      case 'message_delta':
        return this.#readStop(event);
      case 'message_stop':
        return this.#end();
      case 'error':
        return this.#writer.fail(wireFailure(event.error ?? event));
      default:
        if (event.type === undefined && isMembers(event.error)) this.#writer.fail(wireFailure(event.error));
    }
  }

  readWhole(data: unknown): void {
    const message = wireMembers(data);
    if (!Array.isArray(message.content)) return this.#writer.fail(wireFailure(message.error ?? data));
    this.#begin(message);
    for (const [index, block] of wireList(message.content).map(wireMembers).entries()) {
      this.#openBlock(index, block);
      this.#stopBlock(this.#blocks.get(index), wireArguments(block.input));
    }
    this.#readStop({ delta: message });
    this.#end();
  }

  readDoneMarker(): void {
    this.readEnd();
  }

  readEnd(): void {
    const isWhole = this.#stop.stop_reason !== undefined && [...this.#blocks.values()].every(({ stopped }) => stopped);
    if (isWhole) this.#end();
  }

  #begin(message: Members): void {
    this.#stop = { ...this.#stop, ...withoutNulls({ container: message.container }) };
    this.#writer.begin(withoutNulls({ response_id: wireName(message.id), model: wireName(message.model) }));
    this.#addUsage(wireMembers(message.usage));
  }

  #addUsage(usage: Members): void {
    this.#usage = { ...this.#usage, ...withoutNulls(usage) };
    this.#writer.usage(messagesUsage(this.#usage));
  }

  /** An event without an index concerns the last block, or starts the next one. */
  #blockIndex(event: Members, step: 0 | 1): number {
    return wireCount(event.index) ?? this.#last + step;
  }

  /**
   * Handles the announcement of a block. A second announcement restarts an open block, but not a call that has stopped.
   */
  #announce(index: number, wire: Members): void {
    const known = this.#blocks.get(index);
    // defence: stopped-call-announced-again
    if (known?.kind === 'tool_use' && known.stopped && known.members.id === wire.id) return;
    // defence: open-call-announced-again
    if (known?.stopped === false) known.item.supersede();
    this.#openBlock(index, wire);
  }

  #openBlock(index: number, wire: Members): void {
    const kind = blockKind(wire);
    const block: Block = {
      kind,
      item: this.#openItem(kind, wire),
      members: { ...wire },
      citations: [...wireList(wire.citations)],
      input: undefined,
      stopped: false,
    };
    this.#blocks.set(index, block);
    this.#last = index;
    if (kind === 'text' || kind === 'thinking') block.item.append(wireText(wire[kind]) ?? '');
  }

  #openItem(kind: BlockKind, wire: Members): ItemWriter {
    switch (kind) {
      case 'text':
        return this.#writer.message();
      case 'thinking':
        return this.#writer.reasoning();
      case 'tool_use':
        return this.#writer.call(wireText(wire.name) ?? '', wireName(wire.id));
      case 'hosted_code':
        return this.#writer.hostedCode(wireName(wire.id) ?? '', 'python', wire);
      case 'hosted_output':
        return this.#writer.hostedCodeOutput(wireName(wire.tool_use_id) ?? '', wire);
      case 'opaque':
        return this.#writer.opaque(wire);
    }
  }

  #readDelta(block: Block | undefined, delta: Members): void {
    if (block === undefined || block.stopped) return;
    switch (delta.type) {
      case 'text_delta':
        return block.item.append(block.kind === 'text' ? (wireText(delta.text) ?? '') : '');
      case 'thinking_delta':
        return block.item.append(block.kind === 'thinking' ? (wireText(delta.thinking) ?? '') : '');
      case 'input_json_delta':
        return this.#readInput(block, wireArguments(delta.partial_json) ?? '');
      case 'citations_delta':
        block.citations.push(delta.citation);
        return;
      case 'signature_delta':
        block.members.signature = delta.signature;
        return;
      default:
        if (!READ_KINDS.includes(block.kind)) addMembers(block.members, without(delta, 'type'));
    }
  }

  #readInput(block: Block, json: string): void {
    block.input = (block.input ?? '') + json;
    if (block.kind === 'tool_use') block.item.append(json);
  }

  /** `input`: the arguments of a call, if the wire sent them complete. */
  #stopBlock(block: Block | undefined, input?: string): void {
    if (block === undefined || block.stopped) return;
    block.stopped = true;
    block.input ??= input;
    switch (block.kind) {
      case 'text':
        return block.item.finish(textMembers(block));
      case 'thinking':
        return block.item.finish(without(block.members, 'type', 'thinking'));
      case 'tool_use':
        if (isJsonObject(blockInputJson(block))) this.#finishCall(block, false);
        return;
      case 'hosted_code':
        return finishCode(block);
      case 'hosted_output':
        block.item.correct({ native: block.members, success: hostedResult(block.members).success });
        return block.item.finish({}, hostedResult(block.members).output);
      case 'opaque':
        return finishOpaque(block);
    }
  }

  #finishCall(block: Block, stoppedEarly: boolean): void {
    const members = { ...without(block.members, 'type', 'id', 'name', 'input'), ...nativeId(block.members) };
    if (stoppedEarly) block.item.finishCut(members, blockInputJson(block));
    else block.item.finish(members, blockInputJson(block));
  }

  #readStop(event: Members): void {
    this.#addUsage(wireMembers(event.usage));
    const { stop_reason, stop_sequence, stop_details, container } = wireMembers(event.delta);
    this.#stop = { ...this.#stop, ...withoutNulls({ stop_reason, stop_sequence, stop_details, container }) };
  }

  #end(): void {
    const reason = messagesIncompleteReason(wireText(this.#stop.stop_reason));
    for (const block of this.#blocks.values()) {
      if (block.kind === 'tool_use') this.#finishCall(block, reason !== undefined);
      else this.#stopBlock(block);
    }
    // The results of calls by hosted code are sent back with the container of this code.
    if (isMembers(this.#stop.container)) this.#writer.addToLastItem({ container: this.#stop.container });
    if (reason === undefined) this.#writer.complete(this.#stop);
    else this.#writer.stopEarly(reason, this.#stop);
  }
}

/** The kinds whose deltas are interpreted. Blocks of other kinds collect the members of their deltas. */
const READ_KINDS: readonly BlockKind[] = ['text', 'thinking', 'tool_use'];

/** Code whose input may be truncated has not run, and cannot be sent back. */
function finishCode(block: Block): void {
  const native = withInput(block);
  const { code } = wireMembers(native.input);
  if (wireText(code) === undefined)
    return block.item.cancel(
      'The answer stopped before this code was complete, so the code did not run. Send the request again.',
    );
  block.item.correct({ native });
  block.item.finish({}, wireText(code));
}

/** A call whose input is truncated has not run, and cannot be sent back. */
function finishOpaque(block: Block): void {
  const native = withInput(block);
  if (hostedCallId(native) !== undefined && !isMembers(native.input))
    return block.item.cancel(
      'The answer stopped before this call was complete, so the call did not run. Send the request again.',
    );
  block.item.correct({ native });
  block.item.finish();
}

function textMembers({ members, citations }: Block): Members {
  const others = without(members, 'type', 'text', 'citations');
  return citations.length === 0 ? others : { ...others, citations };
}

/**
 * The JSON of a call's input: the streamed deltas, or else the input in the block's announcement. An empty object in
 * the announcement is a placeholder. It is the real input only if the block received deltas, all of them empty, and
 * stopped.
 */
function blockInputJson({ input, members, stopped }: Block): string {
  if (input !== undefined && input.trim() !== '') return input;
  const begun = wireArguments(members.input) ?? '{}';
  // defence: placeholder-input
  return begun !== '{}' || (stopped && input !== undefined) ? begun : '';
}

/** The block of a hosted tool with its streamed input. Deltas that do not form a JSON object stay text. */
function withInput(block: Block): Members {
  if (block.input === undefined || block.input === '') return block.members;
  const input: unknown = isJsonObject(block.input) ? JSON.parse(block.input) : block.input;
  return { ...block.members, input };
}

function nativeId({ id }: Members): Members {
  return wireName(id) === undefined ? {} : { native_id: id };
}

/** Adds the members of an unknown delta: text is appended, any other value is replaced. */
function addMembers(members: Record<string, unknown>, added: Members): void {
  for (const [name, value] of Object.entries(added)) {
    const before = wireText(members[name]);
    const both = before !== undefined && typeof value === 'string' ? before + value : value;
    Object.defineProperty(members, name, { value: both, enumerable: true, writable: true, configurable: true });
  }
}
