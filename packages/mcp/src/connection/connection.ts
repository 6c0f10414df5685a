import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client';
import type { HttpTransport, ServerConfig, StdioTransport } from '../configuration/server-config.js';
import type { SkippedTool, ToolNotes } from '../tools/definition.js';
import { Backoff, type ReconnectOptions } from './backoff.js';
import { resultIn } from './call-answers.js';
import { callProblem, isLostSession } from './call-problem.js';
import type { InboundHandlers } from './inbound.js';
import { LogLimit } from './log-limit.js';
import { listPages, readPage, type ListedItems, type Page } from './list-pages.js';
import { ConnectError, openClient } from './open-client.js';
import { thrownMessage, oneLine } from './readable.js';

/**
 * `idle`: the connection is opened when it is first needed. `waiting`: the connection retries shortly. `failed`: only a call or `reconnect` retries.
 *
 * idle → connecting → connected → (the server ends) waiting → connecting …; after too many failures in a row → failed.
 */
export type ConnectionState = 'idle' | 'connecting' | 'connected' | 'waiting' | 'failed' | 'closed';

export interface ConnectionOptions {
  readonly handlers: InboundHandlers;
  readonly authProvider: OAuthClientProvider | undefined;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly howToLogIn: string | undefined;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly reconnect: ReconnectOptions;
}

/** The tools of a server. */
export interface ListedTools extends ListedItems {
  /** Tools that are not in the list, because they could not be read. */
  readonly skipped?: readonly SkippedTool[] | undefined;
  readonly notes?: readonly ToolNotes[] | undefined;
  /** Whether the server declares resources. */
  readonly hasResources?: boolean | undefined;
}

export interface ConnectionListener {
  /** Called, and awaited, with the tools of every new connection and of every change. */
  onTools(listed: ListedTools): Promise<void>;
  onState(state: ConnectionState, problem: string | undefined): void;
  /** A message that the server wrote for its operator. */
  onLog(level: string, text: string): void;
}

/** Maximum number of tools of one server. */
const MAX_TOOLS = 2_000;
/** The time in ms after which a connection counts as working. */
const STABLE_MS = 10_000;
const MAX_LOG_TEXT = 2_000;

/** The connection to one server, whatever its protocol. */
export type ToolConnection = Pick<
  ServerConnection,
  | 'state'
  | 'problem'
  | 'client'
  | 'version'
  | 'protocolVersion'
  | 'start'
  | 'reconnect'
  | 'callTool'
  | 'read'
  | 'listPage'
  | 'close'
>;

/**
 * The connection to one MCP server, which reconnects after a loss. The connection itself does not keep the process alive.
 */
export class ServerConnection {
  readonly #config: ServerConfig<StdioTransport | HttpTransport>;
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #logLimit = new LogLimit();
  #state: ConnectionState = 'idle';
  #problem: string | undefined;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #openedAt = 0;
  /** Whether the tools are being read, and whether they must be read again afterwards. */
  #isRefreshing = false;
  #isListStale = false;

  constructor(
    config: ServerConfig<StdioTransport | HttpTransport>,
    options: ConnectionOptions,
    listener: ConnectionListener,
  ) {
    this.#config = config;
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(options.reconnect);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The reason why the server is not connected, as a sentence for the user. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get client(): Client | undefined {
    return this.#client;
  }

  /** The program of the server, as the server names it. */
  get version(): { readonly name: string; readonly version: string } | undefined {
    return this.#client?.getServerVersion();
  }

  get protocolVersion(): string | undefined {
    return this.#client?.getNegotiatedProtocolVersion();
  }

  /** Connects to the server, and reads its tools. Resolves even if the server cannot be reached. */
  async start(): Promise<void> {
    await (this.#opening ?? this.#open()).catch(() => {});
  }

  /** Connects again at once if there is no connection. */
  async reconnect(): Promise<void> {
    this.#backoff.reset();
    if (this.#client === undefined) await this.start();
  }

  /** Resolves with the server's result, which nothing has checked. */
  async callTool(
    { name, inputSchema }: { readonly name: string; readonly inputSchema: unknown },
    input: Record<string, unknown>,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (message: string) => void },
  ): Promise<unknown> {
    const answer = await this.#request((client, timeout) =>
      client.callTool(
        { name, arguments: input },
        {
          // The definition is passed here, so that the SDK's client requests no list of tools. It has no output schema,
          // because the harness validates the results.
          toolDefinition: { name, inputSchema: inputSchema as { type: 'object' } },
          signal,
          timeout,
          resetTimeoutOnProgress: true,
          onprogress: ({ progress, total, message }) => onProgress(progressText(progress, total, message)),
        },
      ),
    );
    return resultIn(answer);
  }

  /** Makes a request that only reads. */
  read<Result>(
    request: (client: Client, options: { timeout: number; signal: AbortSignal }) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    return this.#request((client, timeout) => request(client, { timeout, signal }));
  }

  listPage(
    list: Pick<Parameters<typeof readPage>[1], 'method' | 'member'>,
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<Page> {
    return this.read(
      (client, { timeout }) => readPage(client, { ...list, timeoutMs: timeout, signal }, cursor),
      signal,
    );
  }

  async close(): Promise<void> {
    this.#setState('closed', undefined);
    this.#closing.abort();
    clearTimeout(this.#retry);
    const client = this.#client ?? (await this.#opening?.catch(() => undefined));
    this.#client = undefined;
    await client?.close().catch(() => {});
  }

  /**
   * Makes a request. A server that has lost the session has not processed the request, so the request is then repeated
   * in a new session.
   */
  async #request<Result>(make: (client: Client, timeoutMs: number) => Promise<Result>): Promise<Result> {
    const { callTimeoutMs } = this.#options;
    try {
      const client = await this.#open();
      try {
        return await make(client, callTimeoutMs);
      } catch (error) {
        if (!isLostSession(error)) throw error;
        await this.#drop(client);
        return await make(await this.#open(), callTimeoutMs);
      }
    } catch (error) {
      throw callProblem(this.#config.name, error, callTimeoutMs);
    }
  }

  /** Closes a connection whose session the server has lost. */
  async #drop(client: Client): Promise<void> {
    if (this.#client === client) this.#client = undefined;
    await client.close().catch(() => {});
  }

  /** Returns the open client, and opens one if there is none. Rejects with a `ConnectError`. */
  #open(): Promise<Client> {
    if (this.#state === 'closed')
      return Promise.reject(
        new ConnectError(
          `The connection to the MCP server "${this.#config.name}" is closed. The host can open a new connection with connectMcpServers.`,
        ),
      );
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    clearTimeout(this.#retry);
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  /** Opens a client. Clears `#opening` before the listener receives the new state, so that the listener may retry. */
  async #connect(): Promise<Client> {
    this.#setState('connecting', this.#problem);
    try {
      const { connectTimeoutMs: timeoutMs, ...options } = this.#options;
      const client = await openClient(this.#config, {
        ...options,
        timeoutMs,
        onListChanged: () => this.#listChanged(),
        signal: this.#closing.signal,
      });
      this.#follow(client);
      await this.#refresh(client);
      if (this.#client !== client)
        throw new ConnectError(
          `The MCP server "${this.#config.name}" closed the connection directly after it opened. Check the server's log, or run its command by hand to see its output.`,
        );
      this.#opening = undefined;
      this.#setState('connected', undefined);
      return client;
    } catch (error) {
      this.#problem = thrownMessage(error);
      const client = this.#client;
      this.#client = undefined;
      await client?.close().catch(() => {});
      this.#opening = undefined;
      this.#retryLater(error);
      throw error;
    }
  }

  #follow(client: Client): void {
    this.#client = client;
    this.#openedAt = performance.now();
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client emits no events
    client.onclose = () => this.#onLost(client);
    client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
      const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
      // defence: mcp-logs-are-limited
      for (const line of this.#logLimit.admit(text, performance.now()))
        this.#listener.onLog(level, oneLine(line, MAX_LOG_TEXT));
    });
  }

  #onLost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#problem = `The MCP server "${this.#config.name}" closed the connection. Toolscript reconnects to it.`;
    if (performance.now() - this.#openedAt > STABLE_MS) this.#backoff.reset();
    // A connection that is lost while it is being opened makes `#connect` fail, and `#connect` retries.
    if (this.#opening === undefined) this.#retryLater();
  }

  #retryLater(error?: unknown): void {
    if (this.#state === 'closed') return;
    const delayMs = error instanceof ConnectError && error.needsUser ? undefined : this.#backoff.next();
    if (delayMs === undefined) return this.#setState('failed', this.#problem);
    this.#setState('waiting', this.#problem);
    this.#retry = setTimeout(() => void this.start(), delayMs).unref();
  }

  #setState(state: ConnectionState, problem: string | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = state;
    this.#problem = problem;
    this.#listener.onState(state, problem);
  }

  #listChanged(): void {
    this.#isListStale = true;
    if (this.#isRefreshing || this.#client === undefined) return;
    this.#isRefreshing = true;
    this.#refreshWhileStale(this.#client)
      // No caller waits for this refresh, so its failure is logged.
      .catch((error: unknown) => this.#listener.onLog('error', oneLine(thrownMessage(error), MAX_LOG_TEXT)))
      .finally(() => (this.#isRefreshing = false));
  }

  async #refreshWhileStale(client: Client): Promise<void> {
    while (this.#isListStale && this.#client === client) {
      this.#isListStale = false;
      await this.#refresh(client);
    }
  }

  async #refresh(client: Client): Promise<void> {
    const { connectTimeoutMs: timeoutMs } = this.#options;
    const { tools, resources } = client.getServerCapabilities() ?? {};
    const listed: ListedItems =
      tools !== undefined
        ? await listPages(client, { method: 'tools/list', member: 'tools', maxItems: MAX_TOOLS, timeoutMs })
        : { items: [], incomplete: undefined };
    await this.#listener.onTools({ ...listed, hasResources: resources !== undefined });
  }
}

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`;
  return message === undefined ? share : `${share} ${oneLine(message, 500)}`;
}
