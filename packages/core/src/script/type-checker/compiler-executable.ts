import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The path of TypeScript's native compiler for this platform, an optional dependency of the package `typescript`.
 * Throws if it is not installed.
 */
export function compilerExecutable(): string {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const platformPackage = `@typescript/typescript-${process.platform}-${process.arch}/package.json`;
  const folder = dirname(createRequire(manifest).resolve(platformPackage));
  return join(folder, 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc');
}
