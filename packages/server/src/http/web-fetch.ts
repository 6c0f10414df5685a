import type { OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';

export interface FetchOptions {
  /**
   * The address of the client, if the app knows it. Limits by address and the token of this machine's user depend on
   * it. Default: `127.0.0.1`, because the app itself passes on the request.
   */
  readonly remoteAddress?: string | undefined;
}

/** The server as a Fastify instance, and as a handler of the Fetch API. */
export interface ToolscriptServer extends FastifyInstance {
  /**
   * Answers a request of the Fetch API, streams included, without a connection: for the App Router of Next, Hono, Bun,
   * Deno and other apps that have such requests. Aborting the request, or cancelling the response's body, ends a stream.
   * Status 503 if the server could not start. The server's `close` drains it as usual.
   *
   * @example
   *   const app = await createServer({ stores: 'libsql:data/agents.db', auth: { token }, basePath: '/api' });
   *   export const GET = (request: Request) => app.fetch(request);
   */
  fetch(request: Request, options?: FetchOptions): Promise<Response>;
}

/** Statuses whose responses have no body, which the Fetch API demands to be null. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Gives an app its method `fetch`. */
export function withFetch(app: FastifyInstance): ToolscriptServer {
  app.decorate('fetch', (request: Request, options: FetchOptions = {}) => answer(app, request, options));
  return app as ToolscriptServer;
}

/** Makes the app ready. Returns whether it could start; an error is logged. */
export async function isReady(app: FastifyInstance): Promise<boolean> {
  try {
    await app.ready();
    return true;
  } catch (error) {
    app.log.error(
      { err: error },
      'the server did not start, so a request got status 503; check its configuration and its stores',
    );
    return false;
  }
}

async function answer(app: FastifyInstance, request: Request, options: FetchOptions): Promise<Response> {
  if (!(await isReady(app))) return new Response(null, { status: 503 });
  const { method, url, body, signal } = request;
  const answered: LightMyRequestResponse = await app.inject({
    method: method as InjectOptions['method'],
    url,
    headers: requestHeaders(request),
    remoteAddress: options.remoteAddress ?? '127.0.0.1',
    payload: body === null ? undefined : Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]),
    payloadAsStream: true,
    signal,
  } as InjectOptions);
  const { statusCode: status } = answered;
  const isEmpty = method === 'HEAD' || WITHOUT_BODY.has(status);
  const stream = answered.stream();
  // A reader that has gone is for the server a client that has disconnected.
  stream.once('close', () => answered.raw.res.destroy());
  if (isEmpty) stream.resume();
  return new Response(isEmpty ? null : webBody(stream), {
    status,
    headers: responseHeaders(answered.headers as OutgoingHttpHeaders),
  });
}

/** Not `Readable.toWeb`, which in Node.js 20 throws outside of any call if a reader cancels while data arrives. */
function webBody(stream: Readable): ReadableStream<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void stream.destroy(),
    },
    { highWaterMark: 0 },
  );
}

/** The headers that a connection would carry, too: the host, and the announcement of a body. */
function requestHeaders({ headers, url, body }: Request): Record<string, string> {
  const all = Object.fromEntries(headers);
  all['host'] ??= new URL(url).host;
  if (body !== null && all['content-length'] === undefined) all['transfer-encoding'] = 'chunked';
  return all;
}

function responseHeaders(headers: OutgoingHttpHeaders): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) all.append(name, String(one));
  return all;
}
