const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;

/**
 * The delay before an attempt, in ms. It doubles with each attempt up to 10 s, and is reduced by a random share of up
 * to half.
 */
export function backoffDelay(attempt: number, random: () => number = Math.random): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS);
  return longest * (1 - random() / 2);
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export async function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
