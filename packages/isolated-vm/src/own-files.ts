import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isolatedVmMissing } from '@toolscript/core/internal';
import { ToolscriptUsageError } from '@toolscript/core';

/** Returns the path of a file of this package. Throws a `ToolscriptUsageError` if a bundler has moved this code. */
export function ownFile(name: string): string {
  // A bundle may have no `import.meta.url`.
  const url = import.meta.url as string | undefined;
  const path = url === undefined ? undefined : join(dirname(fileURLToPath(url)), name);
  if (path !== undefined && existsSync(path)) return path;
  throw new ToolscriptUsageError('RUNTIME_FILES_NOT_FOUND', { name });
}

/**
 * Returns the path of the main file of the package isolated-vm, as this package would import it. Throws a
 * `ToolscriptUsageError` with the command that installs the package.
 */
export function isolatedVmFile(): string {
  const own = ownFile('index.js');
  try {
    return process.getBuiltinModule('node:module').createRequire(own).resolve('isolated-vm');
  } catch {
    throw isolatedVmMissing('isolated-vm');
  }
}
