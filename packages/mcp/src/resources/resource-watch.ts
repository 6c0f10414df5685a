import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { ToolCallError } from '@toolscript/core';
import type { ToolConnection } from '../connection/connection.js';

/** Maximum number of watched resources of one server. A further one takes the place of one for which nobody waits. */
const MAX_WATCHED = 100;
const MAX_SUBSCRIBE_MS = 30_000;

interface Watched {
  /** Differs from every earlier version of a resource of this server. */
  version: number;
  readonly listeners: Set<() => void>;
}

type WatchedConnection = Pick<ToolConnection, 'read' | 'client'>;

/**
 * The resources of one server to whose changes its client has subscribed. A subscription outlives the call that needs
 * it, so that no change is missed between two calls. When the connection is lost, every watched resource counts as
 * changed, and the next call subscribes again.
 */
export class ResourceWatch {
  readonly #server: string;
  readonly #connection: () => WatchedConnection;
  readonly #watched = new Map<string, Watched>();
  #versions = 0;
  /** With the protocol 2026-07-28, one subscription names all resources. */
  #subscription: McpSubscription | undefined;
  #subscribing: Promise<unknown> = Promise.resolve();

  constructor(server: string, connection: () => WatchedConnection) {
    this.#server = server;
    this.#connection = connection;
  }

  /**
   * Resolves with the version of a resource when it is not `after`; without `after`, as soon as the resource is
   * watched. Rejects when the signal aborts.
   */
  async version(uri: string, after: number | undefined, signal: AbortSignal): Promise<number> {
    const watched = this.#watched.get(uri) ?? (await this.#watch(uri, signal));
    if (watched.version === after) await whenChanged(watched, signal);
    return watched.version;
  }

  /** Notes a change that the server has announced: of a resource, or of a part of it. */
  changed(uri: string): void {
    for (const [watchedUri, watched] of this.#watched) if (contains(watchedUri, uri)) this.#advance(watched);
  }

  /** Notes that changes may have been missed. */
  lost(): void {
    const all = [...this.#watched.values()];
    this.#watched.clear();
    this.#subscription = undefined;
    for (const watched of all) this.#advance(watched);
  }

  #advance(watched: Watched): void {
    watched.version = ++this.#versions;
    for (const listener of watched.listeners) listener();
  }

  async #watch(uri: string, signal: AbortSignal): Promise<Watched> {
    // One at a time: with the newest protocol, a subscription replaces the one before.
    const subscribed = this.#subscribing.then(() => this.#subscribe(uri, signal));
    this.#subscribing = subscribed.catch(() => {});
    const client = await subscribed;
    if (this.#connection().client !== client)
      throw failure(`The MCP server "${this.#server}" closed the connection. Watch the resource again.`);
    const watched = this.#watched.get(uri) ?? { version: ++this.#versions, listeners: new Set() };
    this.#watched.set(uri, watched);
    return watched;
  }

  /** Returns the client that has subscribed. */
  #subscribe(uri: string, signal: AbortSignal): Promise<Client> {
    this.#makeRoom();
    const connection = this.#connection();
    return connection.read(async (client, { timeout }) => {
      if (client.getServerCapabilities()?.resources?.subscribe !== true)
        throw failure(
          `The MCP server "${this.#server}" does not announce changes of its resources. Read the resource again later.`,
        );
      // The signal of this call must not end a subscription that others use.
      const options = { timeout: Math.min(timeout, MAX_SUBSCRIBE_MS) };
      if (isModern(client)) await this.#listen(client, [...this.#watched.keys(), uri], options);
      else await client.subscribeResource({ uri }, options);
      return client;
    }, signal);
  }

  async #listen(client: Client, uris: string[], options: { timeout: number }): Promise<void> {
    const before = this.#subscription;
    const opened = await client.listen({ resourceSubscriptions: uris }, options);
    this.#subscription = opened;
    void opened.closed.then(() => {
      if (this.#subscription === opened) this.lost();
    });
    await before?.close();
  }

  #makeRoom(): void {
    // defence: mcp-watched-resources-are-limited
    if (this.#watched.size < MAX_WATCHED) return;
    const [unused] = [...this.#watched].find(([, { listeners }]) => listeners.size === 0) ?? [];
    if (unused === undefined)
      throw failure(
        `${MAX_WATCHED} resources of the MCP server "${this.#server}" are watched, which is the maximum. Wait for fewer at a time.`,
      );
    this.#watched.delete(unused);
    const { client } = this.#connection();
    if (client === undefined || isModern(client)) return;
    // Its changes are ignored from now on, so nothing depends on the answer.
    client.unsubscribeResource({ uri: unused }, { timeout: MAX_SUBSCRIBE_MS }).catch(() => {});
  }
}

const isModern = (client: Client) => client.getProtocolEra() === 'modern';

/** Whether a resource is the watched one, or a part of it. */
function contains(watched: string, uri: string): boolean {
  if (!uri.startsWith(watched)) return false;
  return uri.length === watched.length || watched.endsWith('/') || '/?#'.includes(uri.charAt(watched.length));
}

function whenChanged({ listeners }: Watched, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      listeners.delete(changed);
      signal.removeEventListener('abort', aborted);
      settle();
    };
    const changed = end(resolve);
    const aborted = end(() => reject(signal.reason as Error));
    if (signal.aborted) return aborted();
    listeners.add(changed);
    signal.addEventListener('abort', aborted, { once: true });
  });
}

function failure(message: string): ToolCallError {
  return new ToolCallError('ToolExecutionError', message);
}
