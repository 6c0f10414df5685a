import { isInstalledGlobally, optionalPackage } from '../files/core-files.js';
import { ToolscriptUsageError, type SandboxRuntime } from '../protocol/index.js';

/**
 * Loads the runtime of the package @toolscript/isolated-vm, which is not a dependency of core. Throws a
 * `ToolscriptUsageError` with the command that installs the runtime.
 */
export function loadIsolatedVm(load: (name: string) => unknown = optionalPackage): SandboxRuntime {
  const engine = load('@toolscript/isolated-vm') as { isolatedVm(): SandboxRuntime } | undefined;
  if (engine === undefined) throw isolatedVmMissing('@toolscript/isolated-vm');
  return engine.isolatedVm();
}

/** `name`: the package that was not found. */
export function isolatedVmMissing(name: string): ToolscriptUsageError {
  return new ToolscriptUsageError('RUNTIME_NOT_INSTALLED', { name, command: isolatedVmInstall() });
}

/** The command that installs the runtime, in the release for the running version of Node.js. */
export function isolatedVmInstall(): string {
  const major = Number.parseInt(process.versions.node, 10);
  const release = RELEASES.find(([oldest]) => major >= oldest)?.[1] ?? '5.0.4';
  return `npm install${isInstalledGlobally() ? ' --global' : ''} @toolscript/isolated-vm isolated-vm@${release}`;
}

/** The releases of the package isolated-vm, each with the oldest major release of Node.js that it accepts. */
const RELEASES = [
  [24, '7'],
  [22, '6'],
] as const;
