import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { textOfFrame } from './frames.js';
import type { Scenario } from './scenario.js';
import { ScriptedEndpoint, type EndpointReply } from './scripted-endpoint.js';

export interface ScriptedServer {
  /** `http://127.0.0.1:PORT/v1`: the base URL of the OpenAI formats. `createProvider` accepts it for Anthropic too. */
  readonly baseUrl: string;
  /** One message for each request that violates the format or the rules of conversation. */
  readonly violations: readonly string[];
  /** The request bodies, parsed as JSON. */
  readonly requests: readonly unknown[];
  /** Turns of the scenario that no request has consumed. */
  readonly turnsLeft: number;
  close(): Promise<void>;
}

export interface ScriptedServerOptions {
  /** Default 0: any free port. */
  port?: number | undefined;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Serves a scenario over HTTP on 127.0.0.1 for the three wire formats: `/v1/responses`, `/v1/chat/completions`,
 * `/v1/messages`. See `ScriptedEndpoint`.
 *
 * @throws ToolscriptUsageError for an invalid scenario.
 */
export async function startScriptedServer(
  scenario: Scenario,
  { port = 0 }: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const endpoint = new ScriptedEndpoint(scenario);
  const closing = new AbortController();
  const server = createServer((request, response) => {
    serve(endpoint, request, response, closing.signal).catch(() => response.destroy());
  });
  await listen(server, port);
  const { port: taken } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${taken}/v1`,
    violations: endpoint.violations,
    requests: endpoint.requests,
    get turnsLeft() {
      return endpoint.turnsLeft;
    },
    async close() {
      closing.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

async function serve(
  endpoint: ScriptedEndpoint,
  request: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const body = await requestBody(request);
  const headers = request.headers as Record<string, string | undefined>;
  const [path = '', query] = (request.url ?? '').split('?');
  const { method } = request;
  const reply =
    body === undefined
      ? endpoint.refuseBody({ path }, MAX_BODY_BYTES)
      : endpoint.reply({ method, path, query, headers, body });
  await send(reply, response, closing);
}

/**
 * The body of a request; undefined if the body is larger than the maximum. The rest is still read and dropped, because
 * many clients read no reply before they have sent the whole body.
 */
async function requestBody(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes <= MAX_BODY_BYTES) pieces.push(piece);
    else pieces.length = 0;
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(pieces).toString('utf8');
}

async function send(reply: EndpointReply, response: ServerResponse, closing: AbortSignal): Promise<void> {
  switch (reply.type) {
    case 'drop':
      return void response.destroy();
    case 'json': {
      const headers = { 'content-type': 'application/json', 'x-request-id': reply.requestId, ...reply.headers };
      response.writeHead(reply.status, headers).end(JSON.stringify(reply.body));
      return;
    }
    case 'stream':
      return sendStream(reply, response, closing);
  }
}

async function sendStream(
  { frames, requestId, heard }: Extract<EndpointReply, { type: 'stream' }>,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': requestId });
  response.flushHeaders();
  for (const frame of frames) {
    // The client has disconnected, or the server is closing.
    if (signal.aborted) return;
    if (frame.type === 'wait') await wait(frame.ms, undefined, { signal }).catch(() => {});
    else if (frame.type === 'cut') return cut(response);
    else await write(response, textOfFrame(frame));
  }
  if (signal.aborted) return;
  heard();
  response.end();
}

/** Delivers the written data, then breaks the connection. */
async function cut(response: ServerResponse): Promise<void> {
  await wait(CUT_DELAY_MS);
  response.destroy();
}
const CUT_DELAY_MS = 50;

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.write(text)) return;
  await new Promise<void>((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
  });
}
