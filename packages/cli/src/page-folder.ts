import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built web page, next to the program; undefined in a checkout where it is not built. */
export function pageFolder(): string | undefined {
  const folder = fileURLToPath(new URL('../page', import.meta.url));
  return existsSync(folder) ? folder : undefined;
}
