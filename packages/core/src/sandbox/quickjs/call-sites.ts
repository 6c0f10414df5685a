import { ALL_INTRINSICS, Engine, type EngineValue } from './driver.js';
import type { CallSiteLayout } from './image.js';
import type { WasmModule } from './webassembly.js';

/**
 * Reads the line and column of the call that the bridge is serving from the engine's memory. The guest does not take
 * part, and the engine creates no stack trace.
 *
 * The engine (quickjs-ng 0.17) links the frames of active calls. Each frame holds its function, and a bytecode frame
 * also the next instruction. A function's code holds its first line and column and a table from instructions to places.
 * Code of the bridge and the library is compiled without lines, which distinguishes it from the script's. Scripts
 * cannot create code, so an address of an instruction belongs to the same place during the script's life, even in a
 * copy of the script's memory. Offsets are in 32-bit words. The build determines them from known functions, and
 * compares every place with the engine's own traces.
 */

export interface CodePlace {
  /** 1-based; 0 if none of the innermost MAX_FRAMES frames belongs to the script. */
  readonly line: number;
  /** 1-based, in bytes of UTF-8; 0 if `line` is 0. */
  readonly column: number;
}

export const NO_PLACE: CodePlace = Object.freeze({ line: 0, column: 0 });

const OBJECT_CLASS = 2;
const OBJECT_PAYLOAD = 6;
/** Maximum number of frames that are searched, from the innermost frame. */
const MAX_FRAMES = 10;

/** Offsets of words in a function's code, counted from the word that only code with lines has (the file name). */
const FIRST_LINE = 1;
const FIRST_COLUMN = 2;
const TABLE_LENGTH = 4;
const TABLE = 5;

/**
 * Reads the places of one script's calls. Call `clear` before the next script, because the next script reuses
 * addresses.
 */
export class PlaceReader {
  readonly #layout: CallSiteLayout;
  /** Known places by the address of the instruction. The cache is worthwhile because most calls are in loops. */
  readonly #knownPlaces = new Map<number, CodePlace>();
  /**
   * The engine's name of the file whose calls count: the running script of a program. A call that a function of an
   * earlier script makes has the place in the running script that called the function. 0: every file counts.
   */
  file = 0;
  /** The last place in the running script, for calls that a function of an earlier script makes after an await. */
  #last: CodePlace = NO_PLACE;

  constructor(layout: CallSiteLayout) {
    this.#layout = layout;
  }

  /** Restricts the places to the file of a script's function. */
  onlyFileOf(script: number, words: Uint32Array): void {
    this.file = words[(words[(script >> 2) + OBJECT_PAYLOAD]! >> 2) + this.#layout.lines]!;
  }

  clear(): void {
    this.file = 0;
    this.#last = NO_PLACE;
    if (this.#knownPlaces.size > 0) this.#knownPlaces.clear();
  }

  /** The place of the innermost call that a script made. */
  read(words: Uint32Array, bytes: Uint8Array): CodePlace {
    const layout = this.#layout;
    let frame = words[layout.currentFrame >> 2]! >> 2;
    for (let depth = 0; frame !== 0 && depth < MAX_FRAMES; depth++, frame = words[frame]! >> 2) {
      const callee = words[frame + layout.callee]! >> 2;
      if (!layout.codeClasses.includes(words[callee + OBJECT_CLASS]! >>> 16)) continue;
      const code = words[callee + OBJECT_PAYLOAD]! >> 2;
      const file = words[code + layout.lines]!;
      if (file === 0 || (this.file !== 0 && file !== this.file)) continue;
      const instruction = words[frame + layout.instruction]!;
      const known = this.#knownPlaces.get(instruction);
      if (known !== undefined) return (this.#last = known);
      const place = callSitePlace(words, bytes, code, instruction, layout);
      this.#knownPlaces.set(instruction, place);
      return (this.#last = place);
    }
    return this.file === 0 ? NO_PLACE : this.#last;
  }
}

/** The encoding of the table's steps that fit in one byte; a byte 0 starts a step in the long form. */
const SHORT_STEP = { first: 1, lines: 5, leastLine: -1 } as const;

/** Walks a function's table up to the instruction before `next`, which made the call. */
function callSitePlace(
  words: Uint32Array,
  bytes: Uint8Array,
  code: number,
  next: number,
  { lines, instructions }: CallSiteLayout,
): CodePlace {
  const table = new StepReader(bytes, words[code + lines + TABLE]!, words[code + lines + TABLE_LENGTH]!);
  const target = next - words[code + instructions]! - 1;
  let line = words[code + lines + FIRST_LINE]!;
  let column = words[code + lines + FIRST_COLUMN]!;
  let at = 0;
  while (!table.isDone) {
    const step = table.byte();
    const short = step - SHORT_STEP.first;
    at += step === 0 ? table.unsigned() : Math.floor(short / SHORT_STEP.lines);
    const lineStep = step === 0 ? table.signed() : (short % SHORT_STEP.lines) + SHORT_STEP.leastLine;
    const columnStep = table.signed();
    if (target < at) break;
    line += lineStep;
    column += columnStep;
  }
  return { line, column };
}

/** Reads LEB128 numbers; signed ones are in zigzag encoding. */
class StepReader {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start: number, length: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = start + length;
  }

  get isDone(): boolean {
    return this.#at >= this.#end;
  }

  byte(): number {
    return this.isDone ? 0 : this.#bytes[this.#at++]!;
  }

  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  signed(): number {
    const value = this.unsigned();
    return (value & 1) === 0 ? value / 2 : -(value + 1) / 2;
  }
}

const CALIBRATION = `((site) => {
  const here = () => site();
  const inner = () => here();
  const middle = () => { const seen = []; for (let i = 0; i < 2; i++) seen.push(inner()); seen.push(inner()); return seen; };
  const outer = () => middle();
  return { here, inner, middle, outer, normal: function () {}, async: async function () {}, generator: function* () {}, asyncGenerator: async function* () {} };
})`;

const FRAME_WORDS = 12;
const CODE_WORDS = 32;
const RUNTIME_WORDS = 256;

interface Calibration {
  functions: EngineValue;
  object: (name: string) => number;
}

/** Measures the offsets in the engine's memory. Throws if the engine's layout differs from the description above. */
export function calibrateCallSites(module: WasmModule, compiler: Engine): CallSiteLayout {
  const seen: Uint32Array[] = [];
  const engine = makeEngine(module, () => seen.push(engine.words().slice()));
  const withLines = makeCalibration(engine, compiler, true);
  const without = makeCalibration(engine, compiler, false);
  engine.call(engine.property(withLines.functions, 'outer'));
  const words = engine.words();
  const [first, again, elsewhere] = seen;
  if (first === undefined || again === undefined || elsewhere === undefined)
    throw new Error('the engine no longer calls its host at the expected places; adapt call-sites.ts to this engine');
  const runtime = engine.raw.qjs_get_runtime_ptr() >> 2;
  const frames = findFrames(first, runtime, withLines);
  const instruction = findInstruction([first, again, elsewhere], frames);
  const lines = findLines(words, withLines, without);
  const codeClasses = ['normal', 'async', 'generator', 'asyncGenerator'].map(
    (name) => words[withLines.object(name) + OBJECT_CLASS]! >>> 16,
  );
  const instructions = findInstructions(first, withLines, first[frames.middle + instruction]!);
  const currentFrame = (frames.current - runtime) << 2;
  const layout = { currentFrame, callee: frames.callee, instruction, lines, instructions, codeClasses };
  provePlaces(module, compiler, layout);
  return layout;
}

function makeEngine(module: WasmModule, onCall: () => void): Engine {
  const host = { clockMs: () => 0, interrupt: () => {}, rejection: () => {}, called: onCall };
  const engine = new Engine(module, host);
  engine.initialize({ intrinsics: ALL_INTRINSICS, maxStackBytes: 262_144 });
  return engine;
}

function makeCalibration(engine: Engine, compiler: Engine, keepLines: boolean): Calibration {
  const make = engine.evaluate(compiler.compile(CALIBRATION, 'calibration', { keepLines }));
  const functions = engine.call(make, engine.hostFunction());
  return {
    functions,
    object: (name) => engine.raw.qjs_get_value_ptr(engine.property(functions, name)) >> 2,
  };
}

/** The word of the runtime that points to a chain of frames whose functions are the known ones. */
function findFrames(words: Uint32Array, runtime: number, known: Calibration) {
  const chain = ['here', 'inner', 'middle', 'outer'].map((name) => known.object(name) << 2);
  for (let current = runtime; current < runtime + RUNTIME_WORDS; current++) {
    for (let callee = 1; callee < 4; callee++) {
      const found = stackFrames(words, words[current]! >> 2, (frame) => words[frame + callee]!);
      const start = found.callees.indexOf(chain[0]!);
      if (start >= 0 && chain.every((object, index) => found.callees[start + index] === object))
        return { current, callee, middle: found.frames[start + 2]! };
    }
  }
  throw new Error("the layout of the engine's call frames has changed; adapt call-sites.ts to this engine");
}

function stackFrames(words: Uint32Array, top: number, calleeOf: (frame: number) => number) {
  const frames: number[] = [];
  for (let frame = top; frame > 0 && frame < words.length && frames.length < MAX_FRAMES; frame = words[frame]! >> 2)
    frames.push(frame);
  return { frames, callees: frames.map(calleeOf) };
}

/** The word of a frame that is equal in two iterations of a loop and differs for the call after the loop. */
function findInstruction(
  turns: readonly [Uint32Array, Uint32Array, Uint32Array],
  { middle, callee }: { middle: number; callee: number },
) {
  const [first, again, elsewhere] = turns;
  const found: number[] = [];
  for (let word = callee + 2; word < FRAME_WORDS; word++) {
    const [one, two, three] = [first[middle + word]!, again[middle + word]!, elsewhere[middle + word]!];
    if (one === two && three > one && three - one < 64) found.push(word);
  }
  if (found.length !== 1)
    throw new Error("the location of a call's instruction has changed; adapt call-sites.ts to this engine");
  return found[0]!;
}

/** The first word of a function's code that is 0 if the code was compiled without lines, and not 0 if it has lines. */
function findLines(words: Uint32Array, withLines: Calibration, without: Calibration): number {
  const names = ['here', 'inner', 'middle', 'outer', 'normal', 'async', 'generator', 'asyncGenerator'];
  const code = (known: Calibration) => names.map((name) => words[known.object(name) + OBJECT_PAYLOAD]! >> 2);
  const [kept, dropped] = [code(withLines), code(without)];
  for (let word = 0; word < CODE_WORDS; word++) {
    const isMark = kept.every((at) => words[at + word] !== 0) && dropped.every((at) => words[at + word] === 0);
    if (isMark) return word;
  }
  throw new Error('the engine no longer marks the code that has lines; adapt call-sites.ts to this engine');
}

/** The word of a function's code with the address of its instructions, followed by their length in bytes. */
function findInstructions(words: Uint32Array, known: Calibration, instruction: number): number {
  const code = words[known.object('middle') + OBJECT_PAYLOAD]! >> 2;
  for (let word = 0; word < CODE_WORDS; word++) {
    const [start, length] = [words[code + word]!, words[code + word + 1]!];
    if (length < 1024 && instruction > start && instruction <= start + length) return word;
  }
  throw new Error("the location of a function's instructions has changed; adapt call-sites.ts to this engine");
}

const PROBE = `((called) => () => { called(); return new Error().stack; })`;

/** Calls in functions of every kind, on many lines, far to the right, after code of every length, and in loops. */
const PLACES = `((probe) => {
  const traces = [];
  const note = () => { traces.push(
    probe()); };
  note(); [1, 2].forEach(() => note()); [1].map(() => traces.push(probe()));
  class Reader { static read() { return probe(); } get sum() {
      return [probe(),
    probe()]; } #own = probe(); own() { return this.#own; } }
  const reader = new Reader(); traces.push(Reader.read(), ...reader.sum, reader.own());
  function* made() { yield probe(); yield [${'1 + 2 * 3 - 4, '.repeat(40)} probe()].pop(); }
  for (const trace of made()) traces.push(trace);
  const wide = () => { const text = 'äöü€😀'; return text + probe(); };
  traces.push(wide());${'\n'.repeat(300)}  traces.push(probe());
  let turns = 0; do { traces.push(turns === 1
    ? probe()
    : probe()); } while (++turns < 3);
  const late = async () => { await null; traces.push(probe()); await null; traces.push(probe());
    for await (const trace of (async function* () { yield probe(); await null; yield probe(); })()) traces.push(trace); };
  const given = { toJSON: probe }; traces.push(JSON.parse(JSON.stringify([given]))[0]);
  try { throw probe(); } catch (thrown) { traces.push(thrown); } finally { traces.push(probe()); }
  return { traces, done: late() };
})`;

/** Throws unless every place that is read equals the place in the engine's own trace. */
function provePlaces(module: WasmModule, compiler: Engine, layout: CallSiteLayout): void {
  const read: string[] = [];
  const engine = makeEngine(module, () => {
    const { line, column } = reader.read(engine.words(), engine.memory());
    read.push(`${line}:${column}`);
  });
  const reader = new PlaceReader({ ...layout, currentFrame: layout.currentFrame + engine.raw.qjs_get_runtime_ptr() });
  const probe = engine.call(
    engine.evaluate(compiler.compile(PROBE, 'probe', { keepLines: false })),
    engine.hostFunction(),
  );
  const found = engine.call(engine.evaluate(compiler.compile(PLACES, 'places', { keepLines: true })), probe);
  engine.runJobs(() => {});
  const traces = engine.property(found, 'traces');
  const named: string[] = [];
  for (let index = 0; index < read.length; index++)
    named.push(/places:(\d+:\d+)/u.exec(engine.text(engine.raw.qjs_get_prop_uint32(traces, index)))?.[1] ?? '0:0');
  if (read.length < 20 || named.toSorted().join() !== read.toSorted().join())
    throw new Error(
      `the engine's table of positions has changed: it contains ${read.join()}, but the engine's traces contain ${named.join()}; adapt call-sites.ts to this engine`,
    );
}
