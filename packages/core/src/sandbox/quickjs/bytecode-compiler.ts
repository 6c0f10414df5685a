import type { SandboxEnd } from '../../protocol/index.js';
import { ComputeClock } from './compute-clock.js';
import { Engine, EngineError } from './driver.js';
import { loadImage, restoreImage, type Image } from './image.js';
import type { WasmModule } from './webassembly.js';

/** Maximum processor time to compile one source, in ms; 64 KB take less than a tenth of this time. */
const COMPILE_MS = 2_000;

/** Compiles scripts to bytecode in an instance that never executes bytecode and is restored for every script. */
export class BytecodeCompiler {
  readonly #module: WasmModule;
  readonly #image: Image;
  readonly #clock = new ComputeClock();
  #engine: Engine | undefined;

  constructor(module: WasmModule, image: Image) {
    this.#module = module;
    this.#image = image;
  }

  /** `cell`: the number of the script in its program; undefined if it is the only script. */
  compile(javascript: string, cell?: number): Uint8Array | SandboxEnd {
    this.#clock.startExact(COMPILE_MS);
    try {
      this.#engine ??= this.#boot();
      const code = cell === undefined ? asModuleBody(javascript) : javascript;
      const file = cell === undefined ? 'script.ts' : `${cell}.script.ts`;
      const bytecode = this.#engine.compile(code, file, { keepLines: true });
      if (!restoreImage(this.#engine, this.#image)) this.#engine = undefined;
      return bytecode;
    } catch (error) {
      this.#engine = undefined;
      if (error instanceof EngineError) return { type: 'syntax', message: error.message, line: error.line };
      if (error instanceof RangeError)
        return { type: 'syntax', message: 'the script is nested too deeply; move inner parts into functions', line: 0 };
      if (!(error instanceof CompileTimeout)) return { type: 'internal', detail: String(error) };
      return {
        type: 'syntax',
        message: 'the script takes too long to compile; split it into several scripts',
        line: 0,
      };
    }
  }

  #boot(): Engine {
    const engine = new Engine(this.#module, {
      clockMs: () => 0,
      interrupt: () => {
        if (this.#clock.look(performance.now())) throw new CompileTimeout();
      },
      rejection: () => {},
    });
    loadImage(engine, this.#image);
    return engine;
  }
}

/** Thrown through the engine to stop a compilation; `compile` converts it to a syntax error. */
class CompileTimeout extends Error {}

/** Puts the code into a strict function, so that `this` is undefined at the top level of the script, as in a module. */
function asModuleBody(javascript: string): string {
  return `(function(){"use strict";return ${javascript}})()`;
}
