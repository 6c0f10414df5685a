import type { HarnessOptions } from '@toolscript/core';
import { createCompiler, QuickJsPool, type Compiler } from '@toolscript/core/internal';
import type { SandboxRun, SandboxRuntime } from '@toolscript/core/ports';

interface Threads {
  readonly runtime: SandboxRuntime;
  readonly compiler: Compiler;
}

let pool: QuickJsPool | undefined;
let compiler: Compiler | undefined;

/**
 * A sandbox and a compiler for one harness, in threads that all harnesses of a test process share: starting threads
 * takes thirty times as long as a script. Counts cover all of these harnesses.
 */
export function sharedThreads(): Threads {
  pool ??= new QuickJsPool({ size: 2 });
  compiler ??= createCompiler();
  return { runtime: runtimeShare(pool), compiler: shareOfCompiler(compiler) };
}

/** True if a harness configures its own threads. */
export function hasOwnThreads({ runtime, compiler: given, workers }: Partial<HarnessOptions>): boolean {
  return runtime !== undefined || given !== undefined || workers !== undefined;
}

/** A sandbox whose close ends the scripts of its own harness, and leaves the threads to the others. */
function runtimeShare(shared: QuickJsPool): SandboxRuntime {
  const runs = new Set<SandboxRun>();
  let isClosed = false;
  const started = (run: SandboxRun): SandboxRun => {
    runs.add(run);
    if (isClosed) run.cancel('cancelled');
    return run;
  };
  return {
    name: shared.name,
    bridge: shared.bridge,
    sharesMemory: shared.sharesMemory,
    warm: () => shared.warm(),
    run: (...job) => started(shared.run(...job)),
    restore: (...job) => started(shared.restore(...job)),
    images: () => shared.images(),
    stats: () => shared.stats(),
    close: async () => {
      isClosed = true;
      for (const run of runs) run.cancel('cancelled');
    },
  };
}

function shareOfCompiler(shared: Compiler): Compiler {
  return {
    compile: (source, options) => shared.compile(source, options),
    rewriteForLabels: (javascript, options) => shared.rewriteForLabels(javascript, options),
    warm: () => shared.warm(),
    stats: () => shared.stats(),
    close: async () => {},
  };
}
