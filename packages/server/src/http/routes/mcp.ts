import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/index.js';

/** An endpoint for the Model Context Protocol over Streamable HTTP, such as a gateway of `@toolscript/mcp`. */
export interface McpEndpoint {
  /** `body`: the request's body as parsed JSON. `caller` has at least the scope `read`. */
  fetch(request: Request, options: { caller: Caller; body: unknown }): Promise<Response>;
  /** Ends open requests and streams. */
  close(): Promise<void>;
}

/** Methods of Streamable HTTP: for messages, for a stream of notifications, and for the end of a session. */
const METHODS = ['POST', 'GET', 'DELETE'];

/**
 * The route `/mcp`, with the same checks as all other routes. The scopes of a caller decide what the caller may do
 * there.
 */
export function mcpRoute(app: FastifyInstance, endpoint: McpEndpoint): void {
  app.route({
    method: METHODS,
    url: '/mcp',
    config: { scope: 'read' },
    schema: { hide: true },
    handler: (request, reply) => {
      const { caller, body } = request;
      return endpoint.fetch(webRequest(request, reply), { caller, body });
    },
  });
  app.addHook('preClose', () => endpoint.close());
}

/** Converts the request, without its body. The signal aborts when the client disconnects. */
function webRequest({ method, headers, url }: FastifyRequest, { raw }: FastifyReply): Request {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith(':') || value === undefined ? [] : [[name, String(value)]],
  );
  return new Request(new URL(url, 'http://127.0.0.1'), { method, headers: pairs, signal: gone.signal });
}
