import { join, sep } from 'node:path';
import { resolvedPath, type FolderReader } from './folder-reader.js';

/** Describes entries, so that two descriptions differ if another entry is at a path. */
export class EntryStates {
  readonly #reader: FolderReader;
  readonly #roots: readonly string[];

  constructor(reader: FolderReader, roots: readonly string[]) {
    this.#reader = reader;
    this.#roots = roots;
  }

  /** The entry itself, regardless of its content. A link also means its target. */
  identity(path: string): string {
    const stat = this.#reader.stat(path);
    const own = `${stat?.dev}:${stat?.ino}`;
    const target = stat?.isSymbolicLink() === true ? resolvedPath(path) : undefined;
    if (target === undefined) return own;
    // defence: targets-of-protected-links
    return `${own}>${target}>${this.isInRoots(target) ? this.identity(target) : ''}`;
  }

  /** The entry with its time of change, everything below it and its target. */
  content(path: string): string {
    const stat = this.#reader.stat(path);
    const own = `${stat?.dev}:${stat?.ino}:${stat?.ctimeNs}`;
    const target = stat?.isSymbolicLink() === true ? resolvedPath(path) : undefined;
    if (target !== undefined) return `${own}>${target}>${this.isInRoots(target) ? this.content(target) : ''}`;
    if (stat?.isDirectory() !== true) return own;
    const names = (this.#reader.list(path) ?? []).map(({ name }) => name);
    return [own, ...names.map((name) => this.content(join(path, name)))].join(',');
  }

  /** Whether a command can write to a path, whose links are resolved. */
  isInRoots(path: string): boolean {
    return this.#roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  }
}
