import { TraceMap, decodedMappings } from '@jridgewell/trace-mapping';
import type { SourcePosition } from '../protocol/index.js';
import { applyLayers, originalOffset } from './edits.js';
import type { EditLayers } from './edits.js';
import { LineIndex } from './line-index.js';

const HEAD = '(async()=>{"use strict";\n';
const TAIL = '\n})';

/**
 * The script as one function expression. Its code was parsed on its own before and printed from its tree, so
 * nothing in it can close the function.
 */
export function wrap(code: string): string {
  return HEAD + code + TAIL;
}

/** What a position in the wrapped code comes from. */
export interface MappingInput {
  readonly source: string;
  readonly layers: EditLayers;
  readonly javascript: string;
  /** Source map mappings from the code inside the wrapper to the repaired text. */
  readonly mappings: string;
}

/**
 * Where the pieces of the compiled code come from, as JSON text: for each line of `javascript` (as the engine counts
 * them: \n alone ends one) below the wrapper's own, a flat list of `column, source line, source column`. Each number
 * is the difference to the one before it; the first column of a line counts from 0, and so do the first line and column
 * of the source. `PositionTable` reads it, and so does the sandbox's guest for the stacks of errors.
 */
export function encodePositions(input: MappingInput): string {
  const lines: number[][] = codeOf(input)
    .split('\n')
    .map(() => []);
  const columns = lines.map(() => 0);
  let lastLine = 0;
  let lastColumn = 0;
  for (const { generated, original } of piecesOf(input)) {
    const index = generated.line - 1;
    lines[index]?.push(generated.column - columns[index]!, original.line - lastLine, original.column - lastColumn);
    columns[index] = generated.column;
    ({ line: lastLine, column: lastColumn } = original);
  }
  return JSON.stringify(lines);
}

interface Piece {
  /** In the code inside the wrapper, as the engine counts lines. */
  readonly generated: SourcePosition;
  readonly original: SourcePosition;
}

function* piecesOf(input: MappingInput): Generator<Piece> {
  const pieceOf = pieceMapper(input);
  const lines = decodedMappings(
    new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings: input.mappings }),
  );
  for (const [index, segments] of lines.entries()) {
    for (const [column, , originalLine, originalColumn] of segments) {
      if (originalLine === undefined || originalColumn === undefined) continue;
      const generated = { line: index + 1, column: column + 1 };
      const piece = pieceOf({ generated, original: { line: originalLine + 1, column: originalColumn + 1 } });
      if (piece !== undefined) yield piece;
    }
  }
}

/** Where each of them ends lines in another way, or the source was repaired, positions are counted anew. */
function pieceMapper(input: MappingInput): (piece: Piece) => Piece | undefined {
  const { source, layers } = input;
  const code = codeOf(input);
  if (layers.length === 0 && !ODD_LINE_ENDS.test(source) && !ODD_LINE_ENDS.test(code)) return (piece) => piece;
  const engine = new LineIndex(code, 'engine');
  const ecma = new LineIndex(code, 'ecma');
  const repaired = new LineIndex(applyLayers(source, layers), 'ecma');
  const model = new LineIndex(source);
  return ({ generated, original }) => {
    const inCode = ecma.offsetAt(generated.line, generated.column);
    const inRepaired = repaired.offsetAt(original.line, original.column);
    if (inCode === undefined || inRepaired === undefined) return undefined;
    return { generated: engine.positionAt(inCode), original: model.positionAt(originalOffset(inRepaired, layers)) };
  };
}

const ODD_LINE_ENDS = /[\r\u2028\u2029]/;

function codeOf({ javascript }: MappingInput): string {
  return javascript.slice(HEAD.length, javascript.length - TAIL.length);
}
