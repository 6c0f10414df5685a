import { ALL_INTRINSICS, Engine, type EngineValue } from './driver.js';
import type { CallSiteLayout } from './image.js';
import type { WasmModule } from './webassembly.js';

/**
 * Where in a script the call is that its bridge is just serving, as the address of an instruction: a name for
 * the place that costs a few reads of memory, where a trace costs microseconds. The bridge asks the engine for a
 * trace once for each such name, and remembers what it said. Scripts cannot make code, so an address keeps its
 * meaning for as long as a script lives, also in a copy of its memory.
 *
 * The engine (quickjs-ng 0.17) links the frames of the calls that are under way; each names its function, and
 * those of bytecode the next instruction. Code of the bridge and the library is compiled without lines, which
 * tells it from the script's. Offsets are in 32-bit words. The build finds them on functions that it knows.
 */

const OBJECT_CLASS = 2;
const OBJECT_PAYLOAD = 6;
/** As deep as a trace goes. */
const MOST_FRAMES = 10;

/** The instruction behind the innermost call that a script made; 0 where there is none near. */
export function callSite(words: Uint32Array, layout: CallSiteLayout): number {
  let frame = words[layout.currentFrame >> 2]! >> 2;
  for (let depth = 0; frame !== 0 && depth < MOST_FRAMES; depth++, frame = words[frame]! >> 2) {
    const callee = words[frame + layout.callee]! >> 2;
    if (!layout.codeClasses.includes(words[callee + OBJECT_CLASS]! >>> 16)) continue;
    const code = words[callee + OBJECT_PAYLOAD]! >> 2;
    if (words[code + layout.lines] !== 0) return words[frame + layout.instruction]!;
  }
  return 0;
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

interface Known {
  functions: EngineValue;
  object: (name: string) => number;
}

/** Throws where the engine's layout is not the one that is described above. */
export function calibrateCallSites(module: WasmModule, compiler: Engine): CallSiteLayout {
  const seen: Uint32Array[] = [];
  const engine: Engine = new Engine(module, {
    clockMs: () => 0,
    interrupt: () => {},
    rejection: () => {},
    callSite: () => {
      seen.push(engine.words().slice());
      return 0;
    },
  });
  engine.initialize({ intrinsics: ALL_INTRINSICS, maxStackBytes: 262_144 });
  const withLines = makeKnown(engine, compiler, true);
  const without = makeKnown(engine, compiler, false);
  engine.call(engine.property(withLines.functions, 'outer'));
  const words = engine.words();
  const [first, again, elsewhere] = seen;
  if (first === undefined || again === undefined || elsewhere === undefined)
    throw new Error('the engine does not call its host any more');
  const runtime = engine.raw.qjs_get_runtime_ptr() >> 2;
  const frames = findFrames(first, runtime, withLines);
  const instruction = findInstruction([first, again, elsewhere], frames);
  const lines = findLines(words, withLines, without);
  const codeClasses = ['normal', 'async', 'generator', 'asyncGenerator'].map(
    (name) => words[withLines.object(name) + OBJECT_CLASS]! >>> 16,
  );
  return { currentFrame: (frames.current - runtime) << 2, callee: frames.callee, instruction, lines, codeClasses };
}

function makeKnown(engine: Engine, compiler: Engine, keepLines: boolean): Known {
  const make = engine.evaluate(compiler.compile(CALIBRATION, 'calibration', { keepLines }));
  const functions = engine.call(make, engine.hostFunction());
  return {
    functions,
    object: (name) => engine.raw.qjs_get_value_ptr(engine.property(functions, name)) >> 2,
  };
}

/** The word of the runtime that leads to a chain of frames whose functions are the known ones. */
function findFrames(words: Uint32Array, runtime: number, known: Known) {
  const chain = ['here', 'inner', 'middle', 'outer'].map((name) => known.object(name) << 2);
  for (let current = runtime; current < runtime + RUNTIME_WORDS; current++) {
    for (let callee = 1; callee < 4; callee++) {
      const found = framesOf(words, words[current]! >> 2, (frame) => words[frame + callee]!);
      const start = found.callees.indexOf(chain[0]!);
      if (start >= 0 && chain.every((object, index) => found.callees[start + index] === object))
        return { current, callee, middle: found.frames[start + 2]! };
    }
  }
  throw new Error('the engine links the frames of its calls in another way now');
}

function framesOf(words: Uint32Array, top: number, calleeOf: (frame: number) => number) {
  const frames: number[] = [];
  for (let frame = top; frame > 0 && frame < words.length && frames.length < MOST_FRAMES; frame = words[frame]! >> 2)
    frames.push(frame);
  return { frames, callees: frames.map(calleeOf) };
}

/** The word of a frame that is the same for two turns of a loop, and another for the call behind it. */
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
  if (found.length !== 1) throw new Error('the engine keeps the instruction of a call somewhere else now');
  return found[0]!;
}

/** The first word of a function's code that only those have which were compiled with their lines. */
function findLines(words: Uint32Array, withLines: Known, without: Known): number {
  const names = ['here', 'inner', 'middle', 'outer', 'normal', 'async', 'generator', 'asyncGenerator'];
  const code = (known: Known) => names.map((name) => words[known.object(name) + OBJECT_PAYLOAD]! >> 2);
  const [kept, dropped] = [code(withLines), code(without)];
  for (let word = 0; word < CODE_WORDS; word++) {
    const isMark = kept.every((at) => words[at + word] !== 0) && dropped.every((at) => words[at + word] === 0);
    if (isMark) return word;
  }
  throw new Error('the engine does not say any more which code has lines');
}
