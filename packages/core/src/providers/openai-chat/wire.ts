import type { Usage } from '../../protocol/index.js';
import type { IncompleteReason } from '../answer-writer.js';
import {
  wireArguments,
  wireCount,
  isMembers,
  wireList,
  wireMembers,
  wireName,
  wireText,
  without,
  withoutNulls,
  type Members,
} from '../wire-values.js';

/**
 * Reads OpenAI Chat Completions and the dialects of compatible servers.
 * Source of the format: https://platform.openai.com/docs/api-reference/chat-streaming
 */

export interface WireChunk {
  readonly responseId: string | undefined;
  readonly model: string | undefined;
  /** The first choice. Others were not requested. */
  readonly choice: WireChoice | undefined;
  readonly usage: Usage | undefined;
  /** Facts about the whole answer. A server may repeat them in each chunk. */
  readonly about: Members;
  /** Undefined if the chunk is not an error. */
  readonly error: unknown;
}

interface WireChoice {
  readonly delta: WireDelta;
  readonly finishReason: string | undefined;
}

export interface WireDelta {
  /** The text, without the reasoning that Mistral sends as parts of `content`. */
  readonly text: string;
  readonly refusal: string;
  /**
   * The reasoning by wire name: `reasoning_content`, `reasoning`, or `content` (Mistral). Empty text is kept, because
   * servers may require it back.
   */
  readonly reasoning: ReadonlyMap<string, string>;
  readonly reasoningDetails: readonly Members[];
  readonly calls: readonly WireCall[];
  /** Lists and objects without a canonical name: citations, tools that the server ran, a provider's blobs. */
  readonly native: Members;
}

export interface WireCall {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
  readonly native: Members;
}

const REASONING_NAMES = ['reasoning_content', 'reasoning'] as const;

/**
 * Members of a chunk that are kept with the message. Sources, read on 2026-11-28: the recorded stream of a moderated
 * answer of OpenAI, and https://docs.perplexity.ai/api-reference/chat-completions-post.
 */
const ABOUT_NAMES = ['citations', 'search_results', 'moderation'] as const;

const KNOWN_DELTA_NAMES = ['role', 'content', 'refusal', 'tool_calls', 'function_call', 'reasoning_details'] as const;

export function readChunk(data: unknown): WireChunk {
  const chunk = wireMembers(data);
  const choices = wireList(chunk.choices).filter(isMembers);
  const choice = choices.find(({ index }) => index === 0 || typeof index !== 'number');
  return {
    responseId: wireName(chunk.id),
    model: wireName(chunk.model),
    choice: choice && { delta: readDelta(wireMembers(choice.delta)), finishReason: wireName(choice.finish_reason) },
    usage: chatUsage(chunk.usage) ?? chatUsage(choice?.usage) ?? chatUsage(wireMembers(chunk.x_groq).usage),
    about: nativeMembers(Object.fromEntries(ABOUT_NAMES.map((name) => [name, chunk[name]]))),
    error: chunkError(chunk),
  };
}

/** Converts the JSON of an answer that was not streamed to the equivalent single chunk. */
export function wholeAsChunk(data: unknown): unknown {
  const answer = wireMembers(data);
  const choices = wireList(answer.choices)
    .filter(isMembers)
    .map((choice) => ({ ...choice, delta: choice.message }));
  return { ...answer, choices };
}

export function isAnswer(data: unknown): boolean {
  return Array.isArray(wireMembers(data).choices);
}

function chunkError(chunk: Members): unknown {
  const error = chunk.error ?? wireMembers(chunk.x_groq).error ?? undefined;
  if (error !== undefined) return error;
  return chunk.object === 'error' ? chunk : undefined;
}

function readDelta(delta: Members): WireDelta {
  const parts = wireList(delta.content).map(wireMembers);
  const reasoning = new Map<string, string>();
  for (const name of REASONING_NAMES) {
    const text = wireText(delta[name]);
    if (text !== undefined) reasoning.set(name, text);
  }
  const thinking = parts.flatMap((part) => (part.type === 'thinking' ? chunkThinking(part.thinking) : []));
  if (thinking.length > 0) reasoning.set('content', thinking.join(''));
  return {
    text: wireText(delta.content) ?? parts.map(({ text }) => wireText(text) ?? '').join(''),
    refusal: wireText(delta.refusal) ?? '',
    reasoning,
    reasoningDetails: wireList(delta.reasoning_details).filter(isMembers),
    calls: readCalls(delta),
    native: nativeMembers(without(delta, ...KNOWN_DELTA_NAMES, ...REASONING_NAMES)),
  };
}

function chunkThinking(value: unknown): string[] {
  const text = wireText(value);
  return text === undefined ? wireList(value).flatMap((part) => wireText(wireMembers(part).text) ?? []) : [text];
}

function readCalls(delta: Members): WireCall[] {
  const calls = wireList(delta.tool_calls).filter(isMembers).map(readCall);
  if (isMembers(delta.function_call)) {
    calls.push(readCall({ function: delta.function_call, native_type: 'function_call' }));
  }
  return calls;
}

function readCall(call: Members): WireCall {
  const named = wireMembers(call.function ?? call.custom);
  return {
    index: wireCount(call.index),
    id: wireName(call.id),
    name: wireName(named.name),
    arguments: wireArguments(named.arguments ?? named.input) ?? '',
    native: withoutNulls(without(call, 'index', 'id', 'type', 'function', 'custom')),
  };
}

/** The lists and objects. The images that a model made are not those of a user's message. */
function nativeMembers(members: Members): Members {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      isMembers(value) || wireList(value).length > 0 ? [[name === 'images' ? 'native_images' : name, value]] : [],
    ),
  );
}

function chatUsage(value: unknown): Usage | undefined {
  const usage = wireMembers(value);
  const input = wireCount(usage.prompt_tokens);
  const output = wireCount(usage.completion_tokens);
  if (input === undefined && output === undefined) return undefined;
  const inputDetails = wireMembers(usage.prompt_tokens_details);
  const outputDetails = wireMembers(usage.completion_tokens_details);
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    total_tokens: wireCount(usage.total_tokens) ?? (input ?? 0) + (output ?? 0),
    ...figure('cache_read_tokens', inputDetails.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens),
    ...figure('cache_write_tokens', inputDetails.cache_write_tokens),
    ...figure('reasoning_tokens', outputDetails.reasoning_tokens, usage.reasoning_tokens),
    native: usage,
  };
}

/** An object with the first value that is a number, under this name; an empty object if there is none. */
function figure(name: string, ...values: unknown[]): Record<string, number> {
  const count = values.map(wireCount).find((value) => value !== undefined);
  return count === undefined ? {} : { [name]: count };
}

export type Stop =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly status: 'failed' };

/** The meaning of a `finish_reason`. An unknown or missing reason counts as a normal end. */
export function finishReasonStop(finishReason: string | undefined): Stop {
  switch (finishReason) {
    case 'length':
    case 'max_tokens':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content_filter':
    case 'sensitive':
    case 'safety':
      return { status: 'incomplete', reason: 'content_filter' };
    case 'model_length':
    case 'model_context_window_exceeded':
      return { status: 'incomplete', reason: 'context_window' };
    case 'error':
    case 'abort':
    case 'network_error':
    case 'insufficient_system_resource':
      return { status: 'failed' };
    default:
      return { status: 'completed' };
  }
}

const TEXT_MEMBERS = ['text', 'summary'] as const;

/**
 * OpenRouter's `reasoning_details`: blocks in the model's order, which OpenRouter requires back unchanged. The text of
 * a block comes in deltas; consecutive deltas of one block share `type` and `index`.
 */
export class ReasoningDetails {
  readonly #blocks: DetailBlock[] = [];

  /** Adds deltas and returns their text. */
  add(pieces: readonly Members[]): string {
    let said = '';
    for (const piece of pieces) {
      said += TEXT_MEMBERS.map((name) => wireText(piece[name]) ?? '').join('');
      const last = this.#blocks.at(-1);
      if (last?.continuesWith(piece) === true) last.add(piece);
      else this.#blocks.push(new DetailBlock(piece));
    }
    return said;
  }

  all(): Members[] {
    return this.#blocks.map((block) => block.members());
  }
}

class DetailBlock {
  #members: Members;
  readonly #texts = new Map<string, string>();

  constructor(first: Members) {
    this.#members = first;
    this.#append(first);
  }

  /** Whether a delta continues this block. Sealed data is never split. */
  continuesWith(piece: Members): boolean {
    const { type, index } = this.#members;
    return type === piece.type && index === piece.index && piece.data === undefined && this.#members.data === undefined;
  }

  add(piece: Members): void {
    const known = Object.entries(piece).filter(([, value]) => value !== null);
    this.#members = { ...this.#members, ...Object.fromEntries(known) };
    this.#append(piece);
  }

  members(): Members {
    return { ...this.#members, ...Object.fromEntries(this.#texts) };
  }

  #append(piece: Members): void {
    for (const name of TEXT_MEMBERS) {
      const text = wireText(piece[name]);
      if (text !== undefined) this.#texts.set(name, (this.#texts.get(name) ?? '') + text);
    }
  }
}
