import { sep } from 'node:path';

/** Whether the path is the folder or inside of it. Both are absolute and normalised. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
