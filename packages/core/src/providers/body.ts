import { jsonTextProblem, MESSAGE_LIMITS, messageJson } from '../protocol/json.js';
import { SseParser, MAX_EVENT_LENGTH } from '../text/sse.js';

/** The body of a model's answer: the whole text or bytes, or a stream of chunks. */
export type AnswerBody = string | Uint8Array | ArrayBuffer | AsyncIterable<string | Uint8Array>;

/** One message of a body. */
export type WireEvent =
  | {
      readonly type: 'event';
      readonly name: string;
      readonly data: unknown;
      /** True if the event equals the previous event. */
      readonly isRepeat?: boolean | undefined;
    }
  /** `data: [DONE]` */
  | { readonly type: 'done_marker' }
  /** The body was one JSON value instead of a stream. */
  | { readonly type: 'whole'; readonly data: unknown }
  /** The body has ended. */
  | { readonly type: 'body_end' }
  | { readonly type: 'broken'; readonly code: BrokenBody; readonly message: string };

/**
 * `AnswerInterrupted`: the source failed. `AnswerMalformed`: the body violates the format. `AnswerStalled`: no bytes
 * arrived for too long. `AnswerTimeout`: the whole body took too long. `FirstTokenTimeout`: the first item came too
 * late. `RequestTimeout`: all attempts took too long. `AnswerAborted`: the caller aborted. `AnswerTruncated`: the body
 * ended too early. `AnswerTooLarge`: the body, or one of its events, is too long.
 */
type BrokenBody = 'AnswerInterrupted' | 'AnswerMalformed' | 'AnswerTruncated' | BodyEndCode;

type BodyEndCode =
  | 'AnswerStalled'
  | 'AnswerTimeout'
  | 'FirstTokenTimeout'
  | 'RequestTimeout'
  | 'AnswerTooLarge'
  | 'AnswerAborted';

/** A source throws this to report why the body ends. */
export class BodyEnd extends Error {
  override readonly name = 'BodyEnd';
  readonly code: BodyEndCode;

  constructor(code: BodyEndCode, message: string) {
    super(message);
    this.code = code;
  }
}

const EXCERPT_LENGTH = 200;
const STREAM_START = /^\ufeff?\s*(?:data|event|id|retry)?:/;

/** The messages of a body. Never throws: if the source fails, the last message is `isBroken`. */
export async function* readBody(body: AnswerBody): AsyncGenerator<WireEvent, void, undefined> {
  const reader = new BodyReader();
  for await (const piece of bodyPieces(body)) {
    yield* typeof piece === 'string' ? reader.push(piece) : [piece];
    if (typeof piece !== 'string' || reader.isBroken) return;
  }
  yield* reader.end();
}

async function* bodyPieces(body: AnswerBody): AsyncGenerator<string | WireEvent, void, undefined> {
  // The reader itself skips the byte order mark, because the body may also be a string.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  try {
    for await (const piece of isWhole(body) ? [body] : body) {
      yield typeof piece === 'string' ? decoder.decode() + piece : decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    yield { type: 'broken', code: error instanceof BodyEnd ? error.code : 'AnswerInterrupted', message };
  }
}

function isWhole(body: AnswerBody): body is string | Uint8Array | ArrayBuffer {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof ArrayBuffer;
}

/**
 * Turns text into messages. A body that starts with `{` or `[` is one JSON value, because no line of a stream starts
 * with these characters:
 *
 *   undecided ──first visible character──▶ stream | whole ──▶ broken
 */
class BodyReader {
  #state: 'undecided' | 'stream' | 'whole' | 'broken' = 'undecided';
  readonly #parser = new SseParser();
  readonly #repeatedEvents = new RepeatedEvents();
  /** The chunks received while undecided, or all chunks of a whole body. */
  #heldChunks: string[] = [];
  #heldLength = 0;
  #excerpt = '';
  #sawEvent = false;

  get isBroken(): boolean {
    return this.#state === 'broken';
  }

  push(text: string): WireEvent[] {
    if (this.#excerpt.length < EXCERPT_LENGTH) this.#excerpt += text.slice(0, EXCERPT_LENGTH - this.#excerpt.length);
    switch (this.#state) {
      case 'undecided':
        return this.#decide(text);
      case 'whole':
        return this.#hold(text);
      case 'stream':
        return this.#parse(text);
      case 'broken':
        return [];
    }
  }

  end(): WireEvent[] {
    switch (this.#state) {
      case 'broken':
        return [];
      case 'whole':
        return this.#endWhole();
      default:
        return this.#endStream();
    }
  }

  #decide(text: string): WireEvent[] {
    const [first] = /[^\s\ufeff]/.exec(text) ?? [];
    if (first === undefined) return this.#hold(text);
    const start = this.#heldChunks.join('') + text;
    this.#heldChunks = [];
    this.#heldLength = 0;
    this.#state = first === '{' || first === '[' ? 'whole' : 'stream';
    return this.#state === 'whole' ? this.#hold(start) : this.#parse(start);
  }

  #hold(text: string): WireEvent[] {
    this.#heldLength += text.length;
    if (this.#heldLength > MAX_EVENT_LENGTH)
      return this.#break(
        'AnswerTooLarge',
        `The answer is longer than the maximum of ${MAX_EVENT_LENGTH} characters. Ask for a shorter answer.`,
      );
    this.#heldChunks.push(text);
    return [];
  }

  #parse(text: string): WireEvent[] {
    const events: WireEvent[] = [];
    for (const { name, data } of this.#parser.push(text)) {
      if (!this.isBroken) events.push(...this.#event(name, data));
    }
    if (this.#parser.hasOverflowed && !this.isBroken) {
      const message = `An event of the stream is longer than the maximum of ${MAX_EVENT_LENGTH} characters. Ask for a shorter answer.`;
      events.push(...this.#break('AnswerTooLarge', message));
    }
    return events;
  }

  #event(name: string, data: string): WireEvent[] {
    const text = data.trim();
    if (text === '') return [];
    this.#sawEvent = true;
    if (text === '[DONE]') return [{ type: 'done_marker' }];
    const seen = this.#repeatedEvents.read(text);
    // defence: doubled-stream
    if (seen === 'echo') return [];
    const value = messageJson(text);
    if (value !== undefined) return [{ type: 'event', name, data: value, isRepeat: seen === 'repeat' }];
    if (jsonTextProblem(text, MESSAGE_LIMITS) !== undefined) return this.#tooLarge(text);
    return this.#break(
      'AnswerMalformed',
      `An event of the stream is not JSON. Send the request again; the event is ${excerpt(text)}`,
    );
  }

  #endStream(): WireEvent[] {
    const [rest] = this.#parser.end();
    if (rest !== undefined && (rest.data.trim() === '[DONE]' || messageJson(rest.data) !== undefined)) {
      return [...this.#event(rest.name, rest.data), { type: 'body_end' }];
    }
    const isStream = this.#sawEvent || rest !== undefined || STREAM_START.test(this.#excerpt);
    if (isStream || this.#excerpt.trim() === '') return [{ type: 'body_end' }];
    const message = `The body is neither a stream of events nor JSON. Check baseUrl; the body begins with ${excerpt(this.#excerpt)}`;
    return this.#break('AnswerMalformed', message);
  }

  #endWhole(): WireEvent[] {
    const text = this.#heldChunks.join('').replace(/^\ufeff/, '');
    const data = messageJson(text);
    if (data !== undefined) return [{ type: 'whole', data }, { type: 'body_end' }];
    if (jsonTextProblem(text, MESSAGE_LIMITS) !== undefined) return this.#tooLarge(text);
    return this.#break(
      'AnswerTruncated',
      `The body ended before its JSON was complete, or is not JSON. Send the request again; the body is ${excerpt(text)}`,
    );
  }

  #tooLarge(text: string): WireEvent[] {
    const problem = jsonTextProblem(text, MESSAGE_LIMITS)!;
    return this.#break(
      'AnswerTooLarge',
      `The answer has a message that ${problem}, the maximum. Ask for a shorter answer.`,
    );
  }

  #break(code: BrokenBody, message: string): WireEvent[] {
    this.#state = 'broken';
    return [{ type: 'broken', code, message }];
  }
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text);
}

/**
 * Detects events that a stream sends twice. An event that equals the previous one is a repeat. The decoder decides
 * whether a repeat has a meaning, because two text deltas may be equal. If the very first event comes twice, the stream
 * doubles each event, including text deltas, until an event comes alone:
 *
 *   first ──an equal event──▶ doubled ──an event comes alone──▶ plain
 *     └──────another event──────────────────────────────────────▶
 */
class RepeatedEvents {
  #state: 'first' | 'doubled' | 'plain' = 'first';
  #previous: string | undefined;
  /** The newest event has come alone so far. */
  #isAlone = false;

  /** `echo`: the event is the second of a pair in a doubled stream. `repeat`: the event equals the previous event. */
  read(text: string): 'new' | 'repeat' | 'echo' {
    const isSame = text === this.#previous;
    if (this.#state === 'first' && this.#previous !== undefined) this.#state = isSame ? 'doubled' : 'plain';
    if (this.#state === 'doubled' && this.#isAlone && !isSame) this.#state = 'plain';
    this.#previous = text;
    if (this.#state !== 'doubled') {
      this.#isAlone = true;
      return isSame ? 'repeat' : 'new';
    }
    const isEcho = this.#isAlone;
    this.#isAlone = !isEcho;
    return isEcho ? 'echo' : 'new';
  }
}
