import type { IncomingMessage } from 'node:http';
import { limitedSignal } from '@toolscript/core/internal';
import type { ApiRequest } from './request.js';

/** The answer of a service. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

export interface ApiFetchOptions {
  /** The user has named this origin: it may be a private address, and it alone gets the headers and the cookies. */
  readonly origin: string;
  /** The configured headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum bytes of the body, also after decompression. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Sends a request, and follows the redirects of one that only reads. Rejects with a ToolCallError if no answer has
 * arrived within the limits.
 */
export async function apiFetch(request: ApiRequest, options: ApiFetchOptions): Promise<ApiAnswer> {
  const { WEB_LIMITS } = await import('@toolscript/tools/internal');
  const signal = limitedSignal(options.timeoutMs, options.signal);
  let at = request.url;
  for (let redirects = 0; ; redirects++) {
    const answer = await send({ ...request, url: at }, { ...options, signal });
    const { location } = answer.headers;
    const isFollowed = REDIRECTS.has(answer.status) && location !== undefined && READING.has(request.method);
    if (!isFollowed || redirects === WEB_LIMITS.maxRedirects || !URL.canParse(location, at.href)) return answer;
    at = new URL(location, at);
  }
}

async function send({ url, method, headers, body }: ApiRequest, options: ApiFetchOptions): Promise<ApiAnswer> {
  const { origin, timeoutMs, maxBytes, signal } = options;
  const { AddressGuard, ACCEPTED_CODINGS, readBody, sendRequest, WEB_LIMITS } =
    await import('@toolscript/tools/internal');
  const isNamed = url.origin === origin;
  // defence: openapi-other-origins-use-https
  if (!isNamed && url.protocol !== 'https:') throw new Error(`it redirects to ${url.origin}, which is not https`);
  const limits = { ...WEB_LIMITS, timeoutMs, maxBytes, maxTransferBytes: maxBytes };
  const guard = new AddressGuard(isNamed ? { allow: [url.hostname.replaceAll(/[[\]]/gu, '')] } : {});
  const sent = { ...requestHeaders({ url, headers }, options), 'accept-encoding': ACCEPTED_CODINGS };
  const answer = await sendRequest({ url, method, headers: sent, body }, { guard, limits }, signal);
  const bytes = await readBody(answer, url, limits, signal);
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes };
}

/** The headers of a request: another origin gets neither those of the call nor those of the configuration. */
export function requestHeaders(
  { url, headers }: Pick<ApiRequest, 'url' | 'headers'>,
  { origin, headers: configured }: Pick<ApiFetchOptions, 'origin' | 'headers'>,
): Record<string, string> {
  const accept = 'application/json, */*;q=0.5';
  // defence: openapi-credentials-stay-at-their-origin
  if (url.origin !== origin) return { accept };
  return { accept, ...lowerCase(headers), ...lowerCase(configured) };
}

/** With names in lower case, so that a configured header replaces the same one of a call. */
function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
