import { decodedMappings, TraceMap } from '@jridgewell/trace-mapping';
import type { SourcePosition, TopLevelVariable } from '../../protocol/index.js';
import { applyLayers, LineIndex, originalOffset, type EditLayers } from '../syntax/source-text.js';

const HEAD = '(async()=>{"use strict";\n';
const TAIL = '\n})';

/**
 * The script as one function expression. The parser has read the script's code separately, and the code is printed from
 * the syntax tree, so no text in the code can close the function.
 */
export function wrap(code: string): string {
  return HEAD + code + TAIL;
}

/**
 * A script of a program: a function that receives the variables of earlier scripts as an object, and a function that
 * receives the script's own variables. It returns the script as `wrap` makes it. Only a sloppy function can have `with`;
 * the script is strict. The script contains none of the names around it, so it can use none of them.
 */
export function wrapCell(code: string, variables: readonly TopLevelVariable[]): string {
  const prefix = unusedPrefix(code);
  const [scope, declare, value] = [`${prefix}s`, `${prefix}d`, `${prefix}v`];
  const bindings = variables.map(({ name, kind, isOfBlock }) => {
    const write = kind === 'constant' || kind === 'enum' ? '' : `,(${value})=>{${name}=${value}}`;
    return `[${JSON.stringify(name)}]:[()=>${name}${write}${isOfBlock === true ? ',1' : ''}]`;
  });
  return (
    `(function(${scope},${declare}){with(${scope}){return ${CELL_HEAD}` +
    `(async()=>{"use strict";${declare}({${bindings.join()}});\n${code}${TAIL}${CELL_TAIL}`
  );
}

const CELL_HEAD = '(function(){"use strict";return ';
const CELL_TAIL = '})()}})';

/** The two parts of a script of a program between which other functions can stand. `tools` replaces its tools. */
export function openCell(javascript: string, tools: string): { before: string; after: string } {
  const before = javascript
    .slice(0, -CELL_TAIL.length)
    .replace(CELL_HEAD, () => CELL_HEAD.replace('return ', `const tools=${tools};return `));
  return { before: `${before};\n`, after: CELL_TAIL };
}

/**
 * A script of a program as `wrap` makes it. It has no variables of earlier scripts, and fails if it uses one. Undefined:
 * other functions stand around the script.
 */
export function withoutCell(javascript: string): string | undefined {
  const start = javascript.indexOf(CELL_HEAD);
  if (start < 0) return undefined;
  const script = javascript.slice(start + CELL_HEAD.length, -CELL_TAIL.length);
  // Its first line gives the script's variables to the program.
  return HEAD + script.slice(script.indexOf('\n') + 1);
}

// defence: names-around-cells-are-unused
function unusedPrefix(code: string): string {
  let prefix = '$cell';
  while (code.includes(prefix)) prefix += '_';
  return prefix;
}

/** The input for mapping positions in the wrapped code to the source. */
interface MappingInput {
  readonly source: string;
  readonly layers: EditLayers;
  readonly javascript: string;
  /** Source map mappings from the code inside the wrapper to the repaired text. */
  readonly mappings: string;
}

/**
 * Encodes the origins of the pieces of the compiled code as JSON text. For each line of `javascript` after the
 * wrapper's own line, the text contains a flat list of `column, source line, source column`. Only \n ends a line, as in
 * the engine. Each number is the difference from the previous number of its kind; the first column of a line counts
 * from 0, and so do the first line and column of the source. For consecutive pieces with equal distances in source and
 * code, only the first and the last are listed: positions between them are interpolated. `PositionTable` reads the
 * text, and so does the sandbox's guest for the stacks of errors.
 */
export function encodePositions(input: MappingInput): string {
  const lines: number[][] = unwrappedCode(input)
    .split('\n')
    .map(() => []);
  const mappedPiece = pieceMapper(input);
  const map = new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings: input.mappings });
  for (const [index, segments] of decodedMappings(map).entries()) {
    for (const [column, , line, sourceColumn] of segments) {
      if (line === undefined || sourceColumn === undefined) continue;
      const original = { line: line + 1, column: sourceColumn + 1 };
      const piece = mappedPiece({ generated: { line: index + 1, column: column + 1 }, original });
      const numbers = piece && lines[piece.generated.line - 1];
      if (numbers !== undefined) addPiece(numbers, piece!);
    }
  }
  return JSON.stringify(asDifferences(lines));
}

interface MappedPiece {
  /** The position in the code inside the wrapper, with lines as the engine counts them. */
  readonly generated: SourcePosition;
  readonly original: SourcePosition;
}

/** Adds a piece. Removes the previous piece if it is between two pieces with equal distances in source and code. */
function addPiece(numbers: number[], { generated, original }: MappedPiece): void {
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

/**
 * Returns the function that maps a piece. This function converts the positions if the text has unusual line endings or
 * the source was repaired.
 */
function pieceMapper(input: MappingInput): (piece: MappedPiece) => MappedPiece | undefined {
  const { source, layers } = input;
  const code = unwrappedCode(input);
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

function unwrappedCode({ javascript }: MappingInput): string {
  return javascript.slice(javascript.indexOf('\n') + 1, javascript.lastIndexOf('\n'));
}

/** Lines of `javascript` that belong to the wrapper, before the script's first line. */
const WRAPPER_LINES = 1;

/**
 * Maps 1-based positions in `javascript` to the model's own source. The text of `encodePositions` is parsed at the
 * first query.
 */
export class PositionTable {
  readonly #encode: () => string;
  #encodedText: string | undefined;
  #lines: readonly LineOfCode[] | undefined;

  constructor(encode: () => string) {
    this.#encode = encode;
  }

  /** The text of `encodePositions`. */
  get encoded(): string {
    return (this.#encodedText ??= this.#encode());
  }

  /**
   * The position in the source. Between two pieces with equal distances in source and code, the position is
   * interpolated. Otherwise, the result is the position of the last piece at or before the column. If no such piece
   * exists, the result is the position of the first piece on the line, or else of the last piece before the line.
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
