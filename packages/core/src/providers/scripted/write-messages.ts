import { event, emitChunks, type Frame } from './frames.js';
import {
  inDeltas,
  plannedCallJson,
  textOfChunks,
  type PlannedAnswer,
  type PlannedPart,
  type TextChunk,
} from './planned-answer.js';
import { reasoningBlob, canonicalJson, type SpokenPart } from './seen-request.js';

/** Writes a planned answer as Anthropic Messages. */
export function writeMessages(answer: PlannedAnswer): Frame[] {
  return new MessagesAnswer(answer).frames();
}

/** The parts of the answer that the next request must contain. */
export function messagesEcho({ parts }: PlannedAnswer): SpokenPart[] {
  return parts.flatMap((part): SpokenPart[] => {
    switch (part.type) {
      case 'reasoning':
        return [
          {
            type: 'reasoning',
            blob: part.text === '' ? reasoningBlob(part.seal) : reasoningBlob(part.text, part.seal),
          },
        ];
      case 'text':
        return [{ type: 'text', text: textOfChunks(part.chunks) }];
      case 'refusal':
        return [{ type: 'text', text: part.text }];
      case 'call':
        return [
          {
            type: 'call',
            id: part.callId,
            name: part.name,
            arguments: canonicalJson(objectText(plannedCallJson(part))),
          },
        ];
      default:
        return [];
    }
  });
}

/**
 * The JSON text of an object. The format accepts only objects as input, so a client wraps any other value in an object.
 */
function objectText(json: string): string {
  try {
    const value: unknown = json.trim() === '' ? {} : JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return JSON.stringify(value);
  } catch {
    // The code below wraps the text.
  }
  return JSON.stringify({ invalid_arguments: json });
}

const STOPS = {
  max_output_tokens: 'max_tokens',
  content_filter: 'refusal',
  context_window: 'model_context_window_exceeded',
  refusal: 'refusal',
} as const;

type Members = Record<string, unknown>;

class MessagesAnswer {
  readonly #answer: PlannedAnswer;
  readonly #frames: Frame[] = [];
  #blocks = 0;
  #callsTools = false;

  constructor(answer: PlannedAnswer) {
    this.#answer = answer;
  }

  frames(): Frame[] {
    this.#event('message_start', { message: this.#messageStart() });
    this.#event('ping', {});
    for (const part of this.#answer.parts) {
      const isMore = this.#part(part);
      if (!isMore) return this.#frames;
    }
    const { stopSequence, usage } = this.#answer;
    this.#event('message_delta', {
      delta: { stop_reason: this.#stopReason(), stop_sequence: stopSequence ?? null },
      usage: { output_tokens: usage.output_tokens },
    });
    this.#event('message_stop', {});
    return this.#frames;
  }

  #event(type: string, members: Members): void {
    this.#frames.push(event({ type, ...members }));
  }

  #messageStart(): Members {
    const { id, model, usage } = this.#answer;
    return {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: usage.input_tokens,
        output_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: usage.cache_read_tokens ?? 0,
      },
    };
  }

  #stopReason(): string {
    const { stop, stopSequence } = this.#answer;
    if (stopSequence !== undefined) return 'stop_sequence';
    if (stop !== 'done') return STOPS[stop];
    return this.#callsTools ? 'tool_use' : 'end_turn';
  }

  /** Writes a part. Returns false if the part ends the answer early. */
  #part(part: PlannedPart): boolean {
    switch (part.type) {
      case 'text':
        this.#text(part.chunks);
        return true;
      case 'refusal':
        this.#text([part.text]);
        return true;
      case 'reasoning':
        this.#reasoning(part);
        return true;
      case 'call':
        this.#call(part);
        return true;
      case 'wait':
        this.#frames.push({ type: 'wait', ms: part.ms });
        return true;
      case 'cut':
        this.#frames.push({ type: 'cut' });
        return false;
      case 'error':
        this.#event('error', { error: { type: part.code, message: part.message } });
        return false;
    }
  }

  #block(begun: Members, deltas: (add: (delta: Members) => void) => void): void {
    const index = this.#blocks++;
    this.#event('content_block_start', { index, content_block: begun });
    deltas((delta) => this.#event('content_block_delta', { index, delta }));
    this.#event('content_block_stop', { index });
  }

  #text(chunks: readonly TextChunk[]): void {
    this.#block({ type: 'text', text: '' }, (add) => {
      emitChunks(this.#frames, chunks, this.#answer.deltaLength, (text) => add({ type: 'text_delta', text }));
    });
  }

  #reasoning({ text, seal }: Extract<PlannedPart, { type: 'reasoning' }>): void {
    if (text === '') return this.#block({ type: 'redacted_thinking', data: seal }, () => {});
    this.#block({ type: 'thinking', thinking: '', signature: '' }, (add) => {
      for (const thinking of inDeltas(text, this.#answer.deltaLength)) add({ type: 'thinking_delta', thinking });
      add({ type: 'signature_delta', signature: seal });
    });
  }

  #call(call: Extract<PlannedPart, { type: 'call' }>): void {
    this.#callsTools = true;
    this.#block({ type: 'tool_use', id: call.callId, name: call.name, input: {} }, (add) => {
      add({ type: 'input_json_delta', partial_json: '' });
      for (const partial_json of inDeltas(plannedCallJson(call), this.#answer.deltaLength)) {
        add({ type: 'input_json_delta', partial_json });
      }
    });
  }
}
