/**
 * Adds up how large the parser's errors for a text could become. The parser copies a whole line into each error, and
 * may report an error at every word and operator: 64 KB of `export ` on one line would produce 600 MB of errors.
 */
export class LineWeight {
  readonly #text: string;
  #lineLength = 0;
  #lineEnd = -1;
  #weight = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Counts a possible error at `offset`. The offsets of successive calls must ascend. Returns true once the errors
   * could become too large.
   */
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
 * Maximum weight: the sum of the lengths of the lines with errors. An error takes 6 bytes for each character of its
 * line, so the maximum is about 100 MB. A line of 20 KB with 820 words and operators exceeds the maximum.
 */
const MAX_WEIGHT = 2 ** 24;

/**
 * The first character property that makes a text too costly; undefined if there is none. Counts properties in the
 * whole text, because only the parser knows where a pattern begins and ends.
 */
export function findCostlyProperty(text: string): { readonly kind: 'properties'; readonly offset: number } | undefined {
  let cost = 0;
  for (const match of text.matchAll(PROPERTY)) {
    cost += TEXT_PROPERTY.test(match[1] ?? '') ? TEXT_PROPERTY_COST : 1;
    if (cost > MAX_PROPERTY_COST) return { kind: 'properties', offset: match.index };
  }
  return undefined;
}

/**
 * Maximum cost of the character properties in all regular expressions of a text, because the engine expands each of
 * them.
 */
const MAX_PROPERTY_COST = 2_000;
/** `\p{RGI_Emoji}` expands to thousands of strings, which take a megabyte and 5 ms for each use. */
const TEXT_PROPERTY_COST = 100;
const PROPERTY = /\\p\{([^}]{0,40})/giu;
const TEXT_PROPERTY = /emoji|rgi/iu;
