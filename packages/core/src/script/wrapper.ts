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

/** Maps positions in `javascript` to the model's own source. Nothing is decoded before the first question. */
export function positionMapper(input: MappingInput): (line: number, column: number) => SourcePosition | undefined {
  let decoded: DecodedMapping | undefined;
  // The same few places are asked for again and again: a loop calls its tools from where it did before.
  const known = new Map<number, SourcePosition | undefined>();
  return (line, column) => {
    const place = column < MOST_COLUMNS ? line * MOST_COLUMNS + column : -1;
    const before = known.get(place);
    if (before !== undefined || known.has(place)) return before;
    decoded ??= new DecodedMapping(input);
    const original = decoded.original(line, column);
    if (place > 0 && known.size < MOST_KNOWN) known.set(place, original);
    return original;
  };
}

/** No source is as long as this, whatever the limits are; a forged trace may say more. */
const MOST_COLUMNS = 0x10_0000;
const MOST_KNOWN = 1000;

type Segment = readonly number[];

/** The engine ends lines at \n only, the source map at every line end of the language: offsets lie between them. */
class DecodedMapping {
  readonly #layers: EditLayers;
  readonly #code: { readonly engine: LineIndex; readonly ecma: LineIndex };
  readonly #repaired: LineIndex;
  readonly #source: LineIndex;
  readonly #lines: readonly (readonly Segment[])[];

  constructor({ source, layers, javascript, mappings }: MappingInput) {
    const code = javascript.slice(HEAD.length, javascript.length - TAIL.length);
    this.#layers = layers;
    this.#code = { engine: new LineIndex(code, 'engine'), ecma: new LineIndex(code, 'ecma') };
    this.#repaired = new LineIndex(applyLayers(source, layers), 'ecma');
    this.#source = new LineIndex(source);
    this.#lines = decodedMappings(new TraceMap({ version: 3, sources: ['script.ts'], names: [], mappings }));
  }

  original(line: number, column: number): SourcePosition | undefined {
    const inCode = this.#code.engine.offsetAt(line - 1, column);
    if (inCode === undefined) return undefined;
    const place = this.#code.ecma.positionAt(inCode);
    const segment = this.#segmentAt(place.line - 1, place.column - 1);
    if (segment === undefined) return undefined;
    const inRepaired = this.#repaired.offsetAt((segment[2] ?? 0) + 1, (segment[3] ?? 0) + 1);
    if (inRepaired === undefined) return undefined;
    return this.#source.positionAt(originalOffset(inRepaired, this.#layers));
  }

  /** The last segment at or before the place; at a line's start the first one on the line, else the last before it. */
  #segmentAt(line: number, column: number): Segment | undefined {
    const segments = (this.#lines[line] ?? []).filter(({ length }) => length >= 4);
    const before = segments.findLast(([start]) => (start ?? 0) <= column) ?? segments[0];
    if (before !== undefined) return before;
    for (let earlier = Math.min(line, this.#lines.length) - 1; earlier >= 0; earlier--) {
      const last = this.#lines[earlier]?.findLast(({ length }) => length >= 4);
      if (last !== undefined) return last;
    }
    return undefined;
  }
}
