import {
  DISABLED_WARNING,
  type AnswerSegment,
  type EventPayload,
  type FunctionCallItem,
  type MessageItem,
  type ResponseStatus,
  type OutputItem,
  type ScriptItemMembers,
  type ScriptLanguage,
} from '../protocol/index.js';
import type { Detector, DetectorEvent } from '../script/index.js';
import { AnswerCut, providerFailure, readAhead, SourceFailure, type ProviderFailure } from './provider-stream.js';
import type { AnswerWork } from './answer-work.js';

/*
 * Plays one answer: emits its events as they arrive, and runs each script and call as soon as it is complete. The model
 * never waits for a script: the text that arrives while a script runs is emitted after the script's output.
 *
 *   listening ──a script's end, stopsAfterScript──▶ stopped ──┐
 *       └──────────────────response_done──────────────────────┴──▶ ended
 *
 * In `stopped`, the provider's stream is stopped too, unless the answer ends by itself (see `AnswerCut`). The player
 * then starts no further item. It still handles the usage, failures, the end of the answer, and the payloads of open
 * items.
 */

export interface AnswerSettings {
  readonly emit: (payload: EventPayload) => void;
  readonly work: AnswerWork;
  /** For scripts in the answer's text: the player runs them, replaces each with a warning, or leaves them as text. */
  readonly scriptsInText: 'run' | 'warn' | 'none';
  readonly stopsAfterScript: boolean;
  readonly detector: () => Detector;
  /**
   * Called with each payload before the player handles it, even in `stopped`. The player handles the returned payload.
   */
  readonly onPayload?: ((payload: EventPayload) => EventPayload) | undefined;
  /** Stops the provider's stream after a script. */
  readonly stop: () => void;
  /** The signal that aborts the provider's stream. */
  readonly signal: AbortSignal;
  /** Maximum time in ms that the provider may continue after the signal aborts. */
  readonly graceMs: number;
}

export interface AnswerEnd {
  readonly status: ResponseStatus;
  /** The reason why the answer is incomplete. */
  readonly reason?: string | undefined;
  readonly error?: ProviderFailure | undefined;
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
  /**
   * The types of the started items that have not ended, by id; messages that are searched for scripts are not included.
   */
  readonly #open = new Map<string, string>();
  /**
   * Payloads of other items that arrived while a message was open. The player holds them, so that the pieces of a
   * message stay together.
   */
  #heldPayloads: ItemPayload[] = [];
  readonly #heldIds = new Set<string>();
  /** Ids of the calls that were made. */
  readonly #calls = new Set<string>();
  readonly #cut: AnswerCut;
  #isStopped = false;
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
    if (this.#isStopped) return { status: 'completed' };
    if (this.#error !== undefined) return { status: 'failed', error: this.#error };
    const message = 'The provider’s answer ended without its final event. Send the request again.';
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
        return this.#endAnswer(payload);
      case 'item_start':
      case 'item_delta':
      case 'item_done':
      case 'item_error':
      case 'item_cancelled':
        return this.#takeOfItem(payload);
      default:
        return this.#isStopped ? undefined : emit(payload);
    }
  }

  #endAnswer(payload: Payload<'response_done'>): void {
    const reason = typeof payload.incomplete_reason === 'string' ? { reason: payload.incomplete_reason } : {};
    this.#end = { status: payload.status, ...reason };
  }

  async #takeOfItem(payload: ItemPayload): Promise<void> {
    const id = payload.item_id;
    if (this.#heldIds.has(id)) return void this.#heldPayloads.push(payload);
    if (payload.type === 'item_start') return this.#start(payload);
    if (this.#messages.has(id)) return this.#takeOfMessage(payload);
    if (!this.#open.has(id)) return;
    if (payload.type !== 'item_delta') this.#open.delete(id);
    if (payload.type === 'item_done' && payload.final_item.type === 'function_call')
      return this.#call(id, payload, payload.final_item);
    this.#settings.emit(payload);
  }

  /** Makes each call once, and makes only calls that name a tool. */
  async #call(id: string, payload: ItemPayload, call: FunctionCallItem): Promise<void> {
    // defence: call-taken-once
    if (call.name === '' || this.#calls.has(call.call_id))
      return this.#cancel(id, 'The call names no tool, or repeats an earlier call.');
    this.#calls.add(call.call_id);
    this.#settings.emit(payload);
    await this.#settings.work.call(call);
  }

  #start(payload: Payload<'item_start'>): void {
    if (this.#isStopped) return;
    if (this.#messages.size > 0) {
      this.#heldIds.add(payload.item_id);
      return void this.#heldPayloads.push(payload);
    }
    if (payload.item_type === 'message' && this.#settings.scriptsInText !== 'none') return this.#openMessage(payload);
    this.#open.set(payload.item_id, payload.item_type);
    this.#settings.emit(payload);
  }

  /** Plays the held payloads after a message has ended. A held payload may open another message. */
  async #release(): Promise<void> {
    const held = this.#heldPayloads;
    this.#heldPayloads = [];
    this.#heldIds.clear();
    if (!this.#isStopped) for (const payload of held) await this.#takeOfItem(payload);
  }

  #openMessage({ item_id: id, initial }: Payload<'item_start'>): void {
    const { emit, detector } = this.#settings;
    const pieces = new TextPieces(id, initial ?? {}, emit);
    this.#messages.set(id, { pieces, detector: detector() });
  }

  async #takeOfMessage(payload: Exclude<ItemPayload, { type: 'item_start' }>): Promise<void> {
    const { pieces, detector } = this.#messages.get(payload.item_id)!;
    if (this.#isStopped) return;
    switch (payload.type) {
      case 'item_delta':
        return this.#playDetected(pieces, detector.push(payload.delta));
      case 'item_done': {
        const final = payload.final_item as MessageItem;
        pieces.finishing(final);
        await this.#playDetected(pieces, detector.end(), true);
        this.#messages.delete(payload.item_id);
        if (!this.#isStopped) pieces.completeMessage();
        return this.#release();
      }
      default:
        this.#messages.delete(payload.item_id);
        interrupt({ pieces, detector }, payload.type === 'item_error' ? payload.message : payload.reason);
        return this.#release();
    }
  }

  async #playDetected(pieces: TextPieces, events: readonly DetectorEvent[], atEnd = false): Promise<void> {
    const { scriptsInText } = this.#settings;
    for (const [index, event] of events.entries()) {
      if (this.#isStopped) return;
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

  /**
   * Emits the start of a script whose source streams. After a suspended script no script starts: the source of a later
   * script is emitted when the source is complete.
   */
  #startScript(pieces: TextPieces, { language, format }: Extract<DetectorEvent, { type: 'script_start' }>): void {
    if (this.#settings.work.waiting === undefined) pieces.startScript(language, format);
  }

  #stopsAt({ type }: AnswerSegment, atEnd: boolean): boolean {
    const { scriptsInText, stopsAfterScript } = this.#settings;
    return type !== 'text' && type !== 'reasoning' && scriptsInText === 'run' && stopsAfterScript && !atEnd;
  }

  /** Stops the answer at a script and cancels incomplete calls. */
  #stop(saysMore: boolean): void {
    this.#isStopped = true;
    for (const [id, type] of this.#open) if (type === 'function_call') this.#cancel(id);
    this.#cut.close(saysMore);
  }

  #cancel(id: string, reason = 'The answer ended before this item was complete.'): void {
    this.#open.delete(id);
    this.#settings.emit({ type: 'item_cancelled', item_id: id, reason });
  }

  #giveUpOpenItems(): void {
    for (const id of this.#open.keys()) this.#cancel(id);
    if (!this.#isStopped)
      for (const message of this.#messages.values())
        interrupt(message, 'The answer ended before this item was complete.');
  }
}

/** Emits the text that the detector held back because the text might have become a script, then cancels the message. */
function interrupt({ pieces, detector }: OpenMessage, reason: string | undefined): void {
  for (const event of detector.end()) {
    if (event.type === 'text_delta') pieces.delta('message', event.text);
    else if (event.type === 'reasoning_delta') pieces.delta('reasoning', event.text);
    else break;
  }
  pieces.cancel(reason);
}

/** Ends a piece of text, or runs the segment's script. `warns`: a warning replaces each script. */
async function playSegment(
  segment: AnswerSegment,
  { pieces, work, warns }: { pieces: TextPieces; work: AnswerWork; warns: boolean },
): Promise<void> {
  if (segment.type === 'text') return pieces.close('message', segment.text, segment.raw);
  if (segment.type === 'reasoning') return pieces.close('reasoning', segment.text, segment.raw);
  if (warns) return pieces.warn(segment.raw);
  const { source, language, format, raw } = segment;
  const failure = segment.type === 'malformed' ? { failure: segment.failure } : {};
  await work.script({ source, language, item: pieces.script(format, raw), ...failure });
}

type Emit = (payload: EventPayload) => void;

interface OpenPiece {
  id: string;
  type: 'message' | 'reasoning';
}

/** The members of a provider's message that each of its pieces receives. */
const SHARED = ['native_id', 'phase'];

/**
 * A provider's message, split at its scripts. The joined texts of the pieces (`raw_text`, or else `content`) are the
 * message, byte for byte. A message without scripts stays unchanged.
 */
class TextPieces {
  readonly #id: string;
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #emit: Emit;
  readonly #ids: string[] = [];
  #open: OpenPiece | undefined;
  /** The item of the script whose source is being emitted. */
  #openScript: string | undefined;
  #final: MessageItem | undefined;
  /** True: the message is one piece and keeps its members as the provider sent them. */
  #isWhole = false;

  /** `initial`: the members in the provider's announcement of the message. */
  constructor(id: string, initial: Readonly<Record<string, unknown>>, emit: Emit) {
    const { role: _role, ...members } = initial;
    this.#id = id;
    this.#members = members;
    this.#emit = emit;
  }

  delta(type: 'message' | 'reasoning', delta: string): void {
    if (delta === '') return;
    this.#openPiece(type);
    this.#emit({ type: 'item_delta', item_id: this.#open!.id, delta });
  }

  /** Ends a piece of text, or of reasoning in text. */
  close(type: 'message' | 'reasoning', text: string, raw: string): void {
    this.#openPiece(type);
    this.#completePiece(type, text, type === 'reasoning' ? { raw_text: raw } : {});
  }

  /** Emits a warning in place of a script that is disabled. */
  warn(raw: string): void {
    this.delta('message', DISABLED_WARNING);
    this.#completePiece('message', DISABLED_WARNING, { raw_text: raw });
  }

  /** Starts the item of a script whose source is emitted while the source streams. */
  startScript(language: ScriptLanguage, format: 'xml' | 'fence'): void {
    const id = this.#nextId();
    this.#openScript = id;
    const initial = { ...this.#members, language, format, carrier: 'text' };
    this.#emit({ type: 'item_start', item_id: id, item_type: 'script_execution', initial });
  }

  /** Emits a part of the script's source. Does nothing unless the script has started. */
  sourceDelta(delta: string): void {
    if (this.#openScript !== undefined) this.#emit({ type: 'item_delta', item_id: this.#openScript, delta });
  }

  /** Returns the members of the item of a script in text. */
  script(format: 'xml' | 'fence', raw: string): ScriptItemMembers {
    const started = this.#openScript;
    this.#openScript = undefined;
    const id = started ?? this.#nextId();
    const stage = started === undefined ? {} : { stage: 'started' as const };
    return { ...this.#members, id, format, carrier: 'text', raw_text: raw, ...stage };
  }

  /** Marks the provider's message as complete, before its last piece ends. */
  finishing(final: MessageItem): void {
    this.#final = final;
  }

  /** Completes the message after every piece has ended. */
  completeMessage(): void {
    const final = this.#final!;
    if (this.#ids.length === 0) return this.close('message', final.content, final.content);
    if (this.#ids.length === 1 && this.#isWhole) return;
    const changes = Object.fromEntries(SHARED.filter((name) => name in final).map((name) => [name, final[name]]));
    if (Object.keys(changes).length === 0) return;
    for (const id of this.#ids) this.#emit({ type: 'item_update', item_id: id, changes });
  }

  /**
   * Cancels the open piece or the open script of an interrupted message. The text so far stays, and an incomplete
   * script is dropped.
   */
  cancel(reason: string | undefined): void {
    const id = this.#open?.id ?? this.#openScript;
    if (id === undefined) return;
    this.#emit({ type: 'item_cancelled', item_id: id, reason });
    this.#open = undefined;
    this.#openScript = undefined;
  }

  #openPiece(type: OpenPiece['type']): void {
    if (this.#open !== undefined) return;
    const id = this.#nextId();
    this.#open = { id, type };
    const role = type === 'message' ? { role: 'assistant' } : {};
    this.#emit({ type: 'item_start', item_id: id, item_type: type, initial: { ...this.#members, ...role } });
  }

  #completePiece(type: OpenPiece['type'], text: string, more: object): void {
    const { id } = this.#open!;
    this.#open = undefined;
    this.#isWhole = this.#ids.length === 1 && type === 'message' && this.#final?.content === text;
    const own = type === 'message' ? { type, id, role: 'assistant', content: text } : { type, id, content: text };
    const item = { ...(this.#isWhole ? this.#final : this.#members), ...own, ...more } as OutputItem;
    this.#emit({ type: 'item_done', item_id: id, final_item: item });
  }

  #nextId(): string {
    const id = this.#ids.length === 0 ? this.#id : `${this.#id}_${this.#ids.length}`;
    this.#ids.push(id);
    return id;
  }
}
