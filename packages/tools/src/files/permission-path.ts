import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { displayPath, resolvePath, type Workspace } from './workspace.js';

/**
 * A path as approval rules see it: where it leads now, links and `..` resolved, as results name it. What lies
 * outside or cannot be spelled keeps its own text; such a call fails anyway.
 */
export function permissionPath(workspace: Workspace, path: string, workdir?: string): string {
  try {
    return displayPath(workspace, realPathOf(resolvePath(workspace, path, workdir).absolute));
  } catch {
    return path;
  }
}

function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}
