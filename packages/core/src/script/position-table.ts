import type { SourcePosition } from '../protocol/index.js';

/** Lines of `javascript` that belong to the wrapper, before the script's first line. */
const WRAPPER_LINES = 1;

/**
 * Maps 1-based positions in `javascript` to the model's own source; the text of `encodePositions` is parsed at the
 * first query.
 */
export class PositionTable {
  readonly #encode: () => string;
  #encoded: string | undefined;
  #lines: readonly LineOfCode[] | undefined;

  constructor(encode: () => string) {
    this.#encode = encode;
  }

  /** See `encodePositions`. */
  get encoded(): string {
    return (this.#encoded ??= this.#encode());
  }

  /**
   * The place in the source. Between two pieces with equal distances in source and code, it is interpolated. Otherwise
   * it is the place of the last piece at or before the position; if there is none, of the first piece on the line, or
   * else of the last piece before the line.
   */
  original(line: number, column: number): SourcePosition | undefined {
    this.#lines ??= readLines(this.encoded);
    const index = line - 1 - WRAPPER_LINES;
    const onLine = this.#lines[index];
    if (onLine === undefined) return undefined;
    const at = lastAtOrBefore(onLine, column);
    const piece = onLine[at] ?? onLine[0] ?? lastBefore(this.#lines, index);
    if (piece === undefined) return undefined;
    const beyond = isRun(onLine[at], onLine[at + 1]) ? column - piece.column : 0;
    return { line: piece.line, column: piece.sourceColumn + beyond };
  }
}

function isRun(piece: Piece | undefined, next: Piece | undefined): boolean {
  if (piece === undefined || next === undefined) return false;
  return next.line === piece.line && next.sourceColumn - piece.sourceColumn === next.column - piece.column;
}

interface Piece {
  readonly column: number;
  readonly line: number;
  readonly sourceColumn: number;
}

/** The pieces of a line, in ascending order of their columns. */
type LineOfCode = readonly Piece[];

function readLines(encoded: string): LineOfCode[] {
  let line = 0;
  let sourceColumn = 0;
  return (JSON.parse(encoded) as number[][]).map((differences) => {
    let column = 0;
    return Array.from({ length: differences.length / 3 }, (_, index): Piece => {
      column += differences[3 * index]!;
      line += differences[3 * index + 1]!;
      sourceColumn += differences[3 * index + 2]!;
      return { column, line, sourceColumn };
    });
  });
}

/** The index of the last piece at or before the column; -1 if every piece begins later. */
function lastAtOrBefore(pieces: LineOfCode, column: number): number {
  let low = -1;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pieces[middle]!.column <= column) low = middle;
    else high = middle - 1;
  }
  return low;
}

function lastBefore(lines: readonly LineOfCode[], index: number): Piece | undefined {
  return lines
    .slice(0, index)
    .findLast((pieces) => pieces.length > 0)
    ?.at(-1);
}
