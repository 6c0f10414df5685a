import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/index.js';
import type { Service } from '../service.js';

export interface McpRequestOptions {
  readonly caller: Caller;
  /** The request's body as parsed JSON. */
  readonly body: unknown;
  /**
   * To be called if the request begins a session. The server calls `end` after the key of the caller is revoked, and
   * the endpoint calls the result after the session has ended.
   */
  readonly onSession: (end: () => void) => () => void;
}

/** An endpoint for the Model Context Protocol over Streamable HTTP, such as a gateway of `@toolscript/mcp`. */
export interface McpEndpoint {
  /** `caller` has at least the scope `read`. */
  fetch(request: Request, options: McpRequestOptions): Promise<Response>;
  /** Ends open requests and streams. */
  close(): Promise<void>;
}

/** Methods of Streamable HTTP: for messages, for a stream of notifications, and for the end of a session. */
const METHODS = ['POST', 'GET', 'DELETE'];

/** Maximum number of tools that the audit entry of one request names. */
const MAX_NAMED = 20;

/**
 * The route `/mcp`, with the same checks as all other routes. The scopes of a caller decide what the caller may do
 * there. Each open request counts as a stream of its principal, and ends when its key is revoked.
 */
export function mcpRoute(
  app: FastifyInstance,
  endpoint: McpEndpoint,
  { streams, requestAudit }: Pick<Service, 'streams'> & Partial<Pick<Service, 'requestAudit'>>,
): void {
  app.route({
    method: METHODS,
    url: '/mcp',
    config: { scope: 'read' },
    schema: { hide: true },
    handler: (request, reply) => {
      const { caller, body } = request;
      // defence: mcp-streams-are-registered
      const signal = streams.addResponse(caller, reply);
      const tools = calledTools(body);
      if (tools.length > 0) requestAudit?.note(request, { type: 'mcp_call', tools });
      const onSession = (end: () => void) => streams.addSession(caller, end);
      return endpoint.fetch(webRequest(request, signal), { caller, body, onSession });
    },
  });
  app.addHook('preClose', () => endpoint.close());
}

/** The tools that the messages of a body call. */
function calledTools(body: unknown): string[] {
  const names = [body].flat().flatMap((message) => {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } | undefined };
    const name = params?.name;
    return method === 'tools/call' && typeof name === 'string' ? [name.slice(0, 200)] : [];
  });
  return [...new Set(names)].slice(0, MAX_NAMED);
}

/** Converts the request, without its body. */
function webRequest({ method, headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith(':') || value === undefined ? [] : [[name, String(value)]],
  );
  return new Request(new URL(url, 'http://127.0.0.1'), { method, headers: pairs, signal });
}
