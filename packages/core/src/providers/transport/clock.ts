/** Time and chance, so that a test needs no waiting. */
export interface Clock {
  /** In ms since 1970, for dates that a server names. */
  now(): number;
  /** In ms since any moment; goes on evenly when the system's time is changed. */
  elapsed(): number;
  /** Calls back after `ms`. What it gives takes that back. */
  after(ms: number, call: () => void): () => void;
  /** From 0 to below 1. */
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
      takeBack();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const takeBack = clock.after(ms, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
