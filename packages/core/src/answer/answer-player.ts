import type { AnswerSegment, EventPayload, FunctionCallItem, MessageItem, ResponseStatus } from '../protocol/index.js';
import type { Detector, DetectorEvent } from '../script/index.js';
import { AnswerCut } from './answer-cut.js';
import type { AnswerWork } from './answer-work.js';
import { playSegment } from './play-segment.js';
import { providerFailure, type ProviderFailure } from './provider-failure.js';
import { readAhead, SourceFailure } from './read-ahead.js';
import { TextPieces } from './text-pieces.js';

/*
 * Plays one answer: emits its events as they arrive, and runs each script and call as soon as it is complete. The model
 * never waits for a script; what it writes meanwhile is emitted after the script's output.
 *
 *   listening ──a script's end, stopsAfterScript──▶ stopped ──┐
 *       └──────────────────response_done──────────────────────┴──▶ ended
 *
 * In `stopped` the provider is stopped too, unless it ends by itself (see `AnswerCut`). From the payloads that
 * still arrive, the player takes only the ends of open items.
 */

export interface AnswerSettings {
  readonly emit: (payload: EventPayload) => void;
  readonly work: AnswerWork;
  /** For scripts in the answer's text: they run, a warning replaces each, or all text stays text. */
  readonly scriptsInText: 'run' | 'warn' | 'none';
  readonly stopsAfterScript: boolean;
  readonly detector: () => Detector;
  /** Called with each payload before it is played, also in `stopped`; the payload that it returns is played. */
  readonly onPayload?: (payload: EventPayload) => EventPayload;
  /** Ends the provider's stream. */
  readonly stop: () => void;
  /** Aborts the provider's stream. */
  readonly signal: AbortSignal;
  /** Maximum time in ms that the provider may continue after the signal. */
  readonly graceMs: number;
}

export interface AnswerEnd {
  readonly status: ResponseStatus;
  /** Why the answer is incomplete. */
  readonly reason?: string;
  readonly error?: ProviderFailure;
}

type Payload<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;

type ItemPayload = Payload<'item_start' | 'item_delta' | 'item_done' | 'item_error' | 'item_cancelled'>;

interface OpenMessage {
  readonly pieces: TextPieces;
  readonly detector: Detector;
}

export class AnswerPlayer {
  readonly #settings: AnswerSettings;
  readonly #messages = new Map<string, OpenMessage>();
  /** Types of the items that started and have not ended, without messages that are searched for scripts. */
  readonly #open = new Map<string, string>();
  /** Payloads of other items that arrived while a message was open: the pieces of a message stay together. */
  #held: ItemPayload[] = [];
  readonly #heldIds = new Set<string>();
  /** Ids of the calls that were made. */
  readonly #calls = new Set<string>();
  readonly #cut: AnswerCut;
  #stopped = false;
  #error: AnswerEnd['error'];
  #end: AnswerEnd | undefined;

  constructor(settings: AnswerSettings) {
    this.#settings = settings;
    this.#cut = new AnswerCut(settings.stop);
  }

  async play(answer: AsyncIterable<EventPayload>): Promise<AnswerEnd> {
    const { signal, graceMs } = this.#settings;
    const onArrival = (payload: EventPayload) => this.#cut.came(payload);
    try {
      for await (const payload of readAhead(answer, { signal, graceMs, onArrival })) await this.#take(payload);
    } catch (error) {
      if (!(error instanceof SourceFailure)) throw error;
      this.#error = { code: 'AnswerInterrupted', message: error.message };
    }
    this.#cut.end();
    this.#giveUpOpenItems();
    if (this.#stopped) return { status: 'completed' };
    if (this.#error !== undefined) return { status: 'failed', error: this.#error };
    const message = 'The provider’s answer ended without its final event.';
    return this.#end ?? { status: 'failed', error: { code: 'AnswerTruncated', message } };
  }

  async #take(arrived: EventPayload): Promise<void> {
    const { emit, onPayload } = this.#settings;
    const payload = onPayload?.(arrived) ?? arrived;
    this.#cut.read(payload);
    switch (payload.type) {
      case 'response_start':
        return;
      case 'usage_update':
        return emit(payload);
      case 'response_error':
        this.#error = providerFailure(payload);
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
        return this.#stopped ? undefined : emit(payload);
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
    this.#settings.emit(payload);
  }

  /** Makes each call once, and only calls that name a tool, whatever the provider. */
  async #call(id: string, payload: ItemPayload, call: FunctionCallItem): Promise<void> {
    // defence: call-taken-once
    if (call.name === '' || this.#calls.has(call.call_id))
      return this.#cancel(id, 'The call names no tool, or repeats an earlier call.');
    this.#calls.add(call.call_id);
    this.#settings.emit(payload);
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
    this.#settings.emit(payload);
  }

  /** No message is open now. A held payload may open one again. */
  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#heldIds.clear();
    if (!this.#stopped) for (const payload of held) await this.#takeOfItem(payload);
  }

  #openMessage({ item_id: id, initial }: Payload<'item_start'>): void {
    const { emit, detector } = this.#settings;
    const pieces = new TextPieces(id, initial ?? {}, emit);
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
        interrupt({ pieces, detector }, payload.type === 'item_error' ? payload.message : payload.reason);
        return this.#release();
    }
  }

  async #detected(pieces: TextPieces, events: readonly DetectorEvent[], atEnd = false): Promise<void> {
    const { scriptsInText } = this.#settings;
    for (const [index, event] of events.entries()) {
      if (this.#stopped) return;
      if (event.type === 'text_delta') pieces.delta('message', event.text);
      else if (event.type === 'reasoning_delta') pieces.delta('reasoning', event.text);
      else if (event.type === 'script_start') this.#startScript(pieces, event);
      else if (event.type === 'source_delta') pieces.sourceDelta(event.text);
      else {
        if (this.#stopsAt(event.segment, atEnd)) this.#stop(index + 1 < events.length);
        await playSegment(event.segment, { pieces, work: this.#settings.work, warns: scriptsInText === 'warn' });
      }
    }
  }

  /** After a suspended script no script starts: its source is emitted when it is complete. */
  #startScript(pieces: TextPieces, { language, format }: Extract<DetectorEvent, { type: 'script_start' }>): void {
    if (this.#settings.work.waiting === undefined) pieces.startScript(language, format);
  }

  #stopsAt({ type }: AnswerSegment, atEnd: boolean): boolean {
    const { scriptsInText, stopsAfterScript } = this.#settings;
    return type !== 'text' && type !== 'reasoning' && scriptsInText === 'run' && stopsAfterScript && !atEnd;
  }

  /** Drops incomplete calls. */
  #stop(saysMore: boolean): void {
    this.#stopped = true;
    for (const [id, type] of this.#open) if (type === 'function_call') this.#cancel(id);
    this.#cut.close(saysMore);
  }

  #cancel(id: string, reason = 'The answer ended before this item was complete.'): void {
    this.#open.delete(id);
    this.#settings.emit({ type: 'item_cancelled', item_id: id, reason });
  }

  #giveUpOpenItems(): void {
    for (const id of this.#open.keys()) this.#cancel(id);
    if (!this.#stopped)
      for (const message of this.#messages.values())
        interrupt(message, 'The answer ended before this item was complete.');
  }
}

/** Keeps the text that the detector held back because it might have become a script. */
function interrupt({ pieces, detector }: OpenMessage, reason: string | undefined): void {
  for (const event of detector.end()) {
    if (event.type === 'text_delta') pieces.delta('message', event.text);
    else if (event.type === 'reasoning_delta') pieces.delta('reasoning', event.text);
    else break;
  }
  pieces.cancel(reason);
}
