import type { SourcePosition } from '../protocol/index.js';

/** `editor`: \n, \r\n and \r. `ecma`: those, U+2028 and U+2029. `engine`: \n alone. */
export type LineEnds = 'editor' | 'ecma' | 'engine';

const PATTERNS: Record<LineEnds, RegExp> = {
  editor: /\r\n|\n|\r/g,
  ecma: /\r\n|[\n\r\u2028\u2029]/g,
  engine: /\n/g,
};

/** Converts offsets of a text to 1-based lines and columns and back. Columns count UTF-16 units. */
export class LineIndex {
  readonly #starts: number[] = [0];
  readonly #length: number;

  constructor(text: string, lineEnds: LineEnds = 'editor') {
    this.#length = text.length;
    for (const match of text.matchAll(PATTERNS[lineEnds])) this.#starts.push(match.index + match[0].length);
  }

  get lineCount(): number {
    return this.#starts.length;
  }

  positionAt(offset: number): SourcePosition {
    const inside = Math.max(0, Math.min(offset, this.#length));
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#startOf(middle) <= inside) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: inside - this.#startOf(low) + 1 };
  }

  /** Undefined for a line that does not exist; a column after the line's end is the line's end. */
  offsetAt(line: number, column: number): number | undefined {
    if (!Number.isInteger(line) || line < 1 || line > this.#starts.length) return undefined;
    const start = this.#startOf(line - 1);
    const end = line < this.#starts.length ? this.#startOf(line) - 1 : this.#length;
    return Math.max(start, Math.min(start + Math.max(0, column - 1), end));
  }

  #startOf(index: number): number {
    return this.#starts[index] ?? 0;
  }
}
