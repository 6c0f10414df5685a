import { BodyEnd } from '../body.js';
import type { Clock } from './clock.js';

export interface BodyWatch {
  clock: Clock;
  /** Most time between two pieces, in ms. */
  idleTimeoutMs: number;
  signal: AbortSignal | undefined;
  /** Called once, when nothing more is read: the connection is given up, or the body has ended. */
  onEnd: () => void;
}

type Piece = { done: true; value?: undefined } | { done: false; value: Uint8Array };

/**
 * A body's pieces. Ends with a `BodyEnd` as soon as the signal aborts, or when nothing came for too long: the time
 * runs only while a piece is waited for, so a slow reader is not taken for a silent provider.
 */
export async function* watchBody(
  body: ReadableStream<Uint8Array>,
  watch: BodyWatch,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      const piece = await nextPiece(reader.read(), watch);
      if (piece.done) return;
      yield piece.value;
    }
  } finally {
    watch.onEnd();
    // Whoever waited for it has been told already.
    reader.cancel().catch(() => {});
  }
}

function nextPiece(reading: Promise<{ done: boolean; value?: Uint8Array }>, watch: BodyWatch): Promise<Piece> {
  const { clock, idleTimeoutMs, signal } = watch;
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      takeBack();
      signal?.removeEventListener('abort', abort);
      settled();
    };
    const abort = (): void => settle(() => reject(new BodyEnd('AnswerAborted', 'The caller aborted the answer.')));
    const stall = (): void =>
      settle(() =>
        reject(new BodyEnd('AnswerStalled', `Nothing came from the provider for ${idleTimeoutMs / 1000} s.`)),
      );
    const takeBack = clock.after(idleTimeoutMs, stall);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    reading.then(
      (piece) => settle(() => resolve(piece.done ? { done: true } : { done: false, value: piece.value! })),
      (error: unknown) => settle(() => reject(error instanceof Error ? error : new Error(String(error)))),
    );
  });
}
