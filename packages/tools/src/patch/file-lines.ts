import type { WorkSlices } from '../work-slices.js';
import type { HunkLine } from './operations.js';

/** Lines that replace the file's lines from `first` up to but not including `end`. */
export interface Replacement {
  readonly first: number;
  readonly end: number;
  readonly lines: readonly HunkLine[];
}

/** A file as lines with their own line endings, so that every byte of unchanged parts stays the same. */
export class FileLines {
  readonly length: number;
  /** Whether the last line has a line ending. True for an empty file. */
  readonly finalLineEnd: boolean;
  readonly #text: string;
  readonly #starts: Int32Array;

  private constructor(text: string, starts: Int32Array, length: number) {
    this.length = length;
    this.#text = text;
    this.#starts = starts;
    this.finalLineEnd = length === 0 || text.endsWith('\n');
  }

  static async of(text: string, slices: WorkSlices): Promise<FileLines> {
    let starts = new Int32Array(1_024);
    let count = 0;
    const first = text.startsWith('\uFEFF') ? 1 : 0;
    for (let at = first; at < text.length;) {
      if (slices.isDue()) await slices.pass();
      if (count + 1 === starts.length) starts = largerStarts(starts);
      starts[count] = at;
      count += 1;
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end + 1;
    }
    starts[count] = text.length;
    return new FileLines(text, starts, count);
  }

  at(index: number): string {
    return this.#text.slice(this.#starts[index], this.#starts[index + 1]! - this.lineEnd(index).length);
  }

  /** The line ending of a line: LF, CRLF, or '' for a last line without one. */
  lineEnd(index: number): string {
    const end = this.#starts[index + 1]!;
    if (index < 0 || index >= this.length || this.#text[end - 1] !== '\n') return '';
    return end - 2 >= this.#starts[index]! && this.#text[end - 2] === '\r' ? '\r\n' : '\n';
  }

  /** The file's text with the replacements, which are in the order of the file. */
  withReplacements(replacements: readonly Replacement[], finalLineEnd: boolean): string {
    const pieces: string[] = [this.#text.slice(0, this.#starts[0])];
    // The default line ending for new lines: the line ending of the file's first line, or LF.
    const lineEnd = this.lineEnd(0) || '\n';
    let last: string | undefined;
    const push = ({ text, end }: Piece): void => {
      // The last line of the file had no line ending. Other lines now follow that line, so it gets one.
      if (last === '') pieces.push(lineEnd);
      pieces.push(text, end);
      last = end;
    };
    let at = 0;
    for (const replacement of replacements) {
      if (replacement.first > at) push(this.#between(at, replacement.first));
      for (const line of this.#placedLines(replacement, lineEnd)) push(line);
      at = replacement.end;
    }
    if (at < this.length) push(this.#between(at, this.length));
    if (last !== undefined && !finalLineEnd) pieces.pop();
    if (last === '' && finalLineEnd) pieces.push(lineEnd);
    return pieces.join('');
  }

  #between(first: number, end: number): Piece {
    const lineEnd = this.lineEnd(end - 1);
    return { text: this.#text.slice(this.#starts[first], this.#starts[end]! - lineEnd.length), end: lineEnd };
  }

  /** Yields the lines of a replacement. A new line gets the ending of the line that it follows or replaces. */
  *#placedLines({ first, lines }: Replacement, fileLineEnd: string): Iterable<Piece> {
    let at = first;
    let lineEnd = this.lineEnd(first) || fileLineEnd;
    for (const { kind, text, end } of lines) {
      const old = kind === 'add' ? undefined : at++;
      if (old !== undefined) lineEnd = this.lineEnd(old) || lineEnd;
      if (kind === 'keep') yield this.#between(old!, old! + 1);
      if (kind === 'add') yield { text, end: end ?? lineEnd };
    }
  }
}

/** One or more lines. The line ending of the last one is separate. */
interface Piece {
  readonly text: string;
  readonly end: string;
}

function largerStarts(starts: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(starts.length * 2);
  larger.set(starts);
  return larger;
}
