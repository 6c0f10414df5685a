import { ToolCallError } from '@toolscript/core';
import type { OpenApiTransport, ServerConfig } from '../configuration/server-config.js';
import { Backoff } from '../connection/backoff.js';
import type {
  ConnectionListener,
  ConnectionOptions,
  ConnectionState,
  ToolConnection,
} from '../connection/connection.js';
import { ConnectError } from '../connection/open-client.js';
import { thrownMessage } from '../connection/readable.js';
import type { OpenApi } from './open-api.js';

const NOT_CONNECTED = { reason: 'not-connected' };

/** The API of an OpenAPI document, as a connection. The code that reads documents is loaded with the first one. */
export class OpenApiConnection implements ToolConnection {
  readonly client = undefined;
  readonly #config: ServerConfig<OpenApiTransport>;
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  #state: ConnectionState = 'idle';
  #problem: string | undefined;
  #api: OpenApi | undefined;
  #opening: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(config: ServerConfig<OpenApiTransport>, options: ConnectionOptions, listener: ConnectionListener) {
    this.#config = config;
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(options.reconnect);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get version(): OpenApi['info'] | undefined {
    return this.#api?.info;
  }

  get protocolVersion(): string | undefined {
    return this.#api?.format;
  }

  start(): Promise<void> {
    if (this.#api !== undefined || this.#state === 'closed') return Promise.resolve();
    clearTimeout(this.#retry);
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async reconnect(): Promise<void> {
    this.#backoff.reset();
    await this.start();
  }

  async callTool(
    { name }: { readonly name: string },
    input: Record<string, unknown>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<unknown> {
    await this.start();
    if (this.#api === undefined) throw new ToolCallError('ToolExecutionError', this.#problem ?? '', NOT_CONNECTED);
    return this.#api.call(name, input, { timeoutMs: this.#options.callTimeoutMs, signal });
  }

  read(): Promise<never> {
    return Promise.reject(this.#withoutResources());
  }

  listPage(): Promise<never> {
    return Promise.reject(this.#withoutResources());
  }

  async close(): Promise<void> {
    this.#setState('closed', undefined);
    this.#closing.abort();
    clearTimeout(this.#retry);
    await this.#opening;
  }

  async #open(): Promise<void> {
    this.#setState('connecting', this.#problem);
    const { connectTimeoutMs: timeoutMs } = this.#options;
    try {
      const { openApi } = await import('./open-api.js');
      const { name, transport } = this.#config;
      const api = await openApi(name, transport, { timeoutMs, signal: this.#closing.signal });
      this.#api = api;
      const { items, skipped, notes, incomplete } = api;
      await this.#listener.onTools({ items, skipped, notes, incomplete });
      this.#setState('connected', undefined);
    } catch (error) {
      this.#api = undefined;
      const delayMs = error instanceof ConnectError && error.needsUser ? undefined : this.#backoff.next();
      this.#setState(delayMs === undefined ? 'failed' : 'waiting', thrownMessage(error));
      if (delayMs !== undefined && !this.#closing.signal.aborted)
        this.#retry = setTimeout(() => void this.start(), delayMs).unref();
    }
  }

  #setState(state: ConnectionState, problem: string | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = state;
    this.#problem = problem;
    this.#listener.onState(state, problem);
  }

  #withoutResources(): ToolCallError {
    return new ToolCallError(
      'ToolExecutionError',
      `"${this.#config.name}" is an OpenAPI document, which has no resources.`,
    );
  }
}
