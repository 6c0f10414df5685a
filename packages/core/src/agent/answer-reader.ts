import type { Harness } from '../harness/index.js';
import { EventQueue } from '../protocol/index.js';
import type {
  AnswerSegment,
  EventPayload,
  FunctionCallItem,
  MessageItem,
  ModelRequest,
  ResponseStatus,
} from '../protocol/index.js';
import { AnswerCut } from './answer-cut.js';
import type { AnswerWork } from './answer-work.js';
import type { RunLog } from './run-log.js';
import { TextPieces } from './text-pieces.js';
import { SaidText } from './usage-estimate.js';
import type { UsageSum } from './usage-sum.js';

/*
 * One answer: its events go to the run's log as they come, and what it asks for is done as soon as it is whole. The
 * model is never held up by what runs; what it says meanwhile is told behind it.
 *
 *   listening ──a script's end, afterScript 'stop'──▶ stopped ──┐
 *       └──────────────────response_done────────────────────────┴──▶ ended
 *
 * When it is stopped, the provider is told to stop too, unless it ends by itself (see `AnswerCut`); of what was on its
 * way, only the ends of open items and the usage are taken.
 */

export interface AnswerSettings {
  readonly log: RunLog;
  readonly work: AnswerWork;
  readonly usage: UsageSum;
  /** Scripts are looked for in its text: they run, or a warning stands in their place. Otherwise text is text. */
  readonly scriptsInText: 'run' | 'warn' | 'none';
  readonly stopsAfterScript: boolean;
  readonly detector: Harness['detector'];
  /** What the provider was asked. */
  readonly request: ModelRequest;
  /** Ends the provider's stream. */
  readonly stop: () => void;
  /** Tells the provider to end its stream. */
  readonly signal: AbortSignal;
}

export interface AnswerEnd {
  readonly status: ResponseStatus;
  /** Why it is incomplete. */
  readonly reason?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

type Payload<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;

type DetectorEvent = ReturnType<ReturnType<Harness['detector']>['push']>[number];

type ItemPayload = Payload<'item_start' | 'item_delta' | 'item_done' | 'item_error' | 'item_cancelled'>;

export class AnswerReader {
  readonly #settings: AnswerSettings;
  readonly #messages = new Map<string, { pieces: TextPieces; detector: ReturnType<Harness['detector']> }>();
  /** Items other than cut messages that started and have not ended. */
  readonly #open = new Map<string, string>();
  /** What came of other items while a message was open: its pieces stand together. */
  #held: ItemPayload[] = [];
  readonly #heldIds = new Set<string>();
  /** The calls that were taken up, by their ids. */
  readonly #calls = new Set<string>();
  readonly #said = new SaidText();
  readonly #cut: AnswerCut;
  #stopped = false;
  #error: AnswerEnd['error'];
  #end: AnswerEnd | undefined;

  constructor(settings: AnswerSettings) {
    this.#settings = settings;
    this.#cut = new AnswerCut(settings.stop);
  }

  async read(answer: AsyncIterable<EventPayload>): Promise<AnswerEnd> {
    try {
      const came = (payload: EventPayload) => this.#cut.came(payload);
      for await (const payload of readAhead(answer, this.#settings.signal, came)) await this.#take(payload);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      this.#error = { code: 'ProviderError', message: error.message };
    }
    this.#cut.end();
    this.#giveUpOpenItems();
    this.#countUsage();
    if (this.#stopped) return { status: 'completed' };
    if (this.#error !== undefined) return { status: 'failed', error: this.#error };
    const message = 'The provider’s answer has no end.';
    return this.#end ?? { status: 'failed', error: { code: 'AnswerTruncated', message } };
  }

  #countUsage(): void {
    const { log, usage, request } = this.#settings;
    const isEstimated = usage.endAnswer({ request, said: this.#said });
    if (isEstimated) log.emit({ type: 'usage_update', usage: usage.total! });
  }

  async #take(payload: EventPayload): Promise<void> {
    const { log, usage } = this.#settings;
    this.#said.take(payload);
    this.#cut.read(payload);
    switch (payload.type) {
      case 'response_start':
        return;
      case 'usage_update':
        usage.note(payload.usage);
        return log.emit({ type: 'usage_update', usage: usage.total! });
      case 'response_error':
        this.#error = { code: payload.code, message: payload.message };
        return;
      case 'response_done':
        return this.#done(payload);
      case 'item_start':
      case 'item_delta':
      case 'item_done':
      case 'item_error':
      case 'item_cancelled':
        return this.#takeOfItem(payload);
      default:
        return this.#stopped ? undefined : log.emit(payload);
    }
  }

  #done(payload: Payload<'response_done'>): void {
    const reason = typeof payload.incomplete_reason === 'string' ? { reason: payload.incomplete_reason } : {};
    this.#end = { status: payload.status, ...reason };
  }

  async #takeOfItem(payload: ItemPayload): Promise<void> {
    const id = payload.item_id;
    if (this.#heldIds.has(id)) return void this.#held.push(payload);
    if (payload.type === 'item_start') return this.#start(payload);
    if (this.#messages.has(id)) return this.#takeOfMessage(payload);
    if (!this.#open.has(id)) return;
    if (payload.type !== 'item_delta') this.#open.delete(id);
    if (payload.type === 'item_done' && payload.final_item.type === 'function_call')
      return this.#call(id, payload, payload.final_item);
    this.#settings.log.emit(payload);
  }

  /** Each call once, and only those that name a tool, whatever provider they come from. */
  async #call(id: string, payload: ItemPayload, call: FunctionCallItem): Promise<void> {
    // defence: call-taken-once
    if (call.name === '' || this.#calls.has(call.call_id)) return this.#cancel(id, 'It is no call, or came before.');
    this.#calls.add(call.call_id);
    this.#settings.log.emit(payload);
    await this.#settings.work.call(call);
  }

  #start(payload: Payload<'item_start'>): void {
    if (this.#stopped) return;
    if (this.#messages.size > 0) {
      this.#heldIds.add(payload.item_id);
      return void this.#held.push(payload);
    }
    if (payload.item_type === 'message' && this.#settings.scriptsInText !== 'none') return this.#openMessage(payload);
    this.#open.set(payload.item_id, payload.item_type);
    this.#settings.log.emit(payload);
  }

  /** No message is open any more. What was held may open one again. */
  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#heldIds.clear();
    if (!this.#stopped) for (const payload of held) await this.#takeOfItem(payload);
  }

  #openMessage({ item_id: id, initial }: Payload<'item_start'>): void {
    const { log, detector } = this.#settings;
    const pieces = new TextPieces(id, initial ?? {}, (payload) => log.emit(payload));
    this.#messages.set(id, { pieces, detector: detector() });
  }

  async #takeOfMessage(payload: Exclude<ItemPayload, { type: 'item_start' }>): Promise<void> {
    const { pieces, detector } = this.#messages.get(payload.item_id)!;
    if (this.#stopped) return;
    switch (payload.type) {
      case 'item_delta':
        return this.#detected(pieces, detector.push(payload.delta));
      case 'item_done': {
        const final = payload.final_item as MessageItem;
        pieces.finishing(final);
        await this.#detected(pieces, detector.end(), true);
        this.#messages.delete(payload.item_id);
        if (!this.#stopped) pieces.finished();
        return this.#release();
      }
      default:
        this.#messages.delete(payload.item_id);
        pieces.cancel(payload.type === 'item_error' ? payload.message : payload.reason);
        return this.#release();
    }
  }

  async #detected(pieces: TextPieces, events: readonly DetectorEvent[], atEnd = false): Promise<void> {
    for (const [index, event] of events.entries()) {
      if (this.#stopped) return;
      if (event.type === 'text_delta') pieces.delta('message', event.text);
      else if (event.type === 'reasoning_delta') pieces.delta('reasoning', event.text);
      else if (event.type === 'script_start') this.#startScript(pieces, event);
      else if (event.type === 'source_delta') pieces.sourceDelta(event.text);
      else {
        if (this.#stopsAt(event.segment, atEnd)) this.#stop(index + 1 < events.length);
        await this.#segment(pieces, event.segment);
      }
    }
  }

  /** Behind a script that waits for people nothing starts: what stands there is only named. */
  #startScript(pieces: TextPieces, { language, format }: Extract<DetectorEvent, { type: 'script_start' }>): void {
    if (this.#settings.work.waiting === undefined) pieces.startScript(language, format);
  }

  #stopsAt({ type }: AnswerSegment, atEnd: boolean): boolean {
    const { scriptsInText, stopsAfterScript } = this.#settings;
    return type !== 'text' && type !== 'reasoning' && scriptsInText === 'run' && stopsAfterScript && !atEnd;
  }

  async #segment(pieces: TextPieces, segment: AnswerSegment): Promise<void> {
    if (segment.type === 'text') return pieces.close('message', segment.text, segment.raw);
    if (segment.type === 'reasoning') return pieces.close('reasoning', segment.text, segment.raw);
    if (this.#settings.scriptsInText === 'warn') return pieces.warn(segment.raw);
    const { source, language, format, raw } = segment;
    const failure = segment.type === 'malformed' ? { failure: segment.failure } : {};
    await this.#settings.work.script({ source, language, item: pieces.script(format, raw), ...failure });
  }

  /** Calls that are not whole, and whatever else is open, stay behind. */
  #stop(saysMore: boolean): void {
    this.#stopped = true;
    for (const [id, type] of this.#open) if (type === 'function_call') this.#cancel(id);
    this.#cut.close(saysMore);
  }

  #cancel(id: string, reason = 'The answer ended before it.'): void {
    this.#open.delete(id);
    this.#settings.log.emit({ type: 'item_cancelled', item_id: id, reason });
  }

  #giveUpOpenItems(): void {
    for (const id of this.#open.keys()) this.#cancel(id);
    if (!this.#stopped) for (const { pieces } of this.#messages.values()) pieces.cancel('The answer ended before it.');
  }
}

class ProviderFailure extends Error {}

/** For a provider to end its stream when it is told to, in ms. Afterwards nobody listens any more. */
const GRACE_MS = 2000;

/** Pulls without waiting for who reads; `came` is called for each payload at once. Fails with a `ProviderFailure`. */
async function* readAhead(
  answer: AsyncIterable<EventPayload>,
  signal: AbortSignal,
  came: (payload: EventPayload) => void,
): AsyncGenerator<EventPayload, void, undefined> {
  const queue = new EventQueue<EventPayload>();
  const iterator = answer[Symbol.asyncIterator]();
  let failure: ProviderFailure | undefined;
  const left = new AbortController();
  const pull = async () => {
    try {
      for (let next = await iterator.next(); next.done !== true && !left.signal.aborted; next = await iterator.next()) {
        queue.push(next.value);
        came(next.value);
      }
    } catch (error) {
      failure = new ProviderFailure(error instanceof Error ? error.message : String(error));
    } finally {
      queue.end();
    }
  };
  let grace: NodeJS.Timeout | undefined;
  const giveUp = () => {
    grace = setTimeout(() => queue.end(), GRACE_MS);
  };
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp, { once: true });
  void pull();
  try {
    yield* queue;
  } finally {
    left.abort();
    clearTimeout(grace);
    signal.removeEventListener('abort', giveUp);
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => {});
  }
  if (failure !== undefined) throw failure;
}
