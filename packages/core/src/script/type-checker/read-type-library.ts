import { readFileSync } from 'node:fs';
import { coreFile } from '../../files/core-files.js';

let text: string | undefined;

/** Declarations of the engine's built-ins; written when the package is built. */
export function readTypeLibrary(): string {
  return (text ??= readFileSync(coreFile('script/type-library/guest.lib.d.ts'), 'utf8'));
}
