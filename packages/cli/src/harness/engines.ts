import { createCompiler, QuickJsPool, type Compiler } from '@toolscript/core';

/** What runs scripts, without tools. Idle until it is warmed. */
export interface Engines {
  readonly runtime: QuickJsPool;
  readonly compiler: Compiler;
  /** Idempotent. */
  close(): Promise<void>;
}

export function openEngines(): Engines {
  const runtime = new QuickJsPool({ size: 1 });
  const compiler = createCompiler();
  return {
    runtime,
    compiler,
    close: async () => void (await Promise.all([runtime.close(), compiler.close()])),
  };
}

/** Starts the threads, so that they come up while the rest of the program is still being loaded. */
export function startEngines(): Engines {
  const engines = openEngines();
  // Whoever needs them hears of a failure then.
  engines.runtime.warm().catch(() => {});
  engines.compiler.warm().catch(() => {});
  return engines;
}
