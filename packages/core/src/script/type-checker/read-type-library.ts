import { readFileSync } from 'node:fs';

const path = new URL('../type-library/guest.lib.d.ts', import.meta.url);
let text: string | undefined;

/** Declarations of what the sandbox's engine has; written when the package is built. */
export function readTypeLibrary(): string {
  return (text ??= readFileSync(path, 'utf8'));
}
