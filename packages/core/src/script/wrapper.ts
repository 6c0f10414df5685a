import { TraceMap, decodedMappings } from '@jridgewell/trace-mapping';
import type { SourcePosition } from '../protocol/index.js';
import { applyLayers, originalOffset } from './edits.js';
import type { EditLayers } from './edits.js';
import { LineIndex } from './line-index.js';

const HEAD = '(async()=>{"use strict";\n';
const TAIL = '\n})';

/**
 * The script as one function expression. Its code was parsed separately before and printed from its tree, so nothing
 * in it can close the function.
 */
export function wrap(code: string): string {
  return HEAD + code + TAIL;
}

/** The origin of a position in the wrapped code. */
export interface MappingInput {
  readonly source: string;
  readonly layers: EditLayers;
  readonly javascript: string;
  /** Source map mappings from the code inside the wrapper to the repaired text. */
  readonly mappings: string;
}

/**
 * The origins of the pieces of the compiled code, as JSON text: for each line of `javascript` (as the engine counts
 * them: \n alone ends one) below the wrapper's own, a flat list of `column, source line, source column`. Each number is
 * the difference from the one before it; the first column of a line counts from 0, and so do the first line and column
 * of the source. For consecutive pieces with equal distances in source and code, only the first and the last are
 * listed: positions between them are interpolated. `PositionTable` reads the text, and so does the sandbox's guest for
 * the stacks of errors.
 */
export function encodePositions(input: MappingInput): string {
  const lines: number[][] = codeOf(input)
    .split('\n')
    .map(() => []);
  const pieceOf = pieceMapper(input);
  const map = new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings: input.mappings });
  for (const [index, segments] of decodedMappings(map).entries()) {
    for (const [column, , line, sourceColumn] of segments) {
      if (line === undefined || sourceColumn === undefined) continue;
      const original = { line: line + 1, column: sourceColumn + 1 };
      const piece = pieceOf({ generated: { line: index + 1, column: column + 1 }, original });
      const numbers = piece && lines[piece.generated.line - 1];
      if (numbers !== undefined) addPiece(numbers, piece!);
    }
  }
  return JSON.stringify(asDifferences(lines));
}

interface Piece {
  /** The position in the code inside the wrapper, with lines as the engine counts them. */
  readonly generated: SourcePosition;
  readonly original: SourcePosition;
}

/** The previous piece is removed if it lies between two pieces with equal distances in source and code. */
function addPiece(numbers: number[], { generated, original }: Piece): void {
  const { length } = numbers;
  const [firstColumn = 0, firstLine, firstSource = 0, column = 0, line, source = 0] = numbers.slice(-6);
  const isOnLine = length >= 6 && firstLine === original.line && line === original.line;
  const isAsFar = source - firstSource === column - firstColumn;
  if (isOnLine && isAsFar && original.column - source === generated.column - column) numbers.length = length - 3;
  numbers.push(generated.column, original.line, original.column);
}

function asDifferences(lines: number[][]): number[][] {
  let line = 0;
  let sourceColumn = 0;
  return lines.map((numbers) => {
    let column = 0;
    return numbers.map((number, index) => {
      const kind = index % 3;
      const before = kind === 0 ? column : kind === 1 ? line : sourceColumn;
      if (kind === 0) column = number;
      else if (kind === 1) line = number;
      else sourceColumn = number;
      return number - before;
    });
  });
}

/** If the line ends differ, or the source was repaired, positions are counted again. */
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
