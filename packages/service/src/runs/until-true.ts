interface Waiting {
  /** Yields when the condition may have changed. If undefined, only `lookMs` triggers checks. */
  readonly watch: ((signal: AbortSignal) => AsyncIterable<void>) | undefined;
  readonly isTrue: () => Promise<boolean>;
  readonly waitMs: number;
  /**
   * The interval between checks that no notification triggers, in ms. They are necessary because a notification may be
   * lost.
   */
  readonly lookMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks a condition now and after each change, until it is true. Returns false after `waitMs`, or if the signal aborts
 * or the watch ends.
 */
export async function untilTrue({ watch, isTrue, waitMs, lookMs, signal }: Waiting): Promise<boolean> {
  let wake = () => {};
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    wake();
  };
  const timers = [setTimeout(end, waitMs), setInterval(() => wake(), lookMs)];
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted === true) end();
  const changes = watch?.(ending.signal)[Symbol.asyncIterator]();
  const next = async () => {
    if ((await changes?.next())?.done === true) end();
    changing = undefined;
    wake();
  };
  let changing: Promise<void> | undefined;
  try {
    for (;;) {
      // Both promises exist before the check, so that no change is missed.
      const woken = new Promise<void>((resolve) => (wake = resolve));
      if (changes !== undefined) changing ??= next();
      if (await isTrue()) return true;
      if (ending.signal.aborted) return false;
      await woken;
    }
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener('abort', end);
    end();
    await changing;
  }
}
