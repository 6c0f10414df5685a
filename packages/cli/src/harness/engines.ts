import { createCompiler, QuickJsPool, type Compiler } from '@toolscript/core';
import type { SandboxRuntime } from '@toolscript/core/protocol';

/** The components that run scripts, without tools. Idle until they are warmed or used. */
export interface Engines {
  readonly runtime: SandboxRuntime;
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

/** Starts the worker threads, in parallel with the loading of the rest of the program. */
export function startEngines(): Engines {
  const engines = openEngines();
  // The first use reports a failure.
  engines.runtime.warm().catch(() => {});
  engines.compiler.warm().catch(() => {});
  return engines;
}

/** The same engines with a `close` that does nothing: their creator closes them. */
export function sharedEngines({ runtime, compiler }: Engines): Engines {
  return { runtime, compiler, close: async () => {} };
}
