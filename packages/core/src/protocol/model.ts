import type { EventPayload } from './events.js';
import type { ImagePart, OutputItem } from './items.js';

/**
 * The port to a model. A provider is given a whole conversation and streams one answer; it keeps nothing between two
 * requests. What goes wrong on the way is told in the stream, never thrown.
 */
export interface ModelProvider {
  /** The wire format, as items name it in `api`. */
  readonly api: string;
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  /**
   * One answer: `response_start`, items, `usage_update`, and one `response_done` as the last. A caller that stops
   * reading, or aborts, closes the connection; an abort ends in `response_done` with the status `cancelled`.
   */
  stream(request: ModelRequest, options?: StreamOptions): AsyncIterable<EventPayload>;
}

/** What the wire format has a place for. What it lacks is left out of the request. */
export interface ModelCapabilities {
  /** Stop sequences end an answer. Without them a caller aborts the stream. */
  readonly stopSequences: boolean;
  /** Tools that take raw text. Elsewhere they become function tools with one text argument. */
  readonly customTools: boolean;
}

export interface StreamOptions {
  signal?: AbortSignal;
  /** Names the answer: its items have it as `answer_id`, and their ids begin with it. Default: a new name. */
  answerId?: string;
}

export interface ModelRequest {
  /** The system text. */
  system?: string;
  /** In order of what was said. Answers of other providers are given in what both have in common. */
  conversation: readonly OutputItem[];
  tools?: readonly ModelTool[];
  /** Default: the provider's own. */
  maxOutputTokens?: number;
  temperature?: number;
  reasoningEffort?: ReasoningEffort;
  stopSequences?: readonly string[];
  promptCache?: PromptCache;
  /** Finds the bytes of images that are held as references. Without it only those with `data` are shown. */
  resolveImages?: ResolveImages;
}

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export type ModelTool = FunctionTool | CustomTool;

/** A tool that takes JSON. */
export interface FunctionTool {
  type: 'function';
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  inputSchema: Readonly<Record<string, unknown>>;
}

/** A tool that takes raw text; `argument` is the text's name where the wire format has only function tools. */
export interface CustomTool {
  type: 'custom';
  name: string;
  description: string;
  argument: string;
}

export interface PromptCache {
  /** Marks what stays the same, where the wire format has such marks. Default true. */
  marks?: boolean;
  /** Requests with the same key share a cache, where the wire format has keys: the thread's name, say. */
  key?: string;
}

/** A piece of what a model is given: text, or an image with its `data`. */
export type ModelPart = { type: 'text'; text: string } | (ImagePart & { data: string });

/** In the same order; a line of text stands in place of an image that cannot be shown. Never rejects. */
export type ResolveImages = (images: readonly ImagePart[]) => Promise<ModelPart[]>;
