import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createRawServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Tool } from '@toolscript/core/protocol';
import { afterAll } from 'vitest';
import { webTools, type WebToolsOptions } from '#tools/web/web-tools.js';

const open: { close: () => void }[] = [];

afterAll(() => {
  for (const server of open.splice(0)) server.close();
});

export interface LocalServer {
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The requests so far. */
  readonly requests: IncomingMessage[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A web server on loopback; closed after the test file. */
export async function serve(answer: Answer, host = '127.0.0.1'): Promise<LocalServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  open.push({ close: () => (server.close(), server.closeAllConnections()) });
  return { ...(await listening(server, host)), requests };
}

/** A server that answers with bytes of its own. */
export async function serveRaw(answer: (socket: Socket) => void): Promise<Omit<LocalServer, 'requests'>> {
  const sockets = new Set<Socket>();
  const server = createRawServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  open.push({ close: () => (server.close(), sockets.forEach((socket) => socket.destroy())) });
  return listening(server, '127.0.0.1');
}

async function listening(server: Server, host: string): Promise<{ port: number; url: string }> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://${host}:${port}` };
}

export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

type Call = (input: Record<string, unknown>, signal?: AbortSignal) => Promise<any>;

export interface Web {
  readonly webSearch: Call;
  readonly fetchUrl: Call;
  readonly http: Call;
  readonly tools: Readonly<Record<string, Tool>>;
}

/** The web tools; arguments and results are validated as the harness does it. */
export function web(options: WebToolsOptions = {}): Web {
  const tools = Object.fromEntries(webTools(options).map((tool) => [tool.name, tool]));
  const caller = (name: string): Call => {
    const tool = tools[name]!;
    return async (input, signal = new AbortController().signal) => {
      const checked = tool.validateInput(input);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const result = await tool.execute(checked.value as never, { signal } as never);
      const output = tool.validateOutput(result);
      if (!output.ok) throw new Error(JSON.stringify(output.issues));
      return output.value;
    };
  };
  return { tools, webSearch: caller('webSearch'), fetchUrl: caller('fetchUrl'), http: caller('http') };
}
