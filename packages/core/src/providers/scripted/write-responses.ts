import { event, emitChunks, type Frame } from './frames.js';
import { textOfChunks, type PlannedAnswer, type PlannedPart, type TextChunk } from './planned-answer.js';
import { reasoningBlob, type SpokenPart } from './seen-request.js';

/** Writes a planned answer as OpenAI Responses. */
export function writeResponses(answer: PlannedAnswer): Frame[] {
  return new ResponsesAnswer(answer).frames();
}

/** The parts of the answer that the next request must contain. */
export function responsesEcho({ parts, sealsReasoning }: PlannedAnswer): SpokenPart[] {
  return parts.flatMap((part): SpokenPart[] => {
    switch (part.type) {
      case 'reasoning':
        return sealsReasoning
          ? [{ type: 'reasoning', blob: reasoningBlob(part.seal, reasoningSummary(part.text)) }]
          : [];
      case 'text':
        return [{ type: 'text', text: textOfChunks(part.chunks) }];
      case 'refusal':
        return [{ type: 'text', text: part.text }];
      case 'call':
        return [{ type: 'call', id: part.callId, name: part.name, arguments: part.arguments }];
      default:
        return [];
    }
  });
}

type Members = Record<string, unknown>;

class ResponsesAnswer {
  readonly #answer: PlannedAnswer;
  readonly #frames: Frame[] = [];
  readonly #output: Members[] = [];
  #sequence = 0;

  constructor(answer: PlannedAnswer) {
    this.#answer = answer;
  }

  frames(): Frame[] {
    this.#event('response.created', { response: this.#response('in_progress') });
    this.#event('response.in_progress', { response: this.#response('in_progress') });
    for (const part of this.#answer.parts) {
      const isMore = this.#part(part);
      if (!isMore) return this.#frames;
    }
    const status = this.#wasStopped() ? 'incomplete' : 'completed';
    this.#event(`response.${status}`, { response: this.#response(status) });
    return this.#frames;
  }

  #event(type: string, members: Members): void {
    this.#frames.push(event({ type, sequence_number: this.#sequence++, ...members } as { type: string }));
  }

  #response(status: 'in_progress' | 'completed' | 'incomplete' | 'failed', error: Members | null = null): Members {
    const { id, model, stop } = this.#answer;
    return {
      id: `resp_${id}`,
      object: 'response',
      created_at: 0,
      status,
      error,
      incomplete_details: status === 'incomplete' ? { reason: stop } : null,
      instructions: null,
      metadata: {},
      model,
      output: status === 'in_progress' ? [] : this.#output,
      parallel_tool_calls: true,
      temperature: 1,
      tool_choice: 'auto',
      tools: [],
      top_p: 1,
      usage: status === 'in_progress' ? null : this.#usage(),
    };
  }

  #usage(): Members {
    const { input_tokens, output_tokens, cache_read_tokens = 0, reasoning_tokens = 0 } = this.#answer.usage;
    return {
      input_tokens,
      input_tokens_details: { cached_tokens: cache_read_tokens },
      output_tokens,
      output_tokens_details: { reasoning_tokens },
      total_tokens: input_tokens + output_tokens,
    };
  }

  /** Writes a part. Returns false if the part ends the answer early. */
  #part(part: PlannedPart): boolean {
    switch (part.type) {
      case 'text':
        this.#message(part.id, 'output_text', part.chunks);
        return true;
      case 'refusal':
        this.#message(part.id, 'refusal', [part.text]);
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
        return this.#answer.isBackground;
      case 'error':
        this.#event('response.failed', {
          response: this.#response('failed', { code: part.code, message: part.message }),
        });
        return false;
    }
  }

  /** Only the last part of a stopped answer is incomplete. */
  #itemStatus(id: string): 'completed' | 'incomplete' {
    const last = this.#answer.parts.findLast((part) => 'id' in part);
    return this.#wasStopped() && last?.id === id ? 'incomplete' : 'completed';
  }

  /** Whether a stop reason ended the answer early. A refusal is a complete answer in this format. */
  #wasStopped(): boolean {
    return this.#answer.stop !== 'done' && this.#answer.stop !== 'refusal';
  }

  #item(begun: Members, finished: Members, between: (place: Members) => void): void {
    const place = { output_index: this.#output.length };
    this.#event('response.output_item.added', { ...place, item: begun });
    between({ ...place, item_id: begun.id });
    this.#event('response.output_item.done', { ...place, item: finished });
    this.#output.push(finished);
  }

  #say(chunks: readonly TextChunk[], say: (delta: string) => void): void {
    emitChunks(this.#frames, chunks, this.#answer.deltaLength, say);
  }

  #message(id: string, kind: 'output_text' | 'refusal', chunks: readonly TextChunk[]): void {
    const text = textOfChunks(chunks);
    const item = { id, type: 'message', role: 'assistant' };
    const part = (said: string): Members =>
      kind === 'refusal' ? { type: kind, refusal: said } : { type: kind, text: said, annotations: [], logprobs: [] };
    const status = this.#itemStatus(id);
    this.#item({ ...item, status: 'in_progress', content: [] }, { ...item, status, content: [part(text)] }, (place) => {
      const at = { ...place, content_index: 0 };
      this.#event('response.content_part.added', { ...at, part: part('') });
      this.#say(chunks, (delta) => this.#event(`response.${kind}.delta`, { ...at, delta, ...logprobs(kind) }));
      const whole = kind === 'refusal' ? { refusal: text } : { text, logprobs: [] };
      this.#event(`response.${kind}.done`, { ...at, ...whole });
      this.#event('response.content_part.done', { ...at, part: part(text) });
    });
  }

  #reasoning({ id, text, seal }: Extract<PlannedPart, { type: 'reasoning' }>): void {
    const item = { id, type: 'reasoning' };
    const sealed = this.#answer.sealsReasoning ? { encrypted_content: seal } : {};
    const finished = { ...item, summary: reasoningSummary(text), ...sealed };
    this.#item({ ...item, summary: [], ...sealed }, finished, (place) => {
      if (text === '') return;
      const at = { ...place, summary_index: 0 };
      this.#event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } });
      this.#say([text], (delta) => this.#event('response.reasoning_summary_text.delta', { ...at, delta }));
      this.#event('response.reasoning_summary_text.done', { ...at, text });
      this.#event('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } });
    });
  }

  #call({ id, callId, name, arguments: text, custom }: Extract<PlannedPart, { type: 'call' }>): void {
    const item = { id, type: custom ? 'custom_tool_call' : 'function_call', call_id: callId, name };
    const member = custom ? 'input' : 'arguments';
    const kind = custom ? 'custom_tool_call_input' : 'function_call_arguments';
    const status = custom ? {} : { status: this.#itemStatus(id) };
    const begun = { ...item, [member]: '', ...(custom ? {} : { status: 'in_progress' }) };
    this.#item(begun, { ...item, [member]: text, ...status }, (place) => {
      this.#say([text], (delta) => this.#event(`response.${kind}.delta`, { ...place, delta }));
      this.#event(`response.${kind}.done`, { ...place, [member]: text, ...(custom ? {} : { name }) });
    });
  }
}

function logprobs(kind: string): Members {
  return kind === 'output_text' ? { logprobs: [] } : {};
}

function reasoningSummary(text: string): Members[] {
  return text === '' ? [] : [{ type: 'summary_text', text }];
}
