import type { ProviderApi } from '../answer-writer.js';

/** A request in the form that the judge reads, for every wire format. */
export interface SeenRequest {
  readonly api: ProviderApi;
  readonly model: string;
  /** System text and tools as JSON: the part that stays the same in a thread. */
  readonly frozen: string;
  readonly tools: ReadonlyMap<string, 'function' | 'custom'>;
  readonly stopSequences: readonly string[];
  readonly messages: readonly SeenMessage[];
  /** Whether the request asks for reasoning that can be sent back. */
  readonly sealsReasoning: boolean;
  /** Whether the answer continues after its connection was lost. */
  readonly isBackground?: boolean | undefined;
  /** The whole text, used to count tokens. */
  readonly text: string;
}

export interface SeenMessage {
  /** The message as JSON, without cache marks. */
  readonly json: string;
  readonly by: 'assistant' | 'other';
  /** The output of the model, in order. */
  readonly spoken: readonly SpokenPart[];
  /** The ids of the calls whose results the message holds, in order. */
  readonly results: readonly string[];
}

export type SpokenPart =
  /** `blob`: all data that the next request must contain unchanged. */
  | { readonly type: 'reasoning'; readonly blob: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly arguments: string };

/** A request that breaks the format or the rules of conversation. The message addresses the author of the request. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export function reasoningBlob(...values: unknown[]): string {
  return JSON.stringify(values);
}

/** Normalizes arguments that are an object on the wire. */
export function canonicalJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
