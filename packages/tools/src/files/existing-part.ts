import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * The longest existing part of a path below a root. The search starts at the root, because a script may name a path
 * with a hundred missing folders. It does not resolve links.
 */
export function existingPart(root: string, path: string): string {
  let existing = root;
  for (const name of relative(root, path).split(sep)) {
    const next = join(existing, name);
    if (!isThere(next)) break;
    existing = next;
  }
  return existing;
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
