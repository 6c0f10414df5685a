import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
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

const MessageSchema = z.looseObject({ jsonrpc: z.literal('2.0') });

/** The methods of Streamable HTTP. */
const METHODS = {
  POST: {
    operationId: 'sendMcpMessage',
    description: 'Sends messages of the Model Context Protocol. 202: the messages contain no request.',
    answers: { 200: { 'application/json': MessageSchema, 'text/event-stream': MessageSchema }, 202: {} },
  },
  GET: {
    operationId: 'streamMcpMessages',
    description: 'Streams the notifications and requests of the server in a session.',
    answers: { 200: { 'text/event-stream': MessageSchema } },
  },
  DELETE: { operationId: 'endMcpSession', description: 'Ends a session.', answers: { 200: {} } },
};

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
  const handler = (request: FastifyRequest, reply: FastifyReply) => {
    const { caller, body } = request;
    // defence: mcp-streams-are-registered
    const signal = streams.addResponse(caller, reply);
    const tools = calledTools(body);
    if (tools.length > 0) requestAudit?.note(request, { type: 'mcp_call', tools });
    const onSession = (end: () => void) => streams.addSession(caller, end);
    return endpoint.fetch(webRequest(request, signal), { caller, body, onSession });
  };
  for (const [method, schema] of Object.entries(METHODS))
    app.route({ method, url: '/mcp', config: { scope: 'read' }, schema, handler });
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
