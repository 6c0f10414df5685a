import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { displayPath, resolvePath, rootOf, type Workspace } from './workspace.js';

/**
 * A path as approval rules see it: where it leads now, links and `..` resolved, as results name it. What lies
 * outside or cannot be spelled keeps its own text; such a call fails anyway.
 */
export function permissionPath(workspace: Workspace, path: string, workdir?: string): string {
  try {
    const { absolute } = resolvePath(workspace, path, workdir);
    return displayPath(workspace, realPathOf(absolute, rootOf(workspace, absolute)!.realPath));
  } catch {
    return path;
  }
}

/** Looks for the deepest folder that exists from above: a script may name many that are missing. */
function realPathOf(path: string, root: string): string {
  let existing = root;
  for (const name of relative(root, path).split(sep)) {
    const next = join(existing, name);
    if (!isThere(next)) break;
    existing = next;
  }
  const missing = relative(existing, path);
  try {
    return join(realpathSync.native(existing), missing);
  } catch {
    // A link that leads nowhere.
    return join(realpathSync.native(dirname(existing)), basename(existing), missing);
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
