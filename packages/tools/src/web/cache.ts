import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { makePrivateFolder } from '../files/state-folder.js';

const CachedPageSchema = z.object({
  /** The page's own URL, after redirects. */
  source: z.string(),
  title: z.string(),
  /** Markdown for an HTML page, otherwise the text of the page. */
  text: z.string(),
  isJson: z.boolean(),
  /** Milliseconds since 1970. */
  fetchedAt: z.number(),
});

export type CachedPage = z.output<typeof CachedPageSchema>;

/** Stores pages by a key: the principal and the URL that it requested. The tools decide how old a page may be. */
export interface WebCache {
  /** Returns undefined for an unknown key. Never rejects: an unreadable cache is treated as empty. */
  get(key: string): Promise<CachedPage | undefined>;
  /** Stores a page. Never rejects: a page that cannot be stored is fetched again later. */
  set(key: string, page: CachedPage): Promise<void>;
}

export interface CacheBounds {
  /** Maximum size: characters of a memory cache, bytes of a folder. Default 50 000 000. */
  readonly maxSize?: number | undefined;
}

const MAX_SIZE = 50_000_000;

/** Keeps pages in this process. Drops the oldest pages beyond the maximum size. */
export function memoryWebCache({ maxSize = MAX_SIZE }: CacheBounds = {}): WebCache {
  const pages = new Map<string, CachedPage>();
  let size = 0;
  const remove = (url: string): void => {
    size -= cachedSize(url, pages.get(url));
    pages.delete(url);
  };
  return {
    get: (url) => Promise.resolve(pages.get(url)),
    set: (url, page) => {
      remove(url);
      pages.set(url, page);
      size += cachedSize(url, page);
      for (const oldest of pages.keys()) {
        if (size <= maxSize) break;
        remove(oldest);
      }
      return Promise.resolve();
    },
  };
}

function cachedSize(url: string, page: CachedPage | undefined): number {
  return page === undefined ? 0 : url.length + page.text.length + page.title.length + page.source.length;
}

const ENTRY = /^[0-9a-f]{64}\.json$/u;
const FileSchema = z.object({ url: z.string(), page: CachedPageSchema });

/**
 * Keeps pages in a folder, one file each. Several processes may share the folder. A file is complete or absent. Deletes
 * the oldest files beyond the maximum size. The folder belongs to this user alone, and must be outside every workspace.
 */
export function fileWebCache(folder: string, { maxSize = MAX_SIZE }: CacheBounds = {}): WebCache {
  const cacheFile = (url: string): string => join(folder, `${createHash('sha256').update(url).digest('hex')}.json`);
  return {
    get: async (url) => {
      try {
        const stored = FileSchema.parse(JSON.parse(await readFile(cacheFile(url), 'utf8')));
        return stored.url === url ? stored.page : undefined;
      } catch {
        return undefined;
      }
    },
    set: async (url, page) => {
      const temporary = join(folder, `.${randomUUID()}`);
      try {
        if (!makePrivateFolder(folder)) return;
        await writeFile(temporary, JSON.stringify({ url, page }), { mode: 0o600, flag: 'wx' });
        await rename(temporary, cacheFile(url));
        await deleteOldest(folder, maxSize);
      } catch {
        await rm(temporary, { force: true }).catch(() => {});
      }
    },
  };
}

/** Age from which a temporary file counts as abandoned, in ms. No write takes that long. */
const ABANDONED_MS = 3_600_000;

async function deleteOldest(folder: string, maxSize: number): Promise<void> {
  const files = await Promise.all((await readdir(folder)).map((name) => fileIn(folder, name)));
  const newestFirst = files.filter((file) => file !== undefined).sort((one, other) => other.changedAt - one.changedAt);
  let size = 0;
  for (const { path, bytes, changedAt, isEntry } of newestFirst) {
    if (isEntry) size += bytes;
    const isAbandoned = !isEntry && Date.now() - changedAt > ABANDONED_MS;
    if (isAbandoned || (isEntry && size > maxSize)) await rm(path, { force: true });
  }
}

interface FolderFile {
  readonly path: string;
  readonly bytes: number;
  readonly changedAt: number;
  readonly isEntry: boolean;
}

/**
 * A page's file or a temporary file in the folder. Undefined for other files, and for a file that another process has
 * deleted.
 */
async function fileIn(folder: string, name: string): Promise<FolderFile | undefined> {
  const isEntry = ENTRY.test(name);
  if (!isEntry && !name.startsWith('.')) return undefined;
  const path = join(folder, name);
  const found = await stat(path).catch(() => undefined);
  return found && { path, bytes: found.size, changedAt: found.mtimeMs, isEntry };
}
