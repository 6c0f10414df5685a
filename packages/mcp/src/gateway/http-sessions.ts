import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { isSameCaller, requestOptions, type GatewayCaller } from './caller.js';

/** The server of one lasting connection. */
export interface LastingServer {
  readonly made: McpServer;
  /** Must be called when the connection has ended. */
  release(): void;
}

interface Session {
  readonly caller: GatewayCaller;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: LastingServer;
}

const MAX_SESSIONS = 500;

/**
 * Sessions of clients of protocols before 2026-07-28: over the streams of a session, such a client can be asked for an
 * approval and notified of changed tools. If there are too many sessions, the least recently used one ends.
 */
export class HttpSessions {
  readonly #open: (caller: GatewayCaller) => LastingServer;
  /** The sessions by id, with the most recently used session last. */
  readonly #sessions = new Map<string, Session>();

  constructor(open: (caller: GatewayCaller) => LastingServer) {
    this.#open = open;
  }

  /** The answer to a request; undefined if the request belongs to no session and starts none. */
  answer(request: Request, caller: GatewayCaller, body: unknown): Promise<Response> | undefined {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return isInitializeRequest(body) ? this.#begin(request, caller, body) : undefined;
    const session = this.#sessions.get(id);
    // defence: mcp-sessions-belong-to-their-caller, without it: const isOwn = session !== undefined;
    const isOwn = session !== undefined && isSameCaller(session.caller, caller);
    if (!isOwn) return Promise.resolve(unknownSession());
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return handle(session, request, body);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, caller: GatewayCaller, body: unknown): Promise<Response> {
    const server = this.#open(caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#keep(id, session),
      onsessionclosed: (id) => this.#end(id),
    });
    const session = { caller, transport, server };
    await server.made.connect(transport);
    return handle(session, request, body);
  }

  async #keep(id: string, session: Session): Promise<void> {
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS) await this.#end(oldest!);
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    session?.server.release();
    await session?.server.made.close().catch(() => {});
  }
}

function handle({ caller, transport }: Session, request: Request, body: unknown): Promise<Response> {
  return transport.handleRequest(request, requestOptions(caller, body));
}

/** The answer after which a client begins a new session. */
function unknownSession(): Response {
  const error = { code: -32_001, message: 'There is no such session. Initialize a new one.' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
