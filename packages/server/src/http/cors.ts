import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers that pages may send and read, in addition to those that are always allowed. */
const ALLOWED_HEADERS = 'authorization, content-type, idempotency-key, last-event-id, traceparent, tracestate';
const EXPOSED_HEADERS = 'content-disposition, retry-after, www-authenticate';

/** The time for which a browser caches the answer to a preflight, in s. */
const MAX_AGE_S = 600;

/** Whether the request is a browser's preflight. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/**
 * Allows the page of a configured origin to read the answer. `Access-Control-Allow-Origin` names that origin, never a
 * wildcard. No header allows cookies.
 */
export function addCorsHeaders(request: FastifyRequest, { raw }: FastifyReply, origin: string): void {
  // The headers are set on the raw response, so that streams have them too.
  raw.setHeader('access-control-allow-origin', origin);
  raw.setHeader('vary', 'Origin');
  raw.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
  if (!isPreflight(request)) return;
  raw.setHeader('access-control-allow-methods', 'GET, POST, PATCH, DELETE');
  raw.setHeader('access-control-allow-headers', ALLOWED_HEADERS);
  raw.setHeader('access-control-max-age', MAX_AGE_S);
}
