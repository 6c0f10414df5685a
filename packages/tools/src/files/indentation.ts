import { WorkSlices } from '../work-slices.js';

/*
 * The block of code around a line, found by indentation, so that the search works for every language that indents. An
 * enclosing line is the nearest line above with less indentation; a block ends before the next line that is not
 * indented deeper than its first line, or with the line that closes the block (`}`, `)`, `end`).
 */

export interface BlockOptions {
  /** Maximum number of enclosing levels; 0 means all. */
  readonly maxLevels: number;
  /** True: includes the adjacent blocks with the same indentation. */
  readonly includeSiblings: boolean;
  /** True: includes comments, decorators and attributes directly above. */
  readonly includeHeader: boolean;
}

/** A range of lines, 0-based, both ends included. */
export interface LineRange {
  readonly first: number;
  readonly last: number;
}

const TAB_WIDTH = 4;
/** Maximum number of characters that are examined at either end of a line. */
const LOOKED_AT = 1_000;
const CLOSER = /^\s*(?:[}\])]|<\/|(?:end|fi|done|esac|else|elif|elsif|except|finally|catch|rescue|ensure)\b)/;
const OPENER = /(?:[{([:]|\b(?:do|then|else|begin))\s*$/;
const HEADER = /^\s*(?:\/\/|\/\*|\*|#|@|--|;|%|"""|''')/;

/** An array, or another list of lines. */
export interface Lines {
  readonly length: number;
  readonly at: (index: number) => string | undefined;
}

/** The block around the line `anchor` (0-based, within `lines`). */
export async function blockAround(
  lines: Lines,
  anchor: number,
  options: BlockOptions,
  slices = new WorkSlices({ signal: undefined }),
): Promise<LineRange> {
  return (await IndentedLines.of(lines, slices)).blockAround(anchor, options);
}

/** At most `limit` lines of a range, expanded from the anchor in both directions. */
export function limitAround(range: LineRange, anchor: number, limit: number): LineRange {
  let first = anchor;
  let last = anchor;
  while (last - first + 1 < limit && (first > range.first || last < range.last)) {
    if (first > range.first) first -= 1;
    if (last - first + 1 < limit && last < range.last) last += 1;
  }
  return { first, last };
}

class IndentedLines {
  readonly #lines: Lines;
  readonly #slices: WorkSlices;
  /**
   * The width of the leading white space of each line. A blank line has the width of the next line that is not blank.
   */
  readonly #indents: Int32Array;
  readonly #blanks: Uint8Array;

  private constructor(lines: Lines, slices: WorkSlices) {
    this.#lines = lines;
    this.#slices = slices;
    this.#indents = new Int32Array(lines.length);
    this.#blanks = new Uint8Array(lines.length);
  }

  static async of(lines: Lines, slices: WorkSlices): Promise<IndentedLines> {
    const indented = new IndentedLines(lines, slices);
    await indented.#measure();
    return indented;
  }

  async blockAround(anchor: number, options: BlockOptions): Promise<LineRange> {
    const top = await this.#enclosingLine(anchor, options.maxLevels);
    const range = options.includeSiblings ? await this.#siblings(top) : { first: top, last: await this.#blockEnd(top) };
    const first = options.includeHeader ? await this.#headerStart(range.first) : range.first;
    return this.#trimBlank({ first, last: Math.max(range.last, anchor) }, anchor);
  }

  async #measure(): Promise<void> {
    let below = 0;
    for (let index = this.#lines.length - 1; index >= 0; index -= 1) {
      const line = this.#text(index);
      if (this.#slices.isDue(1 + line.length / 64)) await this.#slices.pass();
      if (line.trim() === '') this.#blanks[index] = 1;
      else below = lineIndent(line);
      this.#indents[index] = below;
    }
  }

  async #enclosingLine(anchor: number, maxLevels: number): Promise<number> {
    let top = CLOSER.test(this.#head(anchor)) ? await this.#openingLine(anchor) : anchor;
    const levels = maxLevels === 0 ? Number.POSITIVE_INFINITY : maxLevels;
    for (let level = 0; level < levels; level += 1) {
      const above = await this.#lineAbove(top, this.#indents[top]! - 1);
      if (above === undefined) break;
      top = await this.#openingLine(above);
    }
    return top;
  }

  /** Returns the opening line of the block that a line closes (`} else {`, `end`). */
  async #openingLine(line: number): Promise<number> {
    let top = line;
    while (CLOSER.test(this.#head(top))) {
      const above = await this.#lineAbove(top, this.#indents[top]!);
      if (above === undefined || this.#indents[above]! < this.#indents[top]!) break;
      top = above;
    }
    return top;
  }

  async #lineAbove(from: number, maxIndent: number): Promise<number | undefined> {
    for (let index = from - 1; index >= 0; index -= 1) {
      if (this.#slices.isDue()) await this.#slices.pass();
      if (!this.#blanks[index] && this.#indents[index]! <= maxIndent) return index;
    }
    return undefined;
  }

  async #blockEnd(top: number): Promise<number> {
    for (let index = top + 1; index < this.#lines.length; index += 1) {
      if (this.#slices.isDue()) await this.#slices.pass();
      if (this.#blanks[index] || this.#indents[index]! > this.#indents[top]!) continue;
      const closes = this.#indents[index] === this.#indents[top] && CLOSER.test(this.#head(index));
      if (!closes) return index - 1;
      if (!OPENER.test(this.#text(index).slice(-LOOKED_AT))) return index;
    }
    return this.#lines.length - 1;
  }

  async #siblings(top: number): Promise<LineRange> {
    const indent = this.#indents[top]!;
    let first = top;
    let last = top;
    while (first > 0 && this.#indents[first - 1]! >= indent) {
      if (this.#slices.isDue()) await this.#slices.pass();
      first -= 1;
    }
    while (last + 1 < this.#lines.length && this.#indents[last + 1]! >= indent) {
      if (this.#slices.isDue()) await this.#slices.pass();
      last += 1;
    }
    return { first, last };
  }

  async #headerStart(first: number): Promise<number> {
    let start = first;
    while (start > 0 && this.#indents[start - 1]! >= this.#indents[first]! && HEADER.test(this.#head(start - 1))) {
      if (this.#slices.isDue()) await this.#slices.pass();
      start -= 1;
    }
    return start;
  }

  async #trimBlank(range: LineRange, anchor: number): Promise<LineRange> {
    let { first, last } = range;
    while (first < anchor && this.#blanks[first]) {
      if (this.#slices.isDue()) await this.#slices.pass();
      first += 1;
    }
    while (last > anchor && this.#blanks[last]) {
      if (this.#slices.isDue()) await this.#slices.pass();
      last -= 1;
    }
    return { first, last };
  }

  #head(index: number): string {
    return this.#text(index).slice(0, LOOKED_AT);
  }

  #text(index: number): string {
    return this.#lines.at(index)!;
  }
}

function lineIndent(line: string): number {
  let columns = 0;
  for (let at = 0; at < Math.min(line.length, LOOKED_AT); at += 1) {
    const character = line[at];
    if (character === ' ') columns += 1;
    else if (character === '\t') columns += TAB_WIDTH - (columns % TAB_WIDTH);
    else break;
  }
  return columns;
}
