import { isIPv4 } from 'node:net';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';

const MAX_URL_LENGTH = 8_192;
/**
 * The ports below this one are forbidden, except 80 and 443, because the services on low ports may obey the text of a
 * request.
 */
const FIRST_FREE_PORT = 1_024;

/**
 * The URL of a page, without its fragment; `base` is the page that redirects to it. Throws a ToolCallError for
 * everything that is not a plain http or https URL.
 */
export function parseTarget(text: string, base?: URL): URL {
  // defence: web-url-length
  if (text.length > MAX_URL_LENGTH)
    throw badUrl(text, `it is longer than ${MAX_URL_LENGTH} characters; use a shorter one`);
  const url = parsedUrl(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw badUrl(text, 'its scheme is not supported; use http:// or https://');
  // defence: web-url-without-credentials
  if (url.username !== '' || url.password !== '')
    throw badUrl(text, 'it contains a user name or a password; remove them');
  // defence: web-ports
  if (isReservedPort(url.port))
    throw badUrl(text, `port ${url.port} belongs to another service; use 80, 443, or a port from ${FIRST_FREE_PORT}`);
  // defence: odd-addresses-are-refused
  if (isOddAddress(text, url, base))
    throw badUrl(text, `its host is an address in an unusual form; write ${url.hostname}`);
  url.hash = '';
  return url;
}

/**
 * The URL in the form that rules and users see. A URL that no tool fetches stays unchanged, except that invisible
 * characters are escaped.
 */
export function shownTarget(text: string): string {
  try {
    return parseTarget(text).href;
  } catch {
    return visible(text);
  }
}

/** The host of a URL in the form that the system's functions accept: an IPv6 address has no brackets. */
export function urlHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function parsedUrl(text: string, base: URL | undefined): URL {
  try {
    return new URL(text, base);
  } catch {
    throw badUrl(text, 'it is not absolute; use a URL such as https://example.com/page');
  }
}

function isReservedPort(port: string): boolean {
  return port !== '' && Number(port) < FIRST_FREE_PORT && port !== '80' && port !== '443';
}

/**
 * Whether a text is an unusual spelling of an IPv4 address. The parser reads `0x7f.1`, `2130706433` and `１２７.0.0.1` as
 * addresses. Such spellings have no honest use: they hide an address from the reader of the URL.
 */
function isOddAddress(text: string, { hostname }: URL, base: URL | undefined): boolean {
  if (!isIPv4(hostname)) return false;
  const host = /^(?:https?:)?\/\/(?<host>[\d.]+)(?=[:/?#]|$)/iu.exec(text.trim())?.groups?.['host'];
  if (host !== undefined) return host !== hostname;
  // A relative redirect stays at the host of its page.
  const isRelative = base?.hostname === hostname && !/^(?:[a-z][a-z\d+.-]*:|[/\\]{2})/iu.test(text.trim());
  return !isRelative;
}

function badUrl(text: string, why: string): Error {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return failure('bad_url', `The URL "${visible(shown)}" cannot be fetched: ${why}.`);
}
