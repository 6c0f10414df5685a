import { createCompiler, QuickJsPool, type Compiler } from '@toolscript/core/internal';
import type { SandboxRuntime } from '@toolscript/core/protocol';

/** The runtime and the compiler of scripts. They are idle until they are warmed or used. */
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

/** Starts the worker threads, while the rest of the program is loaded. */
export function startEngines(): Engines {
  const engines = openEngines();
  // A failure is reported when the engines are first used.
  engines.runtime.warm().catch(() => {});
  engines.compiler.warm().catch(() => {});
  return engines;
}

/** The given engines with a `close` that does nothing, because their creator closes them. */
export function sharedEngines({ runtime, compiler }: Engines): Engines {
  return { runtime, compiler, close: async () => {} };
}
