import type { SandboxRuntime } from '@toolscript/core/ports';
import { IsolatedVmPool, type IsolatedVmOptions } from './pool.js';

export type { IsolatedVmOptions };

/**
 * Returns a runtime that runs scripts on V8, each in a fresh isolate of the package isolated-vm, in a child process
 * without environment variables. Throws a `ToolscriptUsageError` if `modulePath` is not set and the package isolated-vm
 * is not installed.
 *
 * ```ts
 * const harness = createHarness({ tools, runtime: isolatedVm({ maxScripts: 16 }) });
 * ```
 */
export function isolatedVm(options?: IsolatedVmOptions): SandboxRuntime {
  return new IsolatedVmPool(options);
}
