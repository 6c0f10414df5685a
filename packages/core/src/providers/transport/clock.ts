/** Time and randomness. Tests replace them, so that no test has to wait. */
export interface Clock {
  /** The time in ms since 1970, to compare with dates that a server sends. */
  now(): number;
  /** Monotonic time in ms. Changes of the system time do not affect it. */
  elapsed(): number;
  /** Calls `call` after `ms`. The returned function prevents the call. */
  after(ms: number, call: () => void): () => void;
  /** A random number, at least 0 and below 1. */
  random(): number;
}

export const SYSTEM_CLOCK: Clock = Object.freeze({
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms: number, call: () => void) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
});

/** Resolves after `ms`, or as soon as the signal aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      cancelTimer();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancelTimer = clock.after(ms, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
