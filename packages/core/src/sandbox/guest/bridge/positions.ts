// Maps positions in the compiled code to the model's own source, as `script/wrapper.ts` does.
import { create, parse } from '../primordials.js';
import { split } from './captured.js';
import { askHost } from './host.js';

/** A line's triples: a column of the code, and the line and column of the source from which the code there comes. */
type Line = number[];

/** Read when the first stack is read; null if the script is its own source. */
let positions: Line[] | null | undefined;
/** The texts of earlier scripts of the program, by their numbers. */
const earlierTexts: Record<number, string> = create(null) as Record<number, string>;

/** Keeps the positions of a script that has ended, for stacks with its functions. */
export function keepPositions(cell: number): void {
  earlierTexts[cell] = askHost('positions');
  positions = undefined;
}

/** The line in the source of an earlier script. */
export function earlierLine(cell: number, line: number, column: number): string | undefined {
  const text = earlierTexts[cell];
  if (text === undefined) return undefined;
  const place = placeIn(readPositions(text), line, column);
  return place === undefined ? undefined : split(place, ':')[0];
}

/** `LINE:COLUMN` in the source; undefined for a position that is not in the script. */
export function originalPlace(line: number, column: number): string | undefined {
  if (positions === undefined) positions = readPositions(askHost('positions'));
  return placeIn(positions, line, column);
}

function placeIn(positions: Line[] | null, line: number, column: number): string | undefined {
  if (positions === null) return line + ':' + column;
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
function readPositions(text: string): Line[] | null {
  if (text === '') return null;
  const lines = parse(text) as Line[];
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
