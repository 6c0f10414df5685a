import { limitedSignal } from '@toolscript/core/internal';
import type { ToolCallContext } from '@toolscript/core/protocol';
import type { CachedPage, WebCache } from './cache.js';
import { fetchDirectly } from './direct-fetch.js';
import { scrapePage } from './firecrawl.js';
import { readPageText } from './page.js';
import { PageReader } from './read-page.js';
import type { RequestServices } from './request.js';
import type { Service } from './service.js';
import { parseTarget } from './target-url.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_TITLE = 500;

export interface PagesOptions extends RequestServices {
  readonly cache: WebCache;
  /** Undefined: this process fetches pages directly. */
  readonly firecrawl: Service | undefined;
  readonly now: () => number;
}

/** Who asks for a page. Each principal has its own pages. */
export type Reader = Pick<ToolCallContext, 'principal' | 'signal'>;

export interface FoundPage extends CachedPage {
  readonly url: string;
  readonly isCached: boolean;
}

/** Provides pages as text. A cached page is valid for 24 hours. */
export class Pages {
  readonly #options: PagesOptions;
  readonly #reader: PageReader;
  /** The pages that `prefetch` is fetching now. */
  readonly #early = new Map<string, Promise<CachedPage | undefined>>();

  constructor(options: PagesOptions) {
    this.#options = options;
    this.#reader = new PageReader(options.limits);
  }

  /** The page at a URL, from the cache or the network. Throws a ToolCallError. */
  async get(address: string, { principal, signal }: Reader): Promise<FoundPage> {
    const url = parseTarget(address);
    const key = cacheKey(url.href, principal);
    const stored = (await this.#early.get(key)) ?? (await this.#storedPage(key));
    if (stored !== undefined) return { ...stored, url: url.href, isCached: true };
    return { ...(await this.#fetchedPage(url, key, { signal, isBackground: false })), url: url.href, isCached: false };
  }

  /** Starts to fetch pages into the cache. A page that fails is fetched again when a script requests it. */
  prefetch(urls: readonly string[], { principal }: Pick<Reader, 'principal'>): void {
    for (const url of urls) {
      const key = cacheKey(url, principal);
      if (this.#early.has(key)) continue;
      const page = this.#fetchEarly(url, key).catch(() => undefined);
      this.#early.set(key, page);
      void page.finally(() => this.#early.delete(key));
    }
  }

  async #fetchEarly(address: string, key: string): Promise<CachedPage> {
    const url = parseTarget(address);
    const signal = limitedSignal(this.#options.limits.timeoutMs);
    return (await this.#storedPage(key)) ?? this.#fetchedPage(url, key, { signal, isBackground: true });
  }

  async #storedPage(key: string): Promise<CachedPage | undefined> {
    const { cache, now } = this.#options;
    const page = await cache.get(key);
    if (page === undefined) return undefined;
    const age = now() - page.fetchedAt;
    return age >= 0 && age < DAY_MS ? page : undefined;
  }

  async #fetchedPage(
    url: URL,
    key: string,
    { signal, isBackground }: { readonly signal: AbortSignal; readonly isBackground: boolean },
  ): Promise<CachedPage> {
    const { cache, now } = this.#options;
    const fetchedAt = now();
    const page = { ...(await this.#read(url, signal, isBackground)), fetchedAt };
    await cache.set(key, page);
    return page;
  }

  async #read(url: URL, signal: AbortSignal, isBackground: boolean): Promise<Omit<CachedPage, 'fetchedAt'>> {
    const { firecrawl, guard, limits } = this.#options;
    if (firecrawl !== undefined) {
      // Firecrawl may run in a private network, and must not fetch pages of hosts there.
      // defence: services-get-public-urls
      await guard.resolveAddresses(url, signal);
      return { ...(await scrapePage(firecrawl, url, signal)), isJson: false };
    }
    const received = await fetchDirectly(url, { guard, limits, isBackground }, signal);
    const { kind, text } = readPageText(received);
    const source = received.url.href;
    if (kind !== 'html') return { source, title: '', text, isJson: kind === 'json' };
    const { title, markdown } = await this.#reader.read(text, received.url, { signal, isBackground });
    return { source, title: title.slice(0, MAX_TITLE), text: markdown, isJson: false };
  }
}

/**
 * A page of one principal says nothing about what another one reads. The URL is last, and has no space, so two
 * principals never share a key.
 */
function cacheKey(url: string, principal: string | undefined): string {
  // defence: cached-pages-of-the-principal
  return principal === undefined ? url : `${principal} ${url}`;
}
