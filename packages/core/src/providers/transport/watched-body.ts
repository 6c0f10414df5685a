import { BodyEnd } from '../body.js';
import type { Defined } from '../../protocol/json.js';
import type { Clock } from './clock.js';
import { firstTokenTimeout, totalTimeout } from './failures.js';

/** The options of `createProvider` that limit time. */
export interface TimeLimits {
  readonly connectTimeoutMs?: number | undefined;
  readonly idleTimeoutMs?: number | undefined;
  /** Counts from the start of the request. */
  readonly firstTokenTimeoutMs?: number | undefined;
  readonly answerTimeoutMs?: number | undefined;
  readonly totalTimeoutMs?: number | undefined;
}

/** The maximum times of one attempt, in ms. `leftMs`: the rest of the time for all attempts. */
export type AttemptTimes = Defined<Omit<TimeLimits, 'totalTimeoutMs'>> & { readonly leftMs: number };

const DEFAULT_CONNECT_TIMEOUT_MS = 120_000;
const DEFAULT_IDLE_TIMEOUT_MS = 300_000;
const DEFAULT_ANSWER_TIMEOUT_MS = 3_600_000;

/** The times of a request's attempts, which share `totalTimeoutMs`. */
export class AttemptLimits {
  readonly #clock: Clock;
  readonly #limits: TimeLimits;
  readonly #beganAt: number;

  constructor(clock: Clock, limits: TimeLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#beganAt = clock.elapsed();
  }

  /** The time that remains for further attempts, in ms. */
  get leftMs(): number {
    return (this.#limits.totalTimeoutMs ?? Infinity) - (this.#clock.elapsed() - this.#beganAt);
  }

  nextAttempt(): AttemptTimes {
    const {
      connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS,
      idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS,
      firstTokenTimeoutMs = Infinity,
      answerTimeoutMs = DEFAULT_ANSWER_TIMEOUT_MS,
    } = this.#limits;
    return { connectTimeoutMs, idleTimeoutMs, firstTokenTimeoutMs, answerTimeoutMs, leftMs: this.leftMs };
  }
}

export interface BodyWatch {
  clock: Clock;
  /** Maximum time between two chunks, in ms. */
  idleTimeoutMs: number;
  /** Maximum time for the whole body, in ms. */
  answerTimeoutMs: number;
  /** Maximum size of the whole body, in bytes. */
  maxAnswerBytes: number;
  deadlines: Deadlines;
  signal: AbortSignal | undefined;
  /** Called once after the last read: the connection was closed, or the body has ended. */
  onEnd: () => void;
}

type Piece = { done: true; value?: undefined } | { done: false; value: Uint8Array };

/**
 * The chunks of a body. Throws a `BodyEnd` when the signal aborts, when no chunk arrives for too long, when the whole
 * body takes too long or is too large, or when a deadline passes. Except for the deadlines, time counts only while a
 * chunk is awaited, so a slow reader does not make the provider look silent.
 */
export async function* watchBody(
  body: ReadableStream<Uint8Array>,
  watch: BodyWatch,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  const left = { ms: watch.answerTimeoutMs, bytes: watch.maxAnswerBytes };
  try {
    for (;;) {
      // defence: answer-time-of-a-trickle
      if (left.ms <= 0) throw tooLong(watch.answerTimeoutMs);
      const deadline = watch.deadlines.next();
      // defence: total-time-of-a-trickle
      if (deadline.ms <= 0) throw deadline.end();
      const begun = watch.clock.elapsed();
      const piece = await nextPiece(reader.read(), watch, left.ms);
      if (piece.done) return;
      left.ms -= watch.clock.elapsed() - begun;
      left.bytes -= piece.value.length;
      // defence: answer-bytes
      if (left.bytes < 0) throw tooLarge(watch.maxAnswerBytes);
      yield piece.value;
    }
  } finally {
    watch.onEnd();
    // The waiting caller has already received the error.
    reader.cancel().catch(() => {});
  }
}

/** `leftMs`: the time that remains for the whole body. */
function nextPiece(
  reading: Promise<{ done: boolean; value?: Uint8Array | undefined }>,
  watch: BodyWatch,
  leftMs: number,
): Promise<Piece> {
  const { clock, signal } = watch;
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      cancelTimer();
      signal?.removeEventListener('abort', abort);
      settled();
    };
    const abort = (): void => settle(() => reject(new BodyEnd('AnswerAborted', 'The caller aborted the answer.')));
    const { ms, end } = nextLimit(watch, leftMs);
    // defence: answer-time
    const cancelTimer = clock.after(Math.max(0, ms), () => settle(() => reject(end())));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    reading.then(
      (piece) => settle(() => resolve(piece.done ? { done: true } : { done: false, value: piece.value! })),
      (error: unknown) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}

/** The first of the limits that end the wait for a chunk. */
function nextLimit(watch: BodyWatch, leftMs: number): { ms: number; end: () => BodyEnd } {
  const deadline = watch.deadlines.next();
  const own =
    leftMs < watch.idleTimeoutMs
      ? { ms: leftMs, end: () => tooLong(watch.answerTimeoutMs) }
      : { ms: watch.idleTimeoutMs, end: () => stallEnd(watch.idleTimeoutMs) };
  return deadline.ms < own.ms ? deadline : own;
}

function stallEnd(ms: number): BodyEnd {
  return new BodyEnd(
    'AnswerStalled',
    `The provider sent nothing for ${ms / 1000} s. Raise idleTimeoutMs of createProvider if it pauses longer.`,
  );
}

function tooLong(ms: number): BodyEnd {
  const message = `The answer was not complete after ${ms / 1000} s. Raise answerTimeoutMs of createProvider if answers take longer.`;
  return new BodyEnd('AnswerTimeout', message);
}

function tooLarge(bytes: number): BodyEnd {
  const message = `The answer is longer than ${bytes} bytes. Raise maxAnswerBytes of createProvider if answers are longer.`;
  return new BodyEnd('AnswerTooLarge', message);
}

/** The limits on a body that count from the request, even while its reader is busy. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #times: AttemptTimes;
  readonly #beganAt: number;
  #saysSomething = false;

  /** `begun`: the time of the request, by `clock.elapsed()`. */
  constructor(times: AttemptTimes & { readonly clock: Clock }, begun: number) {
    this.#clock = times.clock;
    this.#times = times;
    this.#beganAt = begun;
  }

  saysSomething(): void {
    this.#saysSomething = true;
  }

  /** The time until the next of these limits, in ms, and the `BodyEnd` that the limit causes. */
  next(): { ms: number; end: () => BodyEnd } {
    const { leftMs, firstTokenTimeoutMs } = this.#times;
    const passed = this.#clock.elapsed() - this.#beganAt;
    const first = this.#saysSomething ? Infinity : firstTokenTimeoutMs;
    if (first < leftMs)
      return { ms: first - passed, end: () => new BodyEnd('FirstTokenTimeout', firstTokenTimeout(first).message) };
    return { ms: leftMs - passed, end: () => new BodyEnd('RequestTimeout', totalTimeout().message) };
  }
}
