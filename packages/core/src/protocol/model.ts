import type { EventPayload } from './events.js';
import type { FilePart, ImagePart, OutputItem } from './items.js';
import type { REASONING_EFFORTS } from './reasoning-efforts.js';
import type { ToolCallers } from './tools.js';

/**
 * The port to a model. A provider receives a whole conversation and streams one answer. It stores nothing between two
 * requests. Failures are emitted in the stream, never thrown.
 *
 * @example
 *
 * ```ts
 * const echo: ModelProvider = {
 *   api: 'echo',
 *   model: 'echo-1',
 *   capabilities: { stopSequences: false, customTools: false },
 *   async *stream({ conversation }) {
 *     yield { type: 'response_start', response_id: 'answer', model: 'echo-1' };
 *     yield { type: 'response_done', status: conversation.length > 0 ? 'completed' : 'incomplete' };
 *   },
 * };
 * ```
 */
export interface ModelProvider {
  /** The name of the wire format; items store it as `api`. */
  readonly api: string;
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  /**
   * Streams one answer: `response_start`, items, `usage_update`, and one `response_done` at the end. A `request_retry`
   * precedes them for each failed attempt that is repeated, and a `background_answer` if a later process can read the
   * answer. When the caller stops reading or aborts, the connection is
   * closed. After an abort, the stream ends with a `response_done` of the status `cancelled`.
   */
  stream(request: ModelRequest, options?: StreamOptions): AsyncIterable<EventPayload>;
}

/** Features of the wire format. Unsupported members are omitted from the request. */
export interface ModelCapabilities {
  /** Whether stop sequences can end an answer. If not, the caller aborts the stream. */
  readonly stopSequences: boolean;
  /** Whether tools can take raw text. If not, custom tools become function tools with one text argument. */
  readonly customTools: boolean;
  /** Whether the provider can run code that calls tools. See `FunctionTool.callers`. Default false. */
  readonly hostedCode?: boolean | undefined;
}

/** Options of `ModelProvider.stream`. */
export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** The id of the answer. Items carry this id as `answer_id`, and their own ids start with it. Default: a new id. */
  answerId?: string | undefined;
  /** Headers to send with the request, such as a trace context. They replace none of the provider's own headers. */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Reads this answer from its beginning instead of sending the request: an earlier process got its `background_answer`.
   * With the same `answerId`, the items have the same ids as in that process. If the answer cannot be read, the stream
   * ends with the `response_error` `BackgroundAnswerLost`.
   */
  continues?: { readonly responseId: string; readonly model: string } | undefined;
}

/** One request to a model: the whole conversation, and how to answer it. */
export interface ModelRequest {
  /** The system text. */
  system?: string | undefined;
  /** The conversation in chronological order. Items of other wire formats are reduced to the common members. */
  conversation: readonly OutputItem[];
  tools?: readonly ModelTool[] | undefined;
  /** The tool that the answer must call. Default: the model decides. */
  toolChoice?: ToolChoice | undefined;
  /** False if the answer may contain at most one call. Default: the provider's default. */
  parallelToolCalls?: boolean | undefined;
  /** The maximum length of the answer in tokens. Default: the provider's default. */
  maxOutputTokens?: number | undefined;
  temperature?: number | undefined;
  reasoningEffort?: ReasoningEffort | undefined;
  stopSequences?: readonly string[] | undefined;
  /**
   * The JSON Schema of the answer's text. Omitted for a model that cannot enforce it: then the conversation must ask for
   * it. Default: any text.
   */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
  promptCache?: PromptCache | undefined;
  /** Finds the bytes of image references. Without this function, only images with `data` are shown. */
  resolveImages?: ResolveImages | undefined;
}

/** How much a model reasons before it answers. A provider sends the nearest value that its model knows. */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** A tool that the model may call. */
export type ModelTool = FunctionTool | CustomTool;

/**
 * `required`: the answer must call at least one of the tools. With a name: the answer must call the tool of this name.
 */
export type ToolChoice = 'required' | { readonly name: string };

/** A tool that takes JSON. */
export interface FunctionTool {
  type: 'function';
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  inputSchema: Readonly<Record<string, unknown>>;
  /** The JSON Schema of the result, for code that reads it. */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
  /** `code` and `both` let the provider's code call the tool, if the provider can run code. Default `direct`. */
  callers?: ToolCallers | undefined;
}

/** A tool that takes raw text. `argument` names the text if the wire format has only function tools. */
export interface CustomTool {
  type: 'custom';
  name: string;
  description: string;
  argument: string;
  /** The grammar that the text follows, in Lark's syntax or as a regular expression, if the wire format has grammars. */
  grammar?: { syntax: 'lark' | 'regex'; definition: string } | undefined;
}

/** How a provider may cache the beginning of a conversation. */
export interface PromptCache {
  /** Marks the unchanged prefix, if the wire format has cache marks. Default true. */
  marks?: boolean | undefined;
  /** Requests with the same key, such as those with the same beginning, share a cache if the wire format has keys. */
  key?: string | undefined;
}

/** A part of a model's input: text, or an image or a file with its `data`. */
export type ModelPart = { type: 'text'; text: string } | (ImagePart & { data: string }) | FilePart;

/** Returns parts in the same order; a line of text replaces an image that cannot be shown. Never rejects. */
export type ResolveImages = (images: readonly ImagePart[]) => Promise<ModelPart[]>;
