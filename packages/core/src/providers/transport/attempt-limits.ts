import type { Clock } from './clock.js';

/** The options of `createProvider` that limit time. */
export interface TimeLimits {
  readonly connectTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** Counts from the request. */
  readonly firstTokenTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
}

/** The maximum times of one attempt, in ms. `leftMs`: the rest of the time for all attempts. */
export type AttemptTimes = Required<Omit<TimeLimits, 'totalTimeoutMs'>> & { readonly leftMs: number };

const DEFAULT_CONNECT_TIMEOUT_MS = 120_000;
const DEFAULT_IDLE_TIMEOUT_MS = 300_000;
const DEFAULT_ANSWER_TIMEOUT_MS = 3_600_000;

/** The times of a request's attempts, which share `totalTimeoutMs`. */
export class AttemptLimits {
  readonly #clock: Clock;
  readonly #limits: TimeLimits;
  readonly #begun: number;

  constructor(clock: Clock, limits: TimeLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#begun = clock.elapsed();
  }

  /** The time for further attempts, in ms. */
  get leftMs(): number {
    return (this.#limits.totalTimeoutMs ?? Infinity) - (this.#clock.elapsed() - this.#begun);
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
