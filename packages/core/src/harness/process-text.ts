import { createDetector, type DetectorEvent, type DetectorOptions } from '../script/index.js';
import {
  DISABLED_WARNING,
  EventQueue,
  ToolscriptUsageError,
  type AnswerSegment,
  type HarnessMode,
  type Outcome,
  type ResponseStatus,
  type ScriptFailure,
  type StreamEvent,
} from '../protocol/index.js';
import { EventStream, newId, type RunIdentity } from './event-stream.js';
import { cancelStarted } from './script-items.js';
import type { RunEnd } from './script-runner.js';
import type { Putting } from './suspensions.js';

export type AnswerText = string | Iterable<string> | AsyncIterable<string>;

export interface AnswerOptions {
  identity: RunIdentity;
  /** Of the event stream, where an answer goes on that was put aside. Default 0. */
  nextSeq?: number;
  /** A script of the answer had failed before that. Default false. */
  failedBefore?: boolean;
  mode: HarnessMode;
  detect: DetectorOptions;
  /** Whether a failed script stops the later ones. Default false: it does. */
  continueOnError: boolean;
  /** The source of a script is told while it is typed. Default false. */
  scriptSourceDeltas?: boolean;
  signal: AbortSignal | undefined;
  onEvent: ((event: StreamEvent) => void) | undefined;
  runScript(block: AnswerBlock, stream: EventStream, signal: AbortSignal): Promise<RunEnd>;
  reportMalformed(block: AnswerBlock, failure: ScriptFailure, stream: EventStream): Outcome;
  /** A block that is not run because an earlier one failed, or the run was cancelled. */
  reportSkipped(block: AnswerBlock, stream: EventStream): void;
}

type BlockSegment = Extract<AnswerSegment, { type: 'script' | 'malformed' }>;

/** A script of the answer, or what should have been one. `startedAs`: its item has started already, under this name. */
export type AnswerBlock = BlockSegment & { readonly startedAs?: string | undefined };

/** Throws a `ToolscriptUsageError` where there is no text to read. */
export function assertAnswerText(text: unknown): asserts text is AnswerText {
  if (typeof text === 'string') return;
  const iterable =
    typeof text === 'object' && text !== null && (Symbol.asyncIterator in text || Symbol.iterator in text);
  if (!iterable)
    throw new ToolscriptUsageError('processText needs the answer as text, or as an iterable of pieces of text.');
}

/** All that is said of a suspension that could not be gone on with. */
export function tellRefusal(outcome: Outcome, stream: EventStream): void {
  const { code, message } = outcome.status === 'failed' ? outcome.error : { code: '', message: '' };
  stream.emit({ type: 'response_start' });
  stream.emit({ type: 'response_error', code, message });
  stream.emit({ type: 'response_done', status: 'failed' });
}

/**
 * Reads a model's answer and yields what happens, in order. The answer is read ahead while a script runs, so
 * that the model is never held up; what it says meanwhile comes after the script's output.
 */
export function processAnswer(text: AnswerText, options: AnswerOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const sourceDeltas = options.scriptSourceDeltas === true && options.mode !== 'disabled';
  const detectOptions = { ...options.detect, sourceDeltas };
  return playAnswer(options, (processor, signal) => processor.process(detect(text, detectOptions, signal)));
}

/** Goes on with an answer that was put aside: first the script that waited, then what came after it. */
export function processRest(
  resume: ResumeFirst,
  segments: readonly AnswerSegment[],
  options: AnswerOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  return playAnswer(options, (processor) => processor.goOn(resume, segments));
}

/** Goes on with the script that waited; `onTaken` is called before it tells anything, and only where it goes on. */
type ResumeFirst = (stream: EventStream, signal: AbortSignal, onTaken: () => void) => Promise<RunEnd>;

type Play = (processor: AnswerProcessor, signal: AbortSignal) => Promise<void>;

function playAnswer(options: AnswerOptions, play: Play): AsyncGenerator<StreamEvent, void, undefined> {
  const stop = new AbortController();
  const events = answerEvents(options, stop, play);
  // A generator's own `return` waits for a `next` that is under way; this one first ends what that waits for.
  const end = events.return.bind(events);
  events.return = (value) => {
    stop.abort();
    return end(value);
  };
  return events;
}

async function* answerEvents(
  options: AnswerOptions,
  stop: AbortController,
  play: Play,
): AsyncGenerator<StreamEvent, void, undefined> {
  const queue = new EventQueue<StreamEvent>();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const streamOf: StreamMaker = (identity, nextSeq) =>
    new EventStream(identity, [(event) => queue.push(event), options.onEvent], nextSeq);
  const working = play(new AnswerProcessor(options, streamOf, signal), signal).finally(() => queue.end());
  try {
    yield* queue;
    await working;
  } finally {
    // The consumer may have left early; nothing goes on behind its back.
    stop.abort();
    await working.catch(() => {});
  }
}

type StreamMaker = (identity: RunIdentity, nextSeq?: number) => EventStream;

class AnswerProcessor {
  readonly #options: AnswerOptions;
  readonly #streamOf: StreamMaker;
  readonly #stream: EventStream;
  readonly #signal: AbortSignal;
  #openItem: { id: string; type: 'message' | 'reasoning'; said: string } | undefined;
  /** The item of the script that is being typed, where that is told. */
  #openScript: string | undefined;
  #failed: boolean;
  #stopped = false;
  #status: ResponseStatus = 'completed';
  /** The script that waits for people, and what came after it. */
  #putting: Putting | undefined;
  readonly #rest: AnswerSegment[] = [];

  constructor(options: AnswerOptions, streamOf: StreamMaker, signal: AbortSignal) {
    this.#options = options;
    this.#streamOf = streamOf;
    this.#stream = streamOf(options.identity, options.nextSeq);
    this.#signal = signal;
    this.#failed = options.failedBefore === true;
  }

  async process(events: AsyncIterable<DetectorEvent>): Promise<void> {
    this.#stream.emit({ type: 'response_start' });
    await this.#play(events);
  }

  async goOn(resume: ResumeFirst, segments: readonly AnswerSegment[]): Promise<void> {
    const end = await resume(this.#stream, this.#signal, () => this.#stream.emit({ type: 'response_start' }));
    if (end.refused === true) return this.#refuse(end.outcome);
    this.#note(end);
    await this.#play(segments.map((segment) => ({ type: 'segment', segment })));
  }

  /** The rest is whoever's who goes on with the script, and so are the numbers of the run's events. */
  #refuse(outcome: Outcome): void {
    tellRefusal(outcome, this.#streamOf({ ...this.#options.identity, runId: newId('run') }));
  }

  async #play(events: AsyncIterable<DetectorEvent> | Iterable<DetectorEvent>): Promise<void> {
    try {
      for await (const event of events) await this.#take(event);
    } catch (error) {
      // The source of the text failed: what was said so far stands, and scripts that ran have run.
      this.#closeOpen();
      this.#stream.emit({
        type: 'response_error',
        code: 'AnswerInterrupted',
        message: error instanceof Error ? error.message : String(error),
      });
      this.#status = 'failed';
    }
    this.#closeOpen();
    if (this.#signal.aborted) this.#status = 'cancelled';
    else if (this.#failed) this.#status = 'failed';
    const waiting = await this.#putAside();
    // A script that failed before, where later ones go on all the same, does not keep this one from going on.
    if (waiting !== undefined && this.#status === 'completed') this.#status = 'suspended';
    this.#stream.emit({ type: 'response_done', status: this.#status, ...waiting });
  }

  /** Sealed once more, now with all that is to come after the script. */
  async #putAside(): Promise<{ script_id: string; suspension: string } | undefined> {
    if (this.#putting === undefined) return undefined;
    const { continueOnError } = this.#options;
    const answer = { segments: this.#rest, continueOnError, failed: this.#failed };
    const { scriptId } = this.#putting;
    try {
      return { script_id: scriptId, suspension: await this.#putting.seal(this.#stream.nextSeq + 1, answer) };
    } catch {
      const message = 'The script waits for a decision, and what follows it could not be kept.';
      this.#stream.emit({ type: 'response_error', code: 'SuspensionError', message });
      this.#status = 'failed';
      return undefined;
    }
  }

  async #take(event: DetectorEvent): Promise<void> {
    if (this.#putting !== undefined) {
      if (event.type === 'segment') this.#rest.push(event.segment);
      return;
    }
    switch (event.type) {
      case 'text_delta':
        return this.#delta('message', event.text);
      case 'reasoning_delta':
        return this.#delta('reasoning', event.text);
      case 'script_start':
        return this.#startScript(event);
      case 'source_delta':
        return this.#stream.emit({ type: 'item_delta', item_id: this.#openScript!, delta: event.text });
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

  #startScript({ language, format }: Extract<DetectorEvent, { type: 'script_start' }>): void {
    this.#openScript = newId('item');
    const initial = { language, format };
    this.#stream.emit({ type: 'item_start', item_id: this.#openScript, item_type: 'script_execution', initial });
  }

  /** The block with the name under which its item has started. */
  #whole(segment: BlockSegment): AnswerBlock {
    const startedAs = this.#openScript;
    this.#openScript = undefined;
    return { ...segment, startedAs };
  }

  /** The answer ends in the midst of something: what was said stands, and half a script is none. */
  #closeOpen(): void {
    if (this.#openItem !== undefined) this.#closeItem(this.#openItem.said);
    if (this.#openScript === undefined) return;
    cancelStarted(this.#stream, this.#openScript, 'The answer ended before it.');
    this.#openScript = undefined;
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
      case 'malformed':
        if (this.#options.mode === 'disabled') return this.#warn();
        return this.#block(this.#whole(segment));
    }
  }

  async #block(block: AnswerBlock): Promise<void> {
    if (this.#stopped || this.#signal.aborted) return this.#options.reportSkipped(block, this.#stream);
    if (block.type === 'script') return this.#note(await this.#options.runScript(block, this.#stream, this.#signal));
    this.#note({ outcome: this.#options.reportMalformed(block, block.failure, this.#stream) });
  }

  #note({ outcome, putting }: RunEnd): void {
    this.#putting = putting;
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
