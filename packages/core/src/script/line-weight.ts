/**
 * The parser copies a whole line into each of its errors, and may find one at every word and operator: 64 KB of `export `
 * on one line would be 600 MB of errors. This adds up what the errors of a text could weigh.
 */
export class LineWeight {
  readonly #text: string;
  #lineLength = 0;
  #lineEnd = -1;
  #weight = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Counts what may be wrong at `offset`; offsets ascend. True once the errors could weigh too much. */
  add(offset: number): boolean {
    while (offset > this.#lineEnd) {
      const start = this.#lineEnd + 1;
      const end = this.#text.indexOf('\n', start);
      this.#lineEnd = end < 0 ? this.#text.length : end;
      this.#lineLength = this.#lineEnd - start;
    }
    this.#weight += this.#lineLength;
    return this.#weight > MAX_WEIGHT;
  }
}

/** An error takes 6 times its line: about 100 MB in all. 800 words on one line of 20 KB, or 4000 on one of 4 KB. */
const MAX_WEIGHT = 2 ** 24;
