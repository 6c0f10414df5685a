// Maps positions in the compiled code to the model's own source, as `script/wrapper.ts` does.
import { parse } from '../primordials.js';

/** A line's triples: a column of the code, and the line and column of the source from which the code there comes. */
type Line = number[];

let positionsText = '';
/** Created when the first stack is read. */
let positions: Line[] | undefined;

export function setPositions(text: string): void {
  positionsText = text;
}

/** `LINE:COLUMN` in the source; undefined for a position that is not in the script. */
export function originalPlace(line: number, column: number): string | undefined {
  if (positionsText === '') return line + ':' + column;
  positions ??= readPositions();
  let index = line - 2;
  let pieces = positions[index];
  if (pieces === undefined) return undefined;
  let at = 0;
  while (at + 3 < pieces.length && pieces[at + 3]! <= column) at += 3;
  const beyond = isRunAt(pieces, at, column) ? column - pieces[at]! : 0;
  while (pieces.length === 0 && index > 0) {
    pieces = positions[--index]!;
    at = pieces.length - 3;
  }
  return pieces.length === 0 ? undefined : pieces[at + 1] + ':' + (pieces[at + 2]! + beyond);
}

/**
 * True if the triple at `at` is at or before the column, and code and source have the same length up to the next
 * triple.
 */
function isRunAt(pieces: Line, at: number, column: number): boolean {
  const columns = pieces[at + 3]! - pieces[at]!;
  const sourceColumns = pieces[at + 5]! - pieces[at + 2]!;
  return pieces[at]! <= column && pieces[at + 4] === pieces[at + 1] && sourceColumns === columns;
}

/**
 * Each number of the text is the difference from the previous number of the same kind. The columns of the code start
 * again at 0 on each line.
 */
function readPositions(): Line[] {
  const lines = parse(positionsText) as Line[];
  let line = 0;
  let sourceColumn = 0;
  for (let index = 0; index < lines.length; index++) {
    const pieces = lines[index]!;
    let column = 0;
    for (let at = 0; at < pieces.length; at += 3) {
      pieces[at] = column += pieces[at]!;
      pieces[at + 1] = line += pieces[at + 1]!;
      pieces[at + 2] = sourceColumn += pieces[at + 2]!;
    }
  }
  return lines;
}
