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
  usedAt: number;
  /** Called after the end. */
  deregister: (() => void) | undefined;
}

interface SessionRequest {
  readonly caller: GatewayCaller;
  readonly body: unknown;
  readonly onSession: OnSession | undefined;
}

/** Maximum number of sessions of all principals together. */
const MAX_SESSIONS = 500;

/** Maximum number of sessions of one principal. */
const MAX_OWN_SESSIONS = 50;

/** An unused session may be ended for another principal after this time, in ms. */
const IDLE_MS = 3_600_000;

/** Called when a session begins. `end` ends the session. The result is called after the session has ended. */
export type OnSession = (end: () => void) => () => void;

export interface HttpSessionsOptions {
  readonly open: (caller: GatewayCaller) => LastingServer;
  /** The clock, in ms. Default: the system's. */
  readonly now?: (() => number) | undefined;
}

/**
 * Sessions of clients of protocols before 2026-07-28: over the streams of a session, such a client can be asked for an
 * approval and notified of changed tools. If a principal has too many sessions, its least recently used one ends. If
 * all principals together have too many, a principal without a session gets one when another one was long unused.
 */
export class HttpSessions {
  readonly #open: HttpSessionsOptions['open'];
  readonly #now: () => number;
  /** The sessions by id, with the most recently used session last. */
  readonly #sessions = new Map<string, Session>();

  constructor({ open, now = () => performance.now() }: HttpSessionsOptions) {
    this.#open = open;
    this.#now = now;
  }

  /** The answer to a request; undefined if the request belongs to no session and starts none. */
  answer(request: Request, { caller, body, onSession }: SessionRequest): Promise<Response> | undefined {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return isInitializeRequest(body) ? this.#begin(request, { caller, body, onSession }) : undefined;
    const session = this.#sessions.get(id);
    // defence: mcp-sessions-belong-to-their-caller
    const isOwn = session !== undefined && isSameCaller(session.caller, caller);
    if (!isOwn) return Promise.resolve(unknownSession());
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    session.usedAt = this.#now();
    return handle(session, request, body);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, { caller, body, onSession }: SessionRequest): Promise<Response> {
    if (!(await this.#makeRoom(caller))) return tooManySessions();
    const server = this.#open(caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#keep(id, session, onSession),
      onsessionclosed: (id) => this.#end(id),
    });
    const session: Session = { caller, transport, server, usedAt: this.#now(), deregister: undefined };
    await server.made.connect(transport);
    return handle(session, request, body);
  }

  #keep(id: string, session: Session, onSession: OnSession | undefined): void {
    this.#sessions.set(id, session);
    session.deregister = onSession?.(() => void this.#end(id));
    const [oldest, ...others] = this.#ownSessions(session.caller);
    // defence: mcp-sessions-of-a-principal
    if (others.length >= MAX_OWN_SESSIONS) void this.#end(oldest!);
  }

  /** Makes room for one more session of the caller, and returns whether there is room. */
  async #makeRoom(caller: GatewayCaller): Promise<boolean> {
    if (this.#sessions.size < MAX_SESSIONS) return true;
    const unused = [...this.#sessions].flatMap(([id, { usedAt }]) => (this.#now() - usedAt > IDLE_MS ? id : []));
    // defence: mcp-sessions-of-others-stay
    const [oldest] = [...unused, ...this.#ownSessions(caller)];
    if (oldest !== undefined) await this.#end(oldest);
    return oldest !== undefined;
  }

  #ownSessions({ principal }: GatewayCaller): string[] {
    return [...this.#sessions].flatMap(([id, { caller }]) => (caller.principal === principal ? id : []));
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    session?.deregister?.();
    session?.server.release();
    await session?.server.made.close().catch(() => {});
  }
}

function handle({ caller, transport }: Session, request: Request, body: unknown): Promise<Response> {
  return transport.handleRequest(request, requestOptions(caller, body));
}

function tooManySessions(): Response {
  const message = 'The server has too many sessions of other principals. Initialize a session later.';
  const headers = { 'retry-after': '60' };
  return Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status: 503, headers });
}

/** The answer after which a client begins a new session. */
function unknownSession(): Response {
  const error = { code: -32_001, message: 'There is no such session. Initialize a new one.' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
