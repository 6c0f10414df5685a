import type { ProviderApi } from '../answer-writer.js';

/** A request as the judge sees it, whatever its wire format. */
export interface SeenRequest {
  readonly api: ProviderApi;
  readonly model: string;
  /** System text and tools as JSON: what stays the same in a thread. */
  readonly frozen: string;
  readonly tools: ReadonlyMap<string, 'function' | 'custom'>;
  readonly stopSequences: readonly string[];
  readonly messages: readonly SeenMessage[];
  /** Asks for reasoning in a form that can be given back. */
  readonly sealsReasoning: boolean;
  /** All of it, for the count of tokens. */
  readonly text: string;
}

export interface SeenMessage {
  /** As JSON, without cache marks. */
  readonly json: string;
  readonly by: 'assistant' | 'other';
  /** What an answer said, in order. */
  readonly spoken: readonly Spoken[];
  /** The calls that it holds results of, in order. */
  readonly results: readonly string[];
}

export type Spoken =
  /** `blob`: everything that must come back as it was sent. */
  | { readonly type: 'reasoning'; readonly blob: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly arguments: string };

/** A request that breaks the format or the rules of conversation. The message is a sentence for who wrote it. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export function blobOf(...values: unknown[]): string {
  return JSON.stringify(values);
}

/** Of arguments that are an object on the wire. */
export function canonicalJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
