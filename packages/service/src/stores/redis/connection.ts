import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, ErrorReply } from '@redis/client';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { describeRedisFault, isDenied, isLostRedis, isOnReplica, redisFault } from './faults.js';
import type { RedisPlace } from './place.js';
import { REDIS_SCRIPTS, type RedisScriptName } from './scripts.js';

/** Maximum time that a call waits for an unreachable server, in ms. */
const GONE_MS = 15_000;

/** The first and the maximum delay between attempts, in ms. */
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;

const CONNECT_MS = 5_000;

/** Time without data after which the client replaces a connection, in ms, because a network may lose one silently. */
const SILENT_MS = 15_000;
const PING_MS = 5_000;

const MIN_VERSION = 7;

export type Reply = string | number | null | readonly Reply[];

type Client = ReturnType<typeof newClient>;

const SHA_OF = Object.fromEntries(
  Object.entries(REDIS_SCRIPTS).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
) as Readonly<Record<RedisScriptName, string>>;

/**
 * Connections to one Redis server: one for calls, and one that waits for changes. After a lost connection, a call is
 * repeated until the server answers or `GONE_MS` have passed, so a call must be idempotent. Only open calls keep the
 * process alive.
 */
export class RedisConnection {
  readonly place: RedisPlace;
  readonly #calls: Client;
  readonly #waiting: Client;
  readonly #open = new Set<Promise<unknown>>();
  readonly #pinging: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  private constructor(place: RedisPlace, calls: Client, waiting: Client) {
    this.place = place;
    this.#calls = calls;
    this.#waiting = waiting;
    for (const client of [calls, waiting]) client.unref();
    // The client's own interval would keep the process alive.
    this.#pinging = setInterval(() => this.#ping(), PING_MS).unref();
  }

  /** Rejects with a `StoreUnavailableError` if the server cannot be used. */
  static async open(place: RedisPlace): Promise<RedisConnection> {
    const clients = [newClient(place), newClient(place)] as const;
    try {
      await clients[0].connect();
      await refuseUnusable(clients[0], place);
      await clients[1].connect();
      return new RedisConnection(place, ...clients);
    } catch (error) {
      for (const client of clients) client.destroy();
      throw describeRedisFault(error, place, true);
    }
  }

  /** Runs a script, and passes the prefix of the keys to it. */
  script(name: RedisScriptName, parameters: readonly (string | number)[]): Promise<Reply> {
    const rest = ['1', this.place.prefix, ...parameters.map(String)];
    return this.#during(async () => {
      try {
        return await send(this.#calls, ['EVALSHA', SHA_OF[name], ...rest]);
      } catch (error) {
        if (!(error instanceof ErrorReply) || !error.message.startsWith('NOSCRIPT')) throw error;
        return send(this.#calls, ['EVAL', REDIS_SCRIPTS[name], ...rest]);
      }
    });
  }

  /** The values in a section of `INFO`, by name. */
  async info(section: string): Promise<ReadonlyMap<string, string>> {
    return replyInfo(await this.#during(() => send(this.#calls, ['INFO', section])));
  }

  /** Runs a command that may block, on the second connection. Rejects at once if the server is unreachable. */
  wait(command: readonly string[]): Promise<Reply> {
    return send(this.#waiting, command);
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#pinging);
    this.#waiting.destroy();
    await Promise.allSettled(this.#open);
    this.#calls.destroy();
  }

  async #during(action: () => Promise<Reply>): Promise<Reply> {
    if (this.isClosed)
      throw new StoreUnavailableError(`The log in Redis at ${this.place.name} is closed. Open it again.`);
    const result = this.#untilAnswered(action);
    this.#open.add(result);
    this.#calls.ref();
    try {
      return await result;
    } finally {
      this.#open.delete(result);
      if (this.#open.size === 0) this.#calls.unref();
    }
  }

  #ping(): void {
    for (const client of [this.#calls, this.#waiting]) if (client.isReady) send(client, ['PING']).catch(() => {});
  }

  /** Asks the server to end both connections; the client then opens new ones. */
  #reconnect(): void {
    for (const client of [this.#calls, this.#waiting]) send(client, ['QUIT']).catch(() => {});
  }

  async #untilAnswered(action: () => Promise<Reply>): Promise<Reply> {
    const deadline = performance.now() + GONE_MS;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      try {
        return await action();
      } catch (error) {
        const isOver = this.isClosed || performance.now() + waitMs > deadline;
        if (isOver || !isLostRedis(error)) throw describeRedisFault(error, this.place);
        if (isOnReplica(error)) this.#reconnect();
      }
      await delay(waitMs);
    }
  }
}

function newClient({ host, port, tls, username, password, database }: RedisPlace) {
  let wasReady = false;
  const reconnectStrategy = (retries: number, cause: Error) => {
    // The first connection must succeed at once, so that the caller learns of a wrong URL.
    if (!wasReady) return cause;
    return Math.min(FIRST_WAIT_MS * 2 ** retries, MAX_WAIT_MS) * (0.5 + Math.random() / 2);
  };
  const socket = { host, port, connectTimeout: CONNECT_MS, socketTimeout: SILENT_MS, reconnectStrategy };
  const client = createClient({
    RESP: 2,
    socket: tls ? { ...socket, tls: true as const, ...tlsServerName(host) } : socket,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    name: 'toolscript',
    disableOfflineQueue: true,
  });
  // The calls report a lost connection.
  client.on('error', () => {});
  client.on('ready', () => (wasReady = true));
  return client;
}

/**
 * TLS does not allow an IP address as a server name (SNI). Without one, Node compares the certificate with the address.
 */
function tlsServerName(host: string): { servername?: string | undefined } {
  return isIP(host) === 0 ? { servername: host } : {};
}

async function refuseUnusable(client: Client, place: RedisPlace): Promise<void> {
  const version = replyInfo(await send(client, ['INFO', 'server'])).get('redis_version') ?? 'unknown';
  if (Number.parseInt(version, 10) < MIN_VERSION) throw redisFault('old', place, version);
  // A cluster node that lacks the keys rejects this command with the address of the right node.
  await send(client, ['EXISTS', `${place.prefix}:runs`]);
  await refuseWithoutRights(client, place);
}

/**
 * Rejects a user who lacks a permission, because the first run would fail otherwise. Later calls report other faults.
 */
async function refuseWithoutRights(client: Client, place: RedisPlace): Promise<void> {
  const denied = await send(client, ['EVAL', REDIS_SCRIPTS.probe, '1', place.prefix]).catch((error: unknown) => {
    if (isDenied(error)) throw error;
    return [];
  });
  if (Array.isArray(denied) && denied.length > 0) throw redisFault('rights', place, denied.join(', '));
}

function send(client: Client, command: readonly string[]): Promise<Reply> {
  return client.sendCommand(command) as unknown as Promise<Reply>;
}

function replyInfo(reply: Reply): ReadonlyMap<string, string> {
  const lines = String(reply).split('\r\n');
  return new Map(lines.flatMap((line) => (line.includes(':') ? [line.split(':', 2) as [string, string]] : [])));
}
