import type { OAuthClientProvider, Progress } from '@modelcontextprotocol/client';
import type { HttpTransport, ServerConfig, StdioTransport } from '../configuration/server-config.js';
import type { SkippedTool, ToolDefinition, ToolNotes } from '../tools/definition.js';
import { sendableTools } from '../tools/parameter-headers.js';
import { isRecord } from '@toolscript/core/internal';
import { ANY_RESULT } from './any-result.js';
import { Backoff, type ReconnectOptions } from './backoff.js';
import { resultIn } from './call-answers.js';
import { callProblem, isLostSession } from './call-problem.js';
import { answerRequest, openedPages, type AnsweringClient, type InboundHandlers } from './inbound.js';
import { LogLimit } from './log-limit.js';
import { listPages, readPage, type ListedItems, type Page } from './list-pages.js';
import { ConnectError } from './connect-error.js';
import { openClient } from './open-client.js';
import { thrownMessage, oneLine } from './readable.js';
import { Reconnection, type ConnectionState } from './reconnection.js';
import { serverSupport } from './server-support.js';
import { abortedLater, startedTask, taskResult, type TaskLink } from './server-task.js';

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
  /** The server has announced a change of a resource. */
  onResource(uri: string): void;
  /** A message that the server wrote for its operator. */
  onLog(level: string, text: string): void;
}

/** Maximum number of tools of one server. */
const MAX_TOOLS = 2_000;
const MAX_LOG_TEXT = 2_000;

/** The connection to one server, whatever its protocol. */
export type ToolConnection = Pick<
  ServerConnection,
  | 'state'
  | 'problem'
  | 'client'
  | 'version'
  | 'protocolVersion'
  | 'supports'
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
  readonly #reconnection: Reconnection<AnsweringClient>;
  readonly #logLimit = new LogLimit();
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
    this.#reconnection = new Reconnection({
      name: config.name,
      reconnect: options.reconnect,
      open: (signal) => this.#openClient(signal),
      prepare: (client) => this.#prepare(client),
      end: (client) => client.close().catch(() => {}),
      onState: (state, problem) => listener.onState(state, problem),
    });
  }

  get state(): ConnectionState {
    return this.#reconnection.state;
  }

  /** The reason why the server is not connected, as a sentence for the user. */
  get problem(): string | undefined {
    return this.#reconnection.problem;
  }

  get client(): AnsweringClient | undefined {
    return this.#reconnection.opened;
  }

  /** The program of the server, as the server names it. */
  get version(): { readonly name: string; readonly version: string } | undefined {
    return this.client?.getServerVersion();
  }

  get protocolVersion(): string | undefined {
    return this.client?.getNegotiatedProtocolVersion();
  }

  /** The features of the server besides tools. */
  get supports(): readonly string[] {
    return serverSupport(this.client?.getServerCapabilities() ?? {});
  }

  /** Connects to the server, and reads its tools. Resolves even if the server cannot be reached. */
  start(): Promise<void> {
    return this.#reconnection.start();
  }

  /** Connects again at once if there is no connection. */
  reconnect(): Promise<void> {
    return this.#reconnection.restart();
  }

  /** Resolves with the server's result, which nothing has checked. */
  async callTool(
    definition: Pick<ToolDefinition, 'name' | 'inputSchema' | 'taskSupport'>,
    input: Record<string, unknown>,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (message: string) => void },
  ): Promise<unknown> {
    const { name, inputSchema } = definition;
    const call = async (client: AnsweringClient, timeout: number) => {
      const asksForTask = this.#wantsTask(client, definition);
      const params = { name, arguments: input, ...(asksForTask ? { task: {} } : {}) };
      const options = {
        // The definition is passed here, so that the SDK's client requests no list of tools. It has no output schema,
        // because the harness validates the results.
        toolDefinition: { name, inputSchema: inputSchema as { type: 'object' } },
        signal: asksForTask ? abortedLater(signal) : signal,
        timeout,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message }: Progress) => onProgress(progressText(progress, total, message)),
      };
      const answer = await client.callTool(params, options).catch(async (error: unknown) => {
        if (await openedPages(client, error, signal)) return client.callTool(params, options);
        throw error;
      });
      const result = resultIn(answer);
      const started = startedTask(result, asksForTask);
      return started === undefined ? { result } : { started };
    };
    const { result, started } = await this.#request(call);
    if (started === undefined) return result;
    const { callTimeoutMs: timeoutMs, reconnect } = this.#options;
    const link: TaskLink = {
      request: (...request) => this.#askAboutTask(...request),
      answer: async (...request) => answerRequest(await this.#reconnection.open(), ...request),
      backoff: new Backoff(reconnect),
      timeoutMs,
      onProgress,
    };
    return taskResult(started, link, signal).catch((error: unknown) => {
      throw callProblem(this.#config.name, error, timeoutMs);
    });
  }

  /**
   * Whether to ask for a task, which only a server of the protocol 2025-11-25 lets its client decide. An optional task is
   * of use if it outlives the connection.
   */
  #wantsTask(client: AnsweringClient, { taskSupport }: Pick<ToolDefinition, 'taskSupport'>): boolean {
    if (client.getServerCapabilities()?.tasks?.requests?.tools?.call === undefined) return false;
    return taskSupport === 'required' || (taskSupport === 'optional' && this.#config.transport.type !== 'stdio');
  }

  async #askAboutTask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const { callTimeoutMs, connectTimeoutMs } = this.#options;
    const timeout = method === 'tasks/result' ? callTimeoutMs : Math.min(callTimeoutMs, connectTimeoutMs);
    const client = await this.#reconnection.open();
    try {
      const answer = await client.request({ method, params }, ANY_RESULT, { signal, timeout });
      return isRecord(answer) ? resultIn(answer) : undefined;
    } catch (error) {
      if (isLostSession(error)) await this.#reconnection.drop(client);
      throw error;
    }
  }

  /** Makes a request that only reads. */
  read<Result>(
    request: (client: AnsweringClient, options: { timeout: number; signal: AbortSignal }) => Promise<Result>,
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

  close(): Promise<void> {
    return this.#reconnection.close();
  }

  /**
   * Makes a request. A server that has lost the session has not processed the request, so the request is then repeated
   * in a new session.
   */
  async #request<Result>(make: (client: AnsweringClient, timeoutMs: number) => Promise<Result>): Promise<Result> {
    const { callTimeoutMs } = this.#options;
    try {
      const client = await this.#reconnection.open();
      try {
        return await make(client, callTimeoutMs);
      } catch (error) {
        if (!isLostSession(error)) throw error;
        await this.#reconnection.drop(client);
        return await make(await this.#reconnection.open(), callTimeoutMs);
      }
    } catch (error) {
      throw callProblem(this.#config.name, error, callTimeoutMs);
    }
  }

  #openClient(signal: AbortSignal): Promise<AnsweringClient> {
    const { connectTimeoutMs: timeoutMs, ...options } = this.#options;
    return openClient(this.#config, { ...options, timeoutMs, onListChanged: () => this.#listChanged(), signal });
  }

  async #prepare(client: AnsweringClient): Promise<void> {
    const { name } = this.#config;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client emits no events
    client.onclose = () =>
      this.#reconnection.lost(client, `The MCP server "${name}" closed the connection. Toolscript reconnects to it.`);
    client.setNotificationHandler('notifications/elicitation/complete', () =>
      this.#listener.onLog('info', 'The page that the user was asked to open is complete.'),
    );
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) =>
      this.#listener.onResource(uri),
    );
    client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => {
      const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
      // defence: mcp-logs-are-limited
      for (const line of this.#logLimit.admit(text, performance.now()))
        this.#listener.onLog(level, oneLine(line, MAX_LOG_TEXT));
    });
    await this.#refresh(client);
    if (this.client !== client)
      throw new ConnectError(
        `The MCP server "${name}" closed the connection directly after it opened. Check the server's log, or run its command by hand to see its output.`,
      );
  }

  #listChanged(): void {
    this.#isListStale = true;
    if (this.#isRefreshing || this.client === undefined) return;
    this.#isRefreshing = true;
    this.#refreshWhileStale(this.client)
      // No caller waits for this refresh, so its failure is logged.
      .catch((error: unknown) => this.#listener.onLog('error', oneLine(thrownMessage(error), MAX_LOG_TEXT)))
      .finally(() => (this.#isRefreshing = false));
  }

  async #refreshWhileStale(client: AnsweringClient): Promise<void> {
    while (this.#isListStale && this.client === client) {
      this.#isListStale = false;
      await this.#refresh(client);
    }
  }

  async #refresh(client: AnsweringClient): Promise<void> {
    const { connectTimeoutMs: timeoutMs } = this.#options;
    const { tools, resources } = client.getServerCapabilities() ?? {};
    const listed: ListedItems =
      tools !== undefined
        ? await listPages(client, { method: 'tools/list', member: 'tools', maxItems: MAX_TOOLS, timeoutMs })
        : { items: [], incomplete: undefined };
    // Only such a connection sends arguments as headers, too.
    const sendsHeaders = this.#config.transport.type !== 'stdio' && client.getProtocolEra() === 'modern';
    const sendable = sendsHeaders ? sendableTools(listed.items) : {};
    await this.#listener.onTools({ ...listed, ...sendable, hasResources: resources !== undefined });
  }
}

function progressText(progress: number, total: number | undefined, message: string | undefined): string {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`;
  return message === undefined ? share : `${share} ${oneLine(message, 500)}`;
}
