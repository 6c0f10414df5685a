import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { existingPart } from './existing-part.js';
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

function realPathOf(path: string, root: string): string {
  const existing = existingPart(root, path);
  const missing = relative(existing, path);
  try {
    return join(realpathSync.native(existing), missing);
  } catch {
    // A link that leads nowhere.
    return join(realpathSync.native(dirname(existing)), basename(existing), missing);
  }
}
