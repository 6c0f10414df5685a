import { namesIn, statFile } from './store-folder.js';

/** Two changes within this time may leave a folder with the same time of change: file systems count coarsely. */
const SETTLED_MS = 5_000;

/**
 * What stands in large folders. A folder that has not changed since it was read is not read again: ten thousand names
 * take 10 ms, and whoever turns its pages asks for them a hundred times.
 */
export class FolderListings {
  readonly #known = new Map<string, { changedAtMs: number; names: readonly string[] }>();

  /** Nothing where there is no such folder. */
  async names(path: string): Promise<readonly string[]> {
    const changedAtMs = (await statFile(path))?.mtimeMs;
    const known = this.#known.get(path);
    if (known !== undefined && known.changedAtMs === changedAtMs) return known.names;
    const names = await namesIn(path);
    if (changedAtMs !== undefined && Date.now() - changedAtMs > SETTLED_MS)
      this.#known.set(path, { changedAtMs, names });
    else this.#known.delete(path);
    return names;
  }
}
