import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  type CreateMcpHandlerOptions,
  type McpHttpHandler,
  type McpServer,
} from '@modelcontextprotocol/server';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';

/** A server on a free port of this machine, closed when the test has ended. */
export async function listen(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** A server of the older SDK, with tools that may change: each is a function of its arguments to text. */
export class OlderServer {
  readonly tools = new Map<string, (input: Record<string, unknown>) => string | Promise<string>>();
  readonly instances: Server[] = [];
  /** The number of requests for the list of tools. */
  lists = 0;

  make(): Server {
    const server = new Server({ name: 'older', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler(ListToolsRequestSchema, () => {
      this.lists += 1;
      return { tools: [...this.tools.keys()].map((name) => ({ name, inputSchema: { type: 'object' as const } })) };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({
      content: [{ type: 'text', text: await this.tools.get(params.name)!(params.arguments ?? {}) }],
    }));
    this.instances.push(server);
    return server;
  }

  async announce(): Promise<void> {
    await Promise.all(this.instances.map((server) => server.sendToolListChanged()));
  }

  /** Streamable HTTP with sessions, which it can drop. */
  async listenHttp(): Promise<{ url: string; forget: () => void }> {
    const sessions = new Map<string, StreamableHTTPServerTransport>();
    return { url: await listen(this.httpListener(sessions)), forget: () => sessions.clear() };
  }

  /** Answers requests of Streamable HTTP. */
  httpListener(sessions = new Map<string, StreamableHTTPServerTransport>()) {
    return async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
      const id = request.headers['mcp-session-id'];
      const known = sessions.get(String(id));
      if (id !== undefined && known === undefined) return response.writeHead(404).end();
      const transport =
        known ??
        new StreamableHTTPServerTransport({
          sessionIdGenerator: () => randomUUID(),
          onsessioninitialized: (session) => void sessions.set(session, transport),
        });
      if (known === undefined) await this.make().connect(transport as never);
      return transport.handleRequest(request, response);
    };
  }

  /** Only SSE, as in servers before Streamable HTTP. */
  async listenSse(): Promise<{ url: string }> {
    let transport: SSEServerTransport | undefined;
    const url = await listen(async (request: IncomingMessage, response: ServerResponse) => {
      if (request.method === 'GET') {
        transport = new SSEServerTransport('/messages', response);
        return this.make().connect(transport);
      }
      if (request.url?.startsWith('/messages') === true) return transport!.handlePostMessage(request, response);
      return response.writeHead(405).end();
    });
    return { url };
  }
}

/** A server of the newest SDK over HTTP. */
export async function listenNewest(
  factory: () => McpServer,
  options: CreateMcpHandlerOptions = {},
): Promise<{ url: string; handler: McpHttpHandler; requests: IncomingMessage[] }> {
  const handler = createMcpHandler(factory, options);
  const requests: IncomingMessage[] = [];
  const url = await listen(async (request, response) => {
    requests.push(request);
    const answer = await handler.fetch(webRequest(request, response));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else Readable.fromWeb(answer.body as never).pipe(response);
  });
  onTestFinished(() => handler.close());
  return { url, handler, requests };
}

function webRequest(request: IncomingMessage, response: ServerResponse): Request {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const headers = new Headers(
    Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const body = request.method === 'POST' ? { body: Readable.toWeb(request) as never, duplex: 'half' as const } : {};
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? 'GET',
    headers,
    signal: gone.signal,
    ...body,
  });
}
