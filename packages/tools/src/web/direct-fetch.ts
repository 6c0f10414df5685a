import type { IncomingMessage } from 'node:http';
import { limitedSignal } from '@toolscript/core/internal';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import { ACCEPTED_CODINGS, readBody } from './body.js';
import { pageStatus } from './firecrawl.js';
import type { ReceivedPage } from './page.js';
import { sendRequest, type RequestServices } from './request.js';
import { parseTarget } from './target-url.js';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const ACCEPTED_TYPES = 'text/html, application/xhtml+xml, application/json;q=0.9, text/*;q=0.9, application/xml;q=0.8';

interface DirectFetch extends RequestServices {
  readonly isBackground: boolean;
}

/** The page at a URL, after its redirects. The tool checks each redirect like the first URL. Throws a ToolCallError. */
export async function fetchDirectly(url: URL, services: DirectFetch, signal: AbortSignal): Promise<ReceivedPage> {
  const { limits } = services;
  // One time limit applies to all redirects together.
  const limited = limitedSignal(limits.timeoutMs, signal);
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await ask(at, services, limited);
    const location = redirectLocation(response);
    if (location === undefined) return receivePage(response, at, services, limited);
    response.destroy();
    // defence: redirects-are-counted
    if (redirects >= limits.maxRedirects) throw tooManyRedirects(url, limits.maxRedirects);
    at = parseTarget(location, at);
  }
}

function ask(url: URL, { guard, limits, isBackground }: DirectFetch, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = { accept: ACCEPTED_TYPES, 'accept-encoding': ACCEPTED_CODINGS };
  return sendRequest({ url, method: 'GET', headers, isBackground }, { guard, limits }, signal);
}

function redirectLocation({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return REDIRECTS.has(statusCode) ? headers.location : undefined;
}

async function receivePage(
  response: IncomingMessage,
  url: URL,
  { limits }: DirectFetch,
  signal: AbortSignal,
): Promise<ReceivedPage> {
  const status = response.statusCode ?? 0;
  if (status !== 200) {
    response.destroy();
    throw pageStatus(url, status);
  }
  const bytes = await readBody(response, url, limits, signal);
  return { url, contentType: response.headers['content-type'], bytes };
}

function tooManyRedirects(url: URL, max: number): Error {
  return failure(
    'too_many_redirects',
    `${visible(url.host)} redirects more than ${max} times. Fetch the final URL directly.`,
  );
}
