import type { SourcePosition } from '../../protocol/index.js';

/** A replacement of `[start, end)` by `text`. The edits of a list are in ascending order and do not overlap. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Several passes over a text, in order; each pass counts its offsets in the text that the previous pass produced. */
export type EditLayers = readonly (readonly Edit[])[];

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  for (const edit of edits) {
    result += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return result + text.slice(from);
}

export function applyLayers(text: string, layers: EditLayers): string {
  return layers.reduce(applyEdits, text);
}

/** Converts an offset in the edited text to an offset in the text before the first layer. */
export function originalOffset(offset: number, layers: EditLayers): number {
  return layers.reduceRight((position, edits) => offsetBefore(position, edits), offset);
}

/** The ranges of text that was inserted without replacing other text, as offsets in the text after the last layer. */
export function insertedRanges(layers: EditLayers): (readonly [start: number, end: number])[] {
  return layers.reduce<(readonly [number, number])[]>((ranges, edits) => {
    const moved = ranges.map(([start, end]) => [offsetAfter(start, edits), offsetAfter(end, edits)] as const);
    return [...moved, ...additions(edits)];
  }, []);
}

function additions(edits: readonly Edit[]): (readonly [start: number, end: number])[] {
  let shift = 0;
  return edits.flatMap(({ start, end, text }) => {
    const at = start + shift;
    shift += text.length - (end - start);
    return start === end && text !== '' ? [[at, at + text.length] as const] : [];
  });
}

function offsetAfter(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const { start, end, text } of edits) {
    if (start > offset) break;
    shift += text.length - (end - start);
  }
  return offset + shift;
}

/** Replaces every character except line breaks with a space, so that all positions stay the same. */
export function blank(text: string): string {
  return text.replace(/[^\r\n\u2028\u2029]/g, ' ');
}

function offsetBefore(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const edit of edits) {
    const start = edit.start + shift;
    if (offset < start) break;
    const end = start + edit.text.length;
    if (offset < end) {
      const sameLength = edit.text.length === edit.end - edit.start;
      return sameLength ? edit.start + (offset - start) : edit.start;
    }
    shift += edit.text.length - (edit.end - edit.start);
  }
  return offset - shift;
}

/** The characters that end a line. `editor`: \n, \r\n and \r. `ecma`: also U+2028 and U+2029. `engine`: only \n. */
type LineEnds = 'editor' | 'ecma' | 'engine';

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
      if (this.#lineStart(middle) <= inside) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: inside - this.#lineStart(low) + 1 };
  }

  /**
   * The offset of a line and column; undefined for a line that does not exist. A column after the line's end means the
   * line's end.
   */
  offsetAt(line: number, column: number): number | undefined {
    if (!Number.isInteger(line) || line < 1 || line > this.#starts.length) return undefined;
    const start = this.#lineStart(line - 1);
    const end = line < this.#starts.length ? this.#lineStart(line) - 1 : this.#length;
    return Math.max(start, Math.min(start + Math.max(0, column - 1), end));
  }

  #lineStart(index: number): number {
    return this.#starts[index] ?? 0;
  }
}
