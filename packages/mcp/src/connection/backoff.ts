import type { Defined } from '@toolscript/core/internal';

export interface ReconnectOptions {
  /** The wait before the first attempt, in ms. It doubles before each further attempt. Default 500. */
  readonly firstDelayMs?: number | undefined;
  /** The maximum wait, in ms. Default 30 000. */
  readonly maxDelayMs?: number | undefined;
  /** Maximum number of consecutive automatic attempts. Afterwards, only a call or `reconnect` retries. Default 6. */
  readonly attempts?: number | undefined;
}

/** The waits between attempts to reconnect: exponential, reduced by a random share of up to a fifth. */
export class Backoff {
  readonly #options: Defined<ReconnectOptions>;
  #failures = 0;

  constructor({ firstDelayMs = 500, maxDelayMs = 30_000, attempts = 6 }: ReconnectOptions = {}) {
    this.#options = { firstDelayMs, maxDelayMs, attempts };
  }

  /** The next wait in ms; undefined if no attempts remain. */
  next(): number | undefined {
    const { firstDelayMs, maxDelayMs, attempts } = this.#options;
    if (this.#failures >= attempts) return undefined;
    const full = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#failures);
    this.#failures += 1;
    return full * (1 - Math.random() / 5);
  }

  /** Resets the waits after the server has worked. */
  reset(): void {
    this.#failures = 0;
  }
}
