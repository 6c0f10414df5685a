import { BodyEnd } from '../body.js';
import type { Clock } from './clock.js';

export interface BodyWatch {
  clock: Clock;
  /** Most time between two pieces, in ms. */
  idleTimeoutMs: number;
  /** Most time that the whole body is waited for, in ms. */
  answerTimeoutMs: number;
  /** Most bytes of the whole body. */
  maxAnswerBytes: number;
  signal: AbortSignal | undefined;
  /** Called once, when nothing more is read: the connection is given up, or the body has ended. */
  onEnd: () => void;
}

type Piece = { done: true; value?: undefined } | { done: false; value: Uint8Array };

/**
 * A body's pieces. Ends with a `BodyEnd` as soon as the signal aborts, when nothing came for too long, or when the
 * whole of it takes too long or is too much: the time runs only while a piece is waited for, so a slow reader is not
 * taken for a silent provider.
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
    // Whoever waited for it has been told already.
    reader.cancel().catch(() => {});
  }
}

/** `leftMs`: what is left of the time for the whole body. */
function nextPiece(
  reading: Promise<{ done: boolean; value?: Uint8Array }>,
  watch: BodyWatch,
  leftMs: number,
): Promise<Piece> {
  const { clock, idleTimeoutMs, signal } = watch;
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      takeBack();
      signal?.removeEventListener('abort', abort);
      settled();
    };
    const abort = (): void => settle(() => reject(new BodyEnd('AnswerAborted', 'The caller aborted the answer.')));
    const isLast = leftMs < idleTimeoutMs;
    const giveUp = (): void => settle(() => reject(isLast ? tooLong(watch.answerTimeoutMs) : stalled(idleTimeoutMs)));
    // defence: answer-time, without it: const takeBack = clock.after(idleTimeoutMs, giveUp);
    const takeBack = clock.after(isLast ? Math.max(0, leftMs) : idleTimeoutMs, giveUp);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    reading.then(
      (piece) => settle(() => resolve(piece.done ? { done: true } : { done: false, value: piece.value! })),
      (error: unknown) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}

function stalled(ms: number): BodyEnd {
  return new BodyEnd('AnswerStalled', `Nothing came from the provider for ${ms / 1000} s.`);
}

function tooLong(ms: number): BodyEnd {
  const message = `The provider was not done with its answer after ${ms / 1000} s. Raise answerTimeoutMs of createProvider where answers take longer.`;
  return new BodyEnd('AnswerTimeout', message);
}

function tooLarge(bytes: number): BodyEnd {
  const message = `The answer is longer than ${bytes} bytes. Raise maxAnswerBytes of createProvider where answers are longer.`;
  return new BodyEnd('AnswerTooLarge', message);
}
