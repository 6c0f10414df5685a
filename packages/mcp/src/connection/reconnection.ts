import { Backoff, type ReconnectOptions } from './backoff.js';
import { ConnectError } from './connect-error.js';
import { thrownMessage } from './readable.js';

/**
 * `idle`: the connection is opened when it is first needed. `waiting`: the connection retries shortly. `failed`: only a call or `reconnect` retries.
 *
 * idle → connecting → connected → (the server ends) waiting → connecting …; after too many failures in a row → failed.
 */
export type ConnectionState = 'idle' | 'connecting' | 'connected' | 'waiting' | 'failed' | 'closed';

export interface ReconnectionOptions<Opened> {
  /** The name of the server in the configuration. */
  readonly name: string;
  readonly reconnect: ReconnectOptions;
  /** Rejects with a `ConnectError`, at the latest when the signal aborts. */
  open(signal: AbortSignal): Promise<Opened>;
  /** Called in the same turn in which it was opened. It counts as connected when this resolves. */
  prepare(opened: Opened): Promise<void>;
  /** Ends it. Must not reject. */
  end(opened: Opened): Promise<void>;
  onState(state: ConnectionState, problem: string | undefined): void;
}

/** The time in ms after which a connection counts as working. */
const STABLE_MS = 10_000;

/** Keeps one connection open: opens it when it is needed, and again after a loss. It does not keep the process alive. */
export class Reconnection<Opened> {
  readonly #options: ReconnectionOptions<Opened>;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  #state: ConnectionState = 'idle';
  #problem: string | undefined;
  #opened: Opened | undefined;
  #opening: Promise<Opened> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #openedAt = 0;

  constructor(options: ReconnectionOptions<Opened>) {
    this.#options = options;
    this.#backoff = new Backoff(options.reconnect);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The reason why there is no connection, as a sentence for the user. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get opened(): Opened | undefined {
    return this.#opened;
  }

  /** Opens the connection if there is none. Resolves even if that fails. */
  async start(): Promise<void> {
    await (this.#opening ?? this.open()).catch(() => {});
  }

  /** Opens the connection again at once if there is none. */
  async restart(): Promise<void> {
    this.#backoff.reset();
    if (this.#opened === undefined) await this.start();
  }

  /** Returns what is open, and opens it if nothing is. Rejects with a `ConnectError`. */
  open(): Promise<Opened> {
    if (this.#state === 'closed')
      return Promise.reject(
        new ConnectError(
          `The connection to the MCP server "${this.#options.name}" is closed. The host can open a new connection with connectMcpServers.`,
          { needsUser: true },
        ),
      );
    if (this.#opened !== undefined) return Promise.resolve(this.#opened);
    clearTimeout(this.#retry);
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  /** Called when the server has ended the connection. Opens it again shortly. */
  lost(opened: Opened, problem: string): void {
    if (this.#opened !== opened) return;
    this.#opened = undefined;
    this.#problem = problem;
    if (performance.now() - this.#openedAt > STABLE_MS) this.#backoff.reset();
    // A connection that is lost while it is being opened makes `#connect` fail, and `#connect` retries.
    if (this.#opening === undefined) this.#retryLater();
  }

  /** Ends a connection that is of no more use. The next call opens another one. */
  async drop(opened: Opened): Promise<void> {
    if (this.#opened === opened) this.#opened = undefined;
    await this.#options.end(opened);
  }

  async close(): Promise<void> {
    this.#setState('closed', undefined);
    this.#closing.abort();
    clearTimeout(this.#retry);
    const opened = this.#opened ?? (await this.#opening?.catch(() => undefined));
    this.#opened = undefined;
    if (opened !== undefined) await this.#options.end(opened);
  }

  /** Clears `#opening` before the listener receives the new state, so that the listener may retry. */
  async #connect(): Promise<Opened> {
    this.#setState('connecting', this.#problem);
    try {
      const opened = await this.#options.open(this.#closing.signal);
      this.#opened = opened;
      this.#openedAt = performance.now();
      await this.#options.prepare(opened);
      this.#opening = undefined;
      this.#setState('connected', undefined);
      return opened;
    } catch (error) {
      this.#problem = thrownMessage(error);
      if (this.#opened !== undefined) await this.drop(this.#opened);
      this.#opening = undefined;
      this.#retryLater(error);
      throw error;
    }
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
    this.#options.onState(state, problem);
  }
}
