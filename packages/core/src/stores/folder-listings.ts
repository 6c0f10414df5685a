import { namesIn, statFile } from './store-folder.js';

/** Two changes within this time may leave the same modification time, because file systems round it. */
const SETTLED_MS = 5_000;

/**
 * Caches the names in large folders. An unchanged folder is not read again: ten thousand names take 10 ms, and a caller
 * that pages through them asks a hundred times.
 */
export class FolderListings {
  readonly #known = new Map<string, { changedAtMs: number; names: readonly string[] }>();

  /** Empty if there is no such folder. */
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
