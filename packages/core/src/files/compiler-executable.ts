import { dirname, join } from 'node:path';
import { packageFile } from './core-files.js';

/**
 * The path of TypeScript's native compiler for this platform, an optional dependency of the package `typescript`.
 * Throws if it is not installed.
 */
export function compilerExecutable(): string {
  const name = `@typescript/typescript-${process.platform}-${process.arch}`;
  try {
    const folder = dirname(packageFile(`${name}/package.json`, 'typescript/package.json'));
    return join(folder, 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc');
  } catch {
    throw new Error(
      `TypeScript's native compiler is not installed: the package ${name}, an optional dependency of typescript 7. Install it: npm install --include=optional`,
    );
  }
}
