import {
  ToolscriptUsageError,
  type EventPayload,
  type Outcome,
  type ResponseStatus,
  type StreamEvent,
} from '../protocol/index.js';
import type { RunContext } from '../protocol/run-context.js';
import { newId } from '../text/crypto.js';
import { AnswerPlayer, type AnswerEnd } from './answer-player.js';
import { AnswerWork, type Waiting } from './answer-work.js';
import { generateEvents, type EventStream } from './event-stream.js';
import type { AnswerRest, ScriptEnd, ScriptHost } from './script-host.js';

/** The text of a model’s answer: whole, or in parts as they arrive. Any split gives the same scripts. */
export type AnswerText = string | Iterable<string> | AsyncIterable<string>;

/** The context of an answer whose events are a run of their own. */
export interface AnswerContext extends RunContext {
  readonly sink: EventStream;
}

export interface TextRunOptions {
  readonly context: AnswerContext;
  /** Whether later scripts run after one has failed. */
  readonly continueOnError: boolean;
  /** Returns the host that runs the scripts in the context of the answer. */
  readonly hostFor: (context: RunContext) => ScriptHost;
  /**
   * Called with the outcome of each script. The outcome of a suspended script follows at the end of the answer, after
   * the script was sealed together with the rest of the answer.
   */
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/** Throws a `ToolscriptUsageError` unless the text is a string or an iterable. */
export function assertAnswerText(text: unknown): asserts text is AnswerText {
  if (typeof text === 'string') return;
  const iterable =
    typeof text === 'object' && text !== null && (Symbol.asyncIterator in text || Symbol.iterator in text);
  if (!iterable)
    throw new ToolscriptUsageError('ARGUMENT_INVALID', {
      method: 'processText',
      expected: 'the answer as a string, or as an iterable of strings',
    });
}

/** Plays a model's answer that arrives as text, as a run of one answer. */
export function playText(text: AnswerText, options: TextRunOptions): AsyncGenerator<StreamEvent, void, undefined> {
  return generateEvents(options.context.signal, (push, signal) => {
    const run = new TextRun(options, readContext(options.context, push, signal));
    return () => run.play(text);
  });
}

/** Resumes the suspended script of an answer, then runs the answer's later scripts. */
export function playRest(
  resume: ResumeFirst,
  rest: AnswerRest | undefined,
  options: TextRunOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  return generateEvents(options.context.signal, (push, signal) => {
    const run = new TextRun(options, readContext(options.context, push, signal), rest?.failed);
    return () => run.resume(resume, rest);
  });
}

/** The context of an answer whose events a consumer reads: `signal` also aborts when the consumer leaves its loop. */
function readContext(
  { sink, ...context }: AnswerContext,
  push: (event: StreamEvent) => void,
  signal: AbortSignal,
): ReadContext {
  sink.listen(push);
  return Object.freeze({ ...context, sink, signal });
}

type ReadContext = AnswerContext & { readonly signal: AbortSignal };

/** Resumes the suspended script. Calls `onClaimed` before the first event, and only if the script is resumed. */
export type ResumeFirst = (
  context: RunContext,
  onClaimed: () => void,
) => Promise<ScriptEnd & { readonly refused?: true | undefined }>;

/** Emits the events of a run that ends at once because a suspension cannot be resumed. */
export function emitRefusal(outcome: Outcome, stream: EventStream): void {
  const { code, message } = outcome.status === 'failed' ? outcome.error : { code: '', message: '' };
  stream.emit({ type: 'response_start' });
  stream.emit({ type: 'response_error', code, message });
  stream.emit({ type: 'response_done', status: 'failed' });
}

class TextRun {
  readonly #options: TextRunOptions;
  readonly #context: ReadContext;
  readonly #host: ScriptHost;
  readonly #work: AnswerWork;

  constructor(options: TextRunOptions, context: ReadContext, hasFailed = false) {
    this.#options = options;
    this.#context = context;
    this.#host = options.hostFor(context);
    const { continueOnError } = options;
    const { mode, limits } = context;
    const { modelOutputTokens } = limits;
    const settings = { mode, continueOnError, modelOutputTokens, host: this.#host, emit: this.#emit, ...NO_CALLS };
    this.#work = new AnswerWork(settings, hasFailed);
  }

  async play(text: AnswerText): Promise<void> {
    this.#emit({ type: 'response_start' });
    const player = new AnswerPlayer({
      emit: this.#emit,
      work: this.#work,
      scriptsInText: this.#context.mode === 'disabled' ? 'warn' : 'run',
      stopsAfterScript: false,
      detector: () => this.#host.detector(),
      stop: () => {},
      signal: this.#context.signal,
      graceMs: 0,
    });
    await this.#end(await this.#reachedEnd(player.play(textAnswer(text, this.#context.signal))));
  }

  /**
   * Waits for the answer. Returns a failed end if the answer is interrupted, for example because the harness is closed.
   */
  async #reachedEnd(playing: Promise<AnswerEnd>): Promise<AnswerEnd> {
    try {
      return await playing;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { status: 'failed', error: { code: 'AnswerInterrupted', message } };
    }
  }

  async resume(resume: ResumeFirst, rest: AnswerRest | undefined): Promise<void> {
    const first = await resume(this.#context, () => this.#emit({ type: 'response_start' }));
    if (first.refused === true) return this.#refuse(first.outcome);
    this.#work.note(first);
    for (const block of rest?.blocks ?? []) await this.#work.script(block);
    await this.#end({ status: 'completed' });
  }

  /**
   * Emits the refusal as a separate run, because the process that resumed the script owns the rest of the run and its
   * event numbers.
   */
  #refuse(outcome: Outcome): void {
    const { sink, identity } = this.#context;
    emitRefusal(outcome, sink.ofRun({ ...identity, runId: newId('run') }));
  }

  async #end({ status, error }: AnswerEnd): Promise<void> {
    const { aborted } = this.#context.signal;
    if (error !== undefined && !aborted) this.#emit({ type: 'response_error', ...error });
    const isFailed = status === 'failed' || this.#work.hasFailed;
    const reached = aborted ? 'cancelled' : isFailed ? 'failed' : 'completed';
    const { suspended } = this.#work;
    if (suspended === undefined) this.#emit({ type: 'response_done', status: reached });
    else await this.#suspend(suspended, reached);
  }

  /** Seals the suspended script together with the scripts after it, and ends the answer. */
  async #suspend({ outcome, pending }: ScriptEnd, reached: ResponseStatus): Promise<void> {
    const { continueOnError, onOutcome } = this.#options;
    const { postponed, hasFailed, waiting } = this.#work;
    const status = reached === 'completed' ? 'suspended' : reached;
    try {
      const rest = { blocks: postponed, continueOnError, failed: hasFailed };
      const suspension = await pending!.seal(this.#context.sink.nextSeq + 1, rest);
      this.#emit({ type: 'response_done', status, ...(waiting as Waiting) });
      onOutcome?.({ ...outcome, suspension } as Outcome);
    } catch {
      const message =
        'An approval of the script is pending, but Toolscript could not suspend the script, so the script and the scripts after it did not continue. Check the store of scripts, and what the script did before you send it again.';
      this.#emit({ type: 'response_error', code: 'SuspensionError', message });
      this.#emit({ type: 'response_done', status: 'failed' });
    }
  }

  readonly #emit = (payload: EventPayload): void => this.#context.sink.emit(payload);
}

const NO_CALLS = {
  scriptsAreCalls: false,
  functions: new Map<string, string>(),
  withoutArguments: new Set<string>(),
  callers: new Map<string, never>(),
  clientFunctions: new Set<string>(),
  onResult: () => {},
};

/** The text as an answer of a provider: one message, which starts with the first character. */
async function* textAnswer(text: AnswerText, signal: AbortSignal): AsyncGenerator<EventPayload> {
  const id = newId('item');
  let content = '';
  for await (const delta of textChunks(text, signal)) {
    if (delta === '') continue;
    if (content === '') yield { type: 'item_start', item_id: id, item_type: 'message' };
    content += delta;
    yield { type: 'item_delta', item_id: id, delta };
  }
  if (content !== '' && !signal.aborted)
    yield { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } };
  yield { type: 'response_done', status: 'completed' };
}

/** Yields the chunks of a source. The signal ends the source, even while a chunk is awaited. */
async function* textChunks(text: AnswerText, signal: AbortSignal): AsyncGenerator<string> {
  if (typeof text === 'string') return yield text;
  const iterator = Symbol.asyncIterator in text ? text[Symbol.asyncIterator]() : text[Symbol.iterator]();
  const stop = () => {
    // The `return` of the source is called in a separate task, because `return` may throw.
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => {});
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (let next = await iterator.next(); next.done !== true && !signal.aborted; next = await iterator.next()) {
      if (typeof next.value === 'string') yield next.value;
      else throw new ToolscriptUsageError('ANSWER_CHUNK_INVALID', { kind: textSourceKind(next.value) });
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function textSourceKind(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
