import type { Usage } from '../protocol/index.js';

/** What the answers of a run used. The figures of one answer replace each other; those of all are added. */
export class UsageSum {
  #ended: Usage | undefined;
  #current: Usage | undefined;
  #last: Usage | undefined;

  note(usage: Usage): void {
    this.#current = usage;
  }

  endAnswer(): void {
    this.#ended = this.total;
    this.#last = this.#current;
    this.#current = undefined;
  }

  /** Of the last answer that has ended. */
  get last(): Usage | undefined {
    return this.#last;
  }

  /** Undefined where nothing was said. */
  get total(): Usage | undefined {
    if (this.#current === undefined) return this.#ended;
    const sum: Usage = { input_tokens: 0, output_tokens: 0 };
    for (const usage of [this.#ended, this.#current]) {
      for (const [name, figure] of Object.entries(usage ?? {}))
        if (typeof figure === 'number') sum[name] = ((sum[name] as number | undefined) ?? 0) + figure;
    }
    return sum;
  }

  get tokens(): number {
    const { total } = this;
    return total === undefined ? 0 : (total.total_tokens ?? total.input_tokens + total.output_tokens);
  }
}
