import { readFileSync } from 'node:fs';

const path = new URL('../type-library/guest.lib.d.ts', import.meta.url);
let text: string | undefined;

/** Declarations of the engine's built-ins; written when the package is built. */
export function readTypeLibrary(): string {
  return (text ??= readFileSync(path, 'utf8'));
}
