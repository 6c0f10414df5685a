import { ToolscriptUsageError } from '../../protocol/index.js';
import type { Fetch } from './post.js';
import { proxyFetch, proxyFor, type Environment } from './proxy.js';
import { secretHeaders } from './redact.js';

/** The options that decide whether a key may be sent. */
interface KeyedRequest {
  readonly apiKey?: string | (() => unknown) | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: Fetch | undefined;
  readonly environment?: Environment | undefined;
  readonly allowInsecureHttp?: boolean | undefined;
}

/**
 * @throws ToolscriptUsageError unless the URL is absolute, starts with http: or https:, and contains no credentials.
 */
export function endpointUrl(baseUrl: string, query: Readonly<Record<string, string>> = {}): URL {
  if (!URL.canParse(baseUrl)) throw new ToolscriptUsageError('BASE_URL_NOT_ABSOLUTE');
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new ToolscriptUsageError('BASE_URL_NOT_HTTP');
  if (url.username !== '' || url.password !== '') throw new ToolscriptUsageError('BASE_URL_WITH_PASSWORD');
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** A `fetch` for the URL, through the proxy that the environment sets for this URL, if any. */
export function fetchFor(url: URL, environment: Environment): Fetch {
  const proxy = proxyFor(url, environment);
  return proxy === undefined ? (to, init) => fetch(to, init) : proxyFetch(proxy);
}

/** Throws if a key would be sent unencrypted without `allowInsecureHttp`: every host on the way can read plain HTTP. */
export function refuseOpenKey(
  url: URL,
  { apiKey, headers, fetch, environment, allowInsecureHttp }: KeyedRequest,
): void {
  if (url.protocol !== 'http:' || allowInsecureHttp === true) return;
  if ((apiKey ?? '') === '' && secretHeaders(headers).length === 0) return;
  const proxy = fetch === undefined ? proxyFor(url, environment ?? process.env) : undefined;
  if (isLoopback(url.hostname) && (proxy === undefined || isLoopback(new URL(proxy).hostname))) return;
  const way = isLoopback(url.hostname) ? 'through the proxy of HTTP_PROXY' : `to ${url.host}`;
  const remedy = isLoopback(url.hostname) ? `name ${url.hostname} in NO_PROXY` : 'use an https: baseUrl';
  throw new ToolscriptUsageError('PROVIDER_KEY_UNENCRYPTED', { way, remedy });
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/u, '');
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(?:\.\d+){3}$/u.test(host);
}
