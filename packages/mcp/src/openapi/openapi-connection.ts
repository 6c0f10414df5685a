import { ToolCallError } from '@toolscript/core';
import type { OpenApiTransport, ServerConfig } from '../configuration/server-config.js';
import { callProblem } from '../connection/call-problem.js';
import type { ConnectionListener, ConnectionOptions, ToolConnection } from '../connection/connection.js';
import { Reconnection, type ConnectionState } from '../connection/reconnection.js';
import type { OpenApi } from './open-api.js';

/** The API of an OpenAPI document, as a connection. The code that reads documents is loaded with the first one. */
export class OpenApiConnection implements ToolConnection {
  readonly client = undefined;
  readonly supports: readonly string[] = [];
  readonly #config: ServerConfig<OpenApiTransport>;
  readonly #options: ConnectionOptions;
  readonly #reconnection: Reconnection<OpenApi>;

  constructor(config: ServerConfig<OpenApiTransport>, options: ConnectionOptions, listener: ConnectionListener) {
    this.#config = config;
    this.#options = options;
    this.#reconnection = new Reconnection({
      name: config.name,
      reconnect: options.reconnect,
      open: (signal) => this.#openApi(signal),
      prepare: ({ items, skipped, notes, incomplete }) => listener.onTools({ items, skipped, notes, incomplete }),
      end: () => Promise.resolve(),
      onState: (state, problem) => listener.onState(state, problem),
    });
  }

  get state(): ConnectionState {
    return this.#reconnection.state;
  }

  get problem(): string | undefined {
    return this.#reconnection.problem;
  }

  get version(): OpenApi['info'] | undefined {
    return this.#reconnection.opened?.info;
  }

  get protocolVersion(): string | undefined {
    return this.#reconnection.opened?.format;
  }

  start(): Promise<void> {
    return this.#reconnection.start();
  }

  reconnect(): Promise<void> {
    return this.#reconnection.restart();
  }

  async callTool(
    { name }: { readonly name: string },
    input: Record<string, unknown>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { callTimeoutMs: timeoutMs } = this.#options;
    const api = await this.#reconnection.open().catch((error: unknown) => {
      throw callProblem(this.#config.name, error, timeoutMs);
    });
    return api.call(name, input, { timeoutMs, signal });
  }

  read(): Promise<never> {
    return Promise.reject(this.#withoutResources());
  }

  listPage(): Promise<never> {
    return Promise.reject(this.#withoutResources());
  }

  close(): Promise<void> {
    return this.#reconnection.close();
  }

  async #openApi(signal: AbortSignal): Promise<OpenApi> {
    const { openApi } = await import('./open-api.js');
    const { name, transport } = this.#config;
    return openApi(name, transport, { timeoutMs: this.#options.connectTimeoutMs, signal });
  }

  #withoutResources(): ToolCallError {
    return new ToolCallError(
      'ToolExecutionError',
      `"${this.#config.name}" is an OpenAPI document, which has no resources.`,
    );
  }
}
