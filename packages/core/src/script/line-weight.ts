/**
 * The parser copies a whole line into each of its errors, and may report one at every word and operator: 64 KB of
 * `export ` on one line would produce 600 MB of errors. This class adds up how large the errors of a text could
 * become.
 */
export class LineWeight {
  readonly #text: string;
  #lineLength = 0;
  #lineEnd = -1;
  #weight = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Counts a possible error at `offset`; offsets ascend. True once the errors could become too large. */
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

/**
 * An error takes 6 times the size of its line: at this maximum about 100 MB in all. Examples of this maximum are 800
 * words on one line of 20 KB, and 4000 on one of 4 KB.
 */
const MAX_WEIGHT = 2 ** 24;
