import { guardDestinations } from '@toolscript/core';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { memoryWebCache, type WebCache } from './cache.js';
import { fetchUrlTool } from './fetch-url.js';
import { AddressGuard, type GuardOptions } from './guard.js';
import { httpTool } from './http.js';
import { WEB_LIMITS, type WebLimits } from './limits.js';
import { Pages } from './pages.js';
import type { Service, ServiceOptions } from './service.js';
import { webSearchTool } from './web-search.js';

export interface WebToolsOptions extends GuardOptions {
  /** The Perplexity Search API, for `webSearch`. Without a key, each call fails and names the setting. */
  readonly perplexity?: ServiceOptions | undefined;
  /** With a key, Firecrawl fetches the pages of `fetchUrl`. Without one, this process does. */
  readonly firecrawl?: ServiceOptions | undefined;
  /** The cache of pages. Default: in memory. See `fileWebCache`. */
  readonly cache?: WebCache | undefined;
  /** The store in which `fetchUrl` saves whole pages. Default: none. See `cabinetTools`. */
  readonly documents?: DocumentStore | undefined;
  readonly limits?: Partial<WebLimits> | undefined;
  /**
   * Maximum number of results of a search that are fetched before a script requests them. Default 20; 0 disables the
   * fetches in advance.
   */
  readonly maxPrefetch?: number | undefined;
  /** `destinations`: guards the URLs of the tools; see `guardDestinations`. Default: no argument is guarded. */
  readonly flow?: 'destinations' | undefined;
  /** The clock, in ms since 1970. Default: the system's clock. */
  readonly now?: (() => number) | undefined;
}

const SEARCH_SETTING = 'PERPLEXITY_API_KEY in the environment (or the option "perplexity.apiKey" of webTools)';
const SCRAPE_SETTING = 'FIRECRAWL_API_KEY in the environment (or the option "firecrawl.apiKey" of webTools)';

/**
 * The tools for the web: webSearch, fetchUrl and http. Scripts can call `http` only if `expose.http` is true. Throws a
 * ToolscriptUsageError for an invalid entry of `allow`.
 */
export function webTools(options: WebToolsOptions = {}): Tool[] {
  const { cache = memoryWebCache(), maxPrefetch = 20, now = () => Date.now() } = options;
  const guard = new AddressGuard(options);
  const limits = { ...WEB_LIMITS, ...options.limits };
  const firecrawl = webService('Firecrawl', options.firecrawl, 'https://api.firecrawl.dev', SCRAPE_SETTING);
  const perplexity = webService('Perplexity', options.perplexity, 'https://api.perplexity.ai', SEARCH_SETTING);
  const pages = new Pages({ guard, limits, cache, firecrawl, now });
  const tools = [
    webSearchTool({ perplexity, setting: SEARCH_SETTING, pages, maxPrefetch }),
    fetchUrlTool(pages, options.documents),
    httpTool({ guard, limits }),
  ];
  return options.flow === undefined ? tools : guardDestinations(tools);
}

function webService(
  name: string,
  { apiKey = '', baseUrl }: ServiceOptions = {},
  ownUrl: string,
  setting: string,
): Service | undefined {
  return apiKey === '' ? undefined : { name, apiKey, baseUrl: baseUrl ?? ownUrl, setting };
}
