import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { RequestPayload } from 'fastify';
import { ProblemError } from './problems.js';
import { announcesBody } from './unread-body.js';

/** The members in which apps leave a body that they have read: as bytes, as text, or as parsed JSON. */
type ReadRequest = IncomingMessage & { readonly rawBody?: unknown; readonly body?: unknown };

/**
 * The body of a request to a server inside another app. A body that the app has read is taken from the members where
 * apps leave it, because its stream has no more data and no further end.
 */
export function unreadBody(request: ReadRequest, payload: RequestPayload): RequestPayload {
  if (!request.readableDidRead || !announcesBody(request.headers)) return payload;
  const body = request.rawBody ?? request.body;
  // defence: read-bodies-are-not-awaited
  if (body === undefined)
    throw new ProblemError(
      500,
      'The app around the server has read the body of the request. Pass the request on before the app reads bodies, or leave the body in request.body.',
    );
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  // Fastify compares this length with the header.
  const receivedEncodedLength = Number(request.headers['content-length'] ?? bytes.length);
  return Object.assign(Readable.from([bytes], { objectMode: false }), { receivedEncodedLength });
}
