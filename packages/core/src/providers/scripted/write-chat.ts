import { emitChunks, type Frame } from './frames.js';
import {
  inDeltas,
  plannedCallJson,
  textOfChunks,
  type PlannedAnswer,
  type PlannedPart,
  type TextChunk,
} from './planned-answer.js';
import { reasoningBlob, type SpokenPart } from './seen-request.js';

/** Writes a planned answer as OpenAI Chat Completions, with reasoning as DeepSeek sends it. */
export function writeChat(answer: PlannedAnswer): Frame[] {
  return new ChatAnswer(answer).frames();
}

/**
 * The part of the answer that the next request must contain: one message, with reasoning only if the answer called
 * tools.
 */
export function chatEcho({ parts }: PlannedAnswer): SpokenPart[] {
  const said = parts.map((part) =>
    part.type === 'text' ? textOfChunks(part.chunks) : part.type === 'refusal' ? part.text : '',
  );
  const calls = parts.flatMap((part): SpokenPart[] =>
    part.type === 'call' ? [{ type: 'call', id: part.callId, name: part.name, arguments: plannedCallJson(part) }] : [],
  );
  const reasons = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []));
  const text = said.join('');
  return [
    ...(reasons.length > 0 && calls.length > 0
      ? [{ type: 'reasoning' as const, blob: reasoningBlob(reasons.join('')) }]
      : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls,
  ];
}

const STOPS = {
  done: 'stop',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
  context_window: 'length',
  refusal: 'stop',
} as const;

type Members = Record<string, unknown>;

class ChatAnswer {
  readonly #answer: PlannedAnswer;
  readonly #frames: Frame[] = [];
  #calls = 0;

  constructor(answer: PlannedAnswer) {
    this.#answer = answer;
  }

  frames(): Frame[] {
    this.#delta({ role: 'assistant', content: '' });
    for (const part of this.#answer.parts) {
      const isMore = this.#part(part);
      if (!isMore) return this.#frames;
    }
    const reason = this.#answer.stop === 'done' && this.#calls > 0 ? 'tool_calls' : STOPS[this.#answer.stop];
    this.#delta({}, reason);
    this.#data({ ...this.#chunk(), choices: [], usage: this.#usage() });
    this.#data('[DONE]');
    return this.#frames;
  }

  #data(data: unknown): void {
    this.#frames.push({ type: 'event', name: undefined, data });
  }

  #chunk(): Members {
    const { id, model } = this.#answer;
    return { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created: 0, model };
  }

  #delta(delta: Members, finish_reason: string | null = null): void {
    this.#data({ ...this.#chunk(), choices: [{ index: 0, delta, finish_reason, logprobs: null }] });
  }

  #usage(): Members {
    const { input_tokens, output_tokens, cache_read_tokens = 0, reasoning_tokens = 0 } = this.#answer.usage;
    return {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens: input_tokens + output_tokens,
      prompt_tokens_details: { cached_tokens: cache_read_tokens },
      completion_tokens_details: { reasoning_tokens },
    };
  }

  /** Writes a part. Returns false if the part ends the answer early. */
  #part(part: PlannedPart): boolean {
    switch (part.type) {
      case 'text':
        this.#say(part.chunks, 'content');
        return true;
      case 'refusal':
        this.#say([part.text], 'refusal');
        return true;
      case 'reasoning':
        if (part.text === '') this.#delta({ reasoning_content: '' });
        this.#say([part.text], 'reasoning_content');
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
        this.#data({ error: { code: part.code, message: part.message, type: 'server_error' } });
        return false;
    }
  }

  #say(chunks: readonly TextChunk[], member: string): void {
    emitChunks(this.#frames, chunks, this.#answer.deltaLength, (delta) => this.#delta({ [member]: delta }));
  }

  #call(call: Extract<PlannedPart, { type: 'call' }>): void {
    const index = this.#calls++;
    const begun = { index, id: call.callId, type: 'function', function: { name: call.name, arguments: '' } };
    this.#delta({ tool_calls: [begun] });
    for (const piece of inDeltas(plannedCallJson(call), this.#answer.deltaLength)) {
      this.#delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
}
