/** Pseudo-random numbers, which depend only on the seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e37_79b9) | 0;
  }

  /** A number from 0 to 2 ** 32 - 1 (Tommy Ettinger's mulberry32). */
  word(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  below(count: number): number {
    return this.word() % count;
  }

  /** True once in `count` times. */
  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** A number up to `max`; small numbers are more frequent. */
  size(max: number): number {
    return Math.floor(max * (this.word() / 2 ** 32) ** 3);
  }
}
