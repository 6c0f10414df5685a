import { createDetector, type DetectorEvent, type DetectorOptions } from '../script/index.js';
import {
  ToolscriptUsageError,
  type AnswerSegment,
  type HarnessMode,
  type Outcome,
  type ResponseStatus,
  type ScriptFailure,
  type StreamEvent,
} from '../protocol/index.js';
import { EventQueue } from './event-queue.js';
import { EventStream, newId, type RunIdentity } from './event-stream.js';

/** What stands in the place of every script while scripts are switched off. */
export const DISABLED_WARNING = '[A script stood here. Scripts are switched off, so nothing of it ran.]';

export type AnswerText = string | Iterable<string> | AsyncIterable<string>;

export interface AnswerOptions {
  identity: RunIdentity;
  mode: HarnessMode;
  detect: DetectorOptions;
  /** Whether a failed script stops the later ones. Default false: it does. */
  continueOnError: boolean;
  signal: AbortSignal | undefined;
  onEvent: ((event: StreamEvent) => void) | undefined;
  runScript(
    segment: Extract<AnswerSegment, { type: 'script' }>,
    stream: EventStream,
    signal: AbortSignal,
  ): Promise<Outcome>;
  reportMalformed(
    segment: Extract<AnswerSegment, { type: 'malformed' }>,
    failure: ScriptFailure,
    stream: EventStream,
  ): Outcome;
  /** A block that is not run because an earlier one failed, or the run was cancelled. */
  reportSkipped(segment: Extract<AnswerSegment, { type: 'script' | 'malformed' }>, stream: EventStream): void;
}

/** Throws a `ToolscriptUsageError` where there is no text to read. */
export function assertAnswerText(text: unknown): asserts text is AnswerText {
  if (typeof text === 'string') return;
  const iterable =
    typeof text === 'object' && text !== null && (Symbol.asyncIterator in text || Symbol.iterator in text);
  if (!iterable)
    throw new ToolscriptUsageError('processText needs the answer as text, or as an iterable of pieces of text.');
}

/**
 * Reads a model's answer and yields what happens, in order. The answer is read ahead while a script runs, so
 * that the model is never held up; what it says meanwhile comes after the script's output.
 */
export function processAnswer(text: AnswerText, options: AnswerOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const stop = new AbortController();
  const events = answerEvents(text, options, stop);
  // A generator's own `return` waits for a `next` that is under way; this one first ends what that waits for.
  const end = events.return.bind(events);
  events.return = (value) => {
    stop.abort();
    return end(value);
  };
  return events;
}

async function* answerEvents(
  text: AnswerText,
  options: AnswerOptions,
  stop: AbortController,
): AsyncGenerator<StreamEvent, void, undefined> {
  const queue = new EventQueue<StreamEvent>();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const stream = new EventStream(options.identity, [(event) => queue.push(event), options.onEvent]);
  const working = new AnswerProcessor(options, stream, signal).process(text).finally(() => queue.end());
  try {
    yield* queue;
    await working;
  } finally {
    // The consumer may have left early; nothing goes on behind its back.
    stop.abort();
    await working.catch(() => {});
  }
}

class AnswerProcessor {
  readonly #options: AnswerOptions;
  readonly #stream: EventStream;
  readonly #signal: AbortSignal;
  #openItem: { id: string; type: 'message' | 'reasoning'; said: string } | undefined;
  #failed = false;
  #stopped = false;
  #status: ResponseStatus = 'completed';

  constructor(options: AnswerOptions, stream: EventStream, signal: AbortSignal) {
    this.#options = options;
    this.#stream = stream;
    this.#signal = signal;
  }

  async process(text: AnswerText): Promise<void> {
    this.#stream.emit({ type: 'response_start' });
    try {
      for await (const event of detect(text, this.#options.detect, this.#signal)) await this.#take(event);
    } catch (error) {
      // The source of the text failed: what was said so far stands, and scripts that ran have run.
      this.#closeItem(this.#openItem?.said ?? '');
      this.#stream.emit({
        type: 'response_error',
        code: 'AnswerInterrupted',
        message: error instanceof Error ? error.message : String(error),
      });
      this.#status = 'failed';
    }
    if (this.#openItem !== undefined) this.#closeItem(this.#openItem.said);
    if (this.#signal.aborted) this.#status = 'cancelled';
    else if (this.#failed) this.#status = 'failed';
    this.#stream.emit({ type: 'response_done', status: this.#status });
  }

  async #take(event: DetectorEvent): Promise<void> {
    switch (event.type) {
      case 'text_delta':
        return this.#delta('message', event.text);
      case 'reasoning_delta':
        return this.#delta('reasoning', event.text);
      case 'segment':
        return this.#segment(event.segment);
    }
  }

  #delta(type: 'message' | 'reasoning', delta: string): void {
    if (this.#openItem === undefined) {
      this.#openItem = { id: newId('item'), type, said: '' };
      this.#stream.emit({ type: 'item_start', item_id: this.#openItem.id, item_type: type });
    }
    this.#openItem.said += delta;
    this.#stream.emit({ type: 'item_delta', item_id: this.#openItem.id, delta });
  }

  #closeItem(content: string): void {
    const item = this.#openItem;
    if (item === undefined) return;
    this.#openItem = undefined;
    const final =
      item.type === 'message'
        ? ({ type: 'message', id: item.id, role: 'assistant', content } as const)
        : ({ type: 'reasoning', id: item.id, content } as const);
    this.#stream.emit({ type: 'item_done', item_id: item.id, final_item: final });
  }

  async #segment(segment: AnswerSegment): Promise<void> {
    switch (segment.type) {
      case 'text':
      case 'reasoning':
        if (this.#openItem === undefined && segment.text !== '')
          this.#delta(segment.type === 'text' ? 'message' : 'reasoning', segment.text);
        return this.#closeItem(segment.text);
      case 'script':
        return this.#script(segment);
      case 'malformed':
        if (this.#options.mode === 'disabled') return this.#warn();
        if (this.#stopped || this.#signal.aborted) return this.#options.reportSkipped(segment, this.#stream);
        this.#note(this.#options.reportMalformed(segment, segment.failure, this.#stream));
    }
  }

  async #script(segment: Extract<AnswerSegment, { type: 'script' }>): Promise<void> {
    if (this.#options.mode === 'disabled') return this.#warn();
    if (this.#stopped || this.#signal.aborted) return this.#options.reportSkipped(segment, this.#stream);
    this.#note(await this.#options.runScript(segment, this.#stream, this.#signal));
  }

  #note(outcome: Outcome): void {
    if (outcome.status !== 'failed') return;
    this.#failed = true;
    if (!this.#options.continueOnError) this.#stopped = true;
  }

  #warn(): void {
    this.#delta('message', DISABLED_WARNING);
    this.#closeItem(DISABLED_WARNING);
  }
}

/** The detector over a source of text, ended where the source ends. */
async function* detect(text: AnswerText, options: DetectorOptions, signal: AbortSignal): AsyncGenerator<DetectorEvent> {
  const detector = createDetector(options);
  for await (const delta of readAhead(text, signal)) yield* detector.push(delta);
  if (!signal.aborted) yield* detector.end();
}

/** Pulls from the source without waiting for the consumer, so that a running script never holds up the model. */
async function* readAhead(text: AnswerText, signal: AbortSignal): AsyncGenerator<string> {
  if (typeof text === 'string') {
    yield text;
    return;
  }
  const queue = new EventQueue<string>();
  const iterator = Symbol.asyncIterator in text ? text[Symbol.asyncIterator]() : text[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const stop = () => {
    queue.end();
    // In a task of its own: a source may throw here too.
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => {});
  };
  signal.addEventListener('abort', stop, { once: true });
  const pull = async () => {
    try {
      for (let next = await iterator.next(); next.done !== true && !signal.aborted; next = await iterator.next()) {
        if (typeof next.value !== 'string')
          throw new ToolscriptUsageError(
            `processText needs text; its source gave ${next.value === null ? 'null' : typeof next.value}.`,
          );
        queue.push(next.value);
      }
    } catch (error) {
      failure = { error };
    } finally {
      queue.end();
    }
  };
  void pull();
  try {
    yield* queue;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (failure !== undefined && !signal.aborted) throw failure.error;
}
