import { ToolscriptUsageError } from '../../protocol/index.js';
import type { Fetch } from './post.js';

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that the usual environment variables set for a URL; undefined for a direct connection. */
export function proxyFor(url: URL, environment: Environment): string | undefined {
  const secure = url.protocol === 'https:';
  const proxy = secure ? variable(environment, 'https_proxy') : variable(environment, 'http_proxy');
  if (proxy === undefined || isExcepted(url, variable(environment, 'no_proxy') ?? '')) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** The lower-case name takes precedence, as in other programs. */
function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name] ?? environment[name.toUpperCase()];
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}

/** A bare IPv6 address has more than one colon, and no port. */
const HOST_AND_PORT = /^(\[.*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/u;

/** `NO_PROXY`: host names (including subdomains), `.suffix`, `*.suffix`, `host:port`, or `*` for all hosts. */
function isExcepted(url: URL, list: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/gu, '').toLowerCase();
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return list
    .split(/[\s,]+/u)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', onlyPort] = HOST_AND_PORT.exec(entry.toLowerCase()) ?? [];
      const suffix = name.replace(/^\[|\]$/gu, '').replace(/^\*?\./u, '');
      const matches = host === suffix || host.endsWith(`.${suffix}`);
      return matches && suffix !== '' && (onlyPort === undefined || onlyPort === port);
    });
}

/**
 * `fetch` through a proxy, by undici, because Node supports proxies only from version 24 on. The first request loads
 * undici, which takes about 100 ms.
 */
export function proxyFetch(proxy: string): Fetch {
  const uri = parseProxy(proxy);
  let ready: Promise<Fetch> | undefined;
  return async (url, init) => {
    ready ??= loadProxyFetch(uri);
    return (await ready)(url, init);
  };
}

function parseProxy(proxy: string): string {
  const scheme = URL.canParse(proxy) ? new URL(proxy).protocol : '';
  if (scheme === 'http:' || scheme === 'https:') return proxy;
  throw new ToolscriptUsageError('PROXY_URL_NOT_HTTP');
}

async function loadProxyFetch(uri: string): Promise<Fetch> {
  const { fetch, ProxyAgent } = await import('undici');
  const dispatcher = new ProxyAgent(uri);
  type Init = NonNullable<Parameters<typeof fetch>[1]>;
  return async (url, init) => (await fetch(url, { ...(init as unknown as Init), dispatcher })) as unknown as Response;
}
