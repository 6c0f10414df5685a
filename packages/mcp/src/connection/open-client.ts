import {
  AuthorizationServerMismatchError,
  ProtocolError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type Transport,
} from '@modelcontextprotocol/client';
import type { HttpTransport, ServerConfig, StdioTransport } from '../configuration/server-config.js';
import { CallAnswers } from './call-answers.js';
import { ConnectError } from './connect-error.js';
import { GuardedStdio } from './guarded-stdio.js';
import { AnsweringClient, answerRequests, clientCapabilities, type InboundHandlers } from './inbound.js';
import { MAX_MESSAGE_BYTES } from './limited-answer.js';
import { thrownMessage, oneLine } from './readable.js';
import { serverFetch } from './server-fetch.js';

export interface OpenOptions {
  readonly handlers: InboundHandlers;
  readonly timeoutMs: number;
  readonly authProvider: OAuthClientProvider | undefined;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** The way to log in, as a part of a sentence: a command, or an instruction. */
  readonly howToLogIn: string | undefined;
  /** Called when the server has announced a change of its tools. */
  readonly onListChanged: () => void;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
}

/** Announcements of a new list within this time, in ms, count as one. */
const LIST_DEBOUNCE_MS = 100;

/**
 * Connects to a server with the first of its transports and protocol versions that works. Rejects with a
 * `ConnectError`.
 */
export async function openClient(
  config: ServerConfig<StdioTransport | HttpTransport>,
  options: OpenOptions,
): Promise<AnsweringClient> {
  const { transport } = config;
  if (transport.type === 'stdio') return openStdio(config.name, transport, options);
  return openHttp(config.name, transport, options);
}

type Mode = 'legacy' | 'auto';

function newClient(server: string, mode: Mode, { handlers, clientInfo, onListChanged }: OpenOptions): AnsweringClient {
  const client = new AnsweringClient(clientInfo, {
    capabilities: clientCapabilities(handlers),
    versionNegotiation: { mode },
    listChanged: { tools: { autoRefresh: false, debounceMs: LIST_DEBOUNCE_MS, onChanged: onListChanged } },
    // The harness validates results itself. The SDK's own validator would compile a server's schema to code.
    jsonSchemaValidator: {
      getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
    },
  });
  answerRequests(client, server, handlers);
  return client;
}

async function openStdio(server: string, transport: StdioTransport, options: OpenOptions): Promise<AnsweringClient> {
  const attempt = async (mode: Mode) => {
    const { command, args, env, cwd } = transport;
    const program = { command, args: [...args], env: { ...env }, ...(cwd === undefined ? {} : { cwd }) };
    const pipe = new GuardedStdio(
      { ...program, stderr: 'pipe', maxBufferSize: 2 * MAX_MESSAGE_BYTES },
      new CallAnswers(),
    );
    const client = newClient(server, mode, options);
    try {
      await connectInTime(client, pipe, options);
      return client;
    } catch (error) {
      throw error instanceof ProtocolError ? error : stdioProblem(server, transport, error, pipe);
    }
  };
  try {
    return await attempt('legacy');
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // A server that supports only the newest protocol refuses the older handshake.
    return attempt('auto').catch((second: unknown) => {
      throw second instanceof ConnectError ? second : stdioProblem(server, transport, second);
    });
  }
}

function stdioProblem(
  server: string,
  { shown }: StdioTransport,
  error: unknown,
  { errorOutput = '', junk, end = '' }: Partial<Pick<GuardedStdio, 'errorOutput' | 'junk' | 'end'>> = {},
): ConnectError {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT')
    return new ConnectError(
      `The MCP server "${server}" could not be started: there is no program "${shown}". Install it, or correct "command" (and "cwd") in its configuration.`,
      { needsUser: true },
    );
  const said = oneLine(errorOutput, 500);
  const ended =
    code === SdkErrorCode.ConnectionClosed
      ? `"${shown}" ended before it answered${end}`
      : oneLine(thrownMessage(error), 300).replace(/[.]$/u, '');
  const why = junk === undefined ? ended : `${ended}: ${junk}`;
  const output = said === '' ? '' : ` Its error output ends with: ${said}`;
  return new ConnectError(
    `The MCP server "${server}" could not be started: ${why}. Run the command by hand to see its output.${output}`,
  );
}

async function openHttp(server: string, transport: HttpTransport, options: OpenOptions): Promise<AnsweringClient> {
  const { url, type } = transport;
  const shared = {
    fetch: serverFetch(transport, new CallAnswers()),
    ...(options.authProvider === undefined ? {} : { authProvider: options.authProvider }),
  };
  const openSse = async () => {
    const client = newClient(server, 'legacy', options);
    await connectInTime(client, new SSEClientTransport(url, shared), options);
    return client;
  };
  try {
    if (type === 'sse') return await openSse();
    const client = newClient(server, 'auto', options);
    try {
      await connectInTime(client, new StreamableHTTPClientTransport(url, shared), options);
      return client;
    } catch (error) {
      if (!hasOlderTransport(error)) throw error;
      return await openSse().catch(() => {
        throw error;
      });
    }
  } catch (error) {
    throw httpProblem(server, transport, error, options.howToLogIn);
  }
}

/**
 * Whether the server may support only SSE: the server refused the newer transport with a 4xx status other than 401 and
 * 403.
 */
function hasOlderTransport(error: unknown): boolean {
  const status = error instanceof SdkHttpError ? error.status : undefined;
  return status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;
}

function httpProblem(
  server: string,
  { shown }: HttpTransport,
  error: unknown,
  howToLogIn: string | undefined,
): ConnectError {
  const status = error instanceof SdkHttpError ? error.status : undefined;
  if (status === 401 || status === 403 || error instanceof UnauthorizedError)
    return new ConnectError(
      `The MCP server "${server}" at ${shown} refuses access${status === undefined ? '' : ` (HTTP ${status})`}. Log in to it${howToLogIn === undefined ? '' : ` (${howToLogIn})`}, or set its "headers".`,
      { needsUser: true },
    );
  if (error instanceof AuthorizationServerMismatchError)
    return new ConnectError(
      `The MCP server "${server}" at ${shown} names another login service than its configuration, and gets no credentials. Correct "oauth.issuer", or log in again.`,
      { needsUser: true },
    );
  return new ConnectError(
    `The MCP server "${server}" at ${shown} could not be reached: ${httpCause(error, status)}. Check "url", and that the server runs.`,
  );
}

function httpCause(error: unknown, status: number | undefined): string {
  const message = thrownMessage(error);
  // For an answer that is not a valid message, the SDK's error lists every schema issue.
  if (message.includes('"code": "')) return 'its answer is not an MCP message';
  if (status !== undefined && status >= 400) return `it answered with HTTP ${status}`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
  const why = cause === '' || message.includes(cause) ? message : `${message} (${cause})`;
  return oneLine(why, 300).replace(/(?<![.:\s])[.:\s]+$/u, '');
}

/** Connects to the server. Closes the transport if the attempt fails, takes too long or is aborted. */
async function connectInTime(
  client: AnsweringClient,
  transport: Transport,
  { timeoutMs, signal }: Pick<OpenOptions, 'timeoutMs' | 'signal'>,
): Promise<void> {
  const connecting = client.connect(transport, { timeout: timeoutMs });
  const end = new AbortController();
  try {
    await Promise.race([connecting, tooLate(timeoutMs, end.signal), whenAborted(signal, end.signal)]);
  } catch (error) {
    connecting.catch(() => {});
    await Promise.allSettled([client.close(), transport.close()]);
    throw error;
  } finally {
    end.abort();
  }
}

function tooLate(timeoutMs: number, end: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => reject(new ConnectError(`it did not answer within ${timeoutMs} ms`)), timeoutMs);
    end.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}

function whenAborted(signal: AbortSignal, end: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(new ConnectError('the connection was closed'));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true, signal: end });
  });
}
