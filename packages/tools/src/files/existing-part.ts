import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * The longest part of a path below a root that exists. Looked for from above: a script may name paths of which a
 * hundred folders are missing. It says nothing about where links lead.
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
