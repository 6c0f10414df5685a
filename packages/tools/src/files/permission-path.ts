import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { existingPart } from './existing-part.js';
import { displayPath, resolvePath, innermostRoot, type Workspace } from './workspace.js';

/**
 * A path in the form that approval rules see: its current target, with links and `..` resolved, named as in results. A
 * path that is malformed or outside the workspace stays unchanged; a call with such a path fails anyway.
 */
export function permissionPath(workspace: Workspace, path: string, workdir?: string): string {
  try {
    const { absolute } = resolvePath(workspace, path, workdir);
    return displayPath(workspace, expectedRealPath(absolute, innermostRoot(workspace, absolute)!.realPath));
  } catch {
    return path;
  }
}

function expectedRealPath(path: string, root: string): string {
  const existing = existingPart(root, path);
  const missing = relative(existing, path);
  try {
    return join(realpathSync.native(existing), missing);
  } catch {
    // The path is a dangling link.
    return join(realpathSync.native(dirname(existing)), basename(existing), missing);
  }
}
