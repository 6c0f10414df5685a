import { BodyEnd } from '../body.js';
import type { AttemptTimes } from './attempt-limits.js';
import type { Clock } from './clock.js';
import { firstTokenTimeout, totalTimeout } from './failures.js';

/** The limits on a body that count from the request, also while its reader is busy. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #times: AttemptTimes;
  readonly #begun: number;
  #saysSomething = false;

  /** `begun`: the time of the request, by `clock.elapsed()`. */
  constructor(times: AttemptTimes & { readonly clock: Clock }, begun: number) {
    this.#clock = times.clock;
    this.#times = times;
    this.#begun = begun;
  }

  saysSomething(): void {
    this.#saysSomething = true;
  }

  /** The time until the next of these limits, in ms, and the `BodyEnd` that it causes. */
  next(): { ms: number; end: () => BodyEnd } {
    const { leftMs, firstTokenTimeoutMs } = this.#times;
    const passed = this.#clock.elapsed() - this.#begun;
    const first = this.#saysSomething ? Infinity : firstTokenTimeoutMs;
    if (first < leftMs)
      return { ms: first - passed, end: () => new BodyEnd('FirstTokenTimeout', firstTokenTimeout(first).message) };
    return { ms: leftMs - passed, end: () => new BodyEnd('RequestTimeout', totalTimeout().message) };
  }
}
