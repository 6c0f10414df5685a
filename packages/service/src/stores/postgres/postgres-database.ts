import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '@toolscript/core/ports';
import pg from 'pg';
import type { CallOf, MethodsOf, TableCalls, TableName } from '../calls.js';
import { tablesOver, type Tables } from '../tables/index.js';
import { CallOwners } from './call-owners.js';
import { Changes } from './changes.js';
import { postgresConfiguration, tryToConnect, type PostgresConfiguration } from './configuration.js';
import { ConnectionTurns } from './connection-turns.js';
import { PostgresConnection } from './connection.js';
import { describePostgresFault, isCrowded, isOnStandby, isLostPostgres, type Place } from './faults.js';
import { migrate } from './migrate.js';
import { ServerClock } from './server-clock.js';
import type { ChangeBoard } from '../change-board.js';

/** Maximum time that a call waits for an unreachable server, in ms. */
const GONE_MS = 10_000;

/** Time for which a call waits for an answer until a new connection shows whether the server answers, in ms. */
const SILENT_MS = 5_000;

/** The first and the maximum delay between attempts to connect, in ms. */
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;

/** Maximum number of connections for calls. One more connection waits for notifications. */
const MAX_CONNECTIONS = 10;

/** Maximum number of connections that the calls of one principal use at a time. */
const MAX_OF_PRINCIPAL = 7;

/**
 * Calls that have the same effect if they are repeated. The database repeats them if the result of their commit is
 * unknown.
 */
const REPEATABLE = new Set([
  'documents.deleteExpired',
  'heaps.add',
  'heaps.collect',
  'heaps.deleteThread',
  'heaps.inherit',
  'log.open',
  'log.publish',
  'log.delete',
  'runs.announce',
  'runs.finish',
  'runs.park',
  'runs.probe',
  'runs.release',
  'runs.renew',
  'runs.requestCancel',
  'runs.resume',
  'runs.suspend',
  'runs.withdraw',
  'threads.append',
  'threads.keepItems',
  'threads.readItems',
  'threads.rename',
  'threads.saveInstructions',
]);

interface Session {
  readonly connection: PostgresConnection;
  readonly tables: Tables;
}

interface Call<Result> {
  readonly action: (session: Session) => Promise<Result>;
  /** Whether to repeat the call if the result of its commit is unknown. */
  readonly isRepeatable: boolean;
  /** The principal whose turn at the connections the call takes. Undefined for work without a principal. */
  readonly principal?: string | undefined;
}

/**
 * A PostgreSQL database with the tables of the stores. Each call uses a connection exclusively. A call waits and starts
 * again if the server is unreachable or has no free connection. A call that is not repeatable rejects if the connection
 * ends during its commit.
 */
export class PostgresDatabase implements TableCalls {
  readonly place: Place;
  onForeignChange: TableCalls['onForeignChange'] = () => {};
  readonly #pool: pg.Pool;
  readonly #turns = new ConnectionTurns(MAX_CONNECTIONS, MAX_OF_PRINCIPAL);
  readonly #owners = new CallOwners();
  readonly #sessions = new WeakMap<pg.PoolClient, Session>();
  readonly #changes: Changes;
  readonly #clock: ServerClock;
  readonly #open = new Set<Promise<unknown>>();
  readonly #config: pg.ClientConfig;
  /** Resolves to whether the server answers a new connection. */
  #probe: Promise<boolean> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    pool: pg.Pool,
    { config, listening, place }: PostgresConfiguration,
    { channel, now }: PreparedDatabase,
  ) {
    this.#pool = pool;
    this.#config = config;
    this.place = place;
    this.#clock = ServerClock.at(now, () => this.use((connection) => connection.now()));
    this.#changes = new Changes({
      config: listening,
      channel,
      notify: (name, payload) => this.#notify(name, payload),
      onForeignChange: (key) => this.onForeignChange(key),
    });
  }

  /**
   * Connects, and migrates the schema. Rejects with a `ToolscriptUsageError` for a malformed URL, and with a
   * `StoreUnavailableError` if the database cannot be used.
   */
  static async open(url: string): Promise<PostgresDatabase> {
    const configuration = postgresConfiguration(url);
    const { config, listening, place } = configuration;
    const pool = new pg.Pool({ ...config, max: MAX_CONNECTIONS, allowExitOnIdle: true });
    // At the next call, the pool replaces an idle connection that has ended.
    pool.on('error', () => {});
    // The query that uses a connection reports its error.
    pool.on('connect', (client) => client.on('error', () => {}));
    try {
      if (listening !== config) await tryToConnect(listening);
      const client = await pool.connect();
      try {
        const prepared = await prepare(new PostgresConnection(client), place);
        return new PostgresDatabase(pool, configuration, prepared);
      } finally {
        client.release();
      }
    } catch (error) {
      await pool.end();
      throw describePostgresFault(error, place);
    }
  }

  get board(): ChangeBoard {
    return this.#changes.board;
  }

  /** The time of the server, in ms since 1970. */
  now(): number {
    return this.#clock.now();
  }

  announce(key?: string): void {
    this.#changes.announce(key);
  }

  async call<Name extends TableName, Key extends keyof MethodsOf<Name> & string>(
    table: Name,
    method: Key,
    ...parameters: CallOf<Name, Key>['parameters']
  ): Promise<CallOf<Name, Key>['value']> {
    type Method = (...parameters: CallOf<Name, Key>['parameters']) => Promise<CallOf<Name, Key>['value']>;
    const action = ({ tables }: Session) => {
      const target = tables[table] as unknown as Record<Key, Method>;
      return target[method](...parameters);
    };
    const isRepeatable = REPEATABLE.has(`${table}.${method}`);
    const value = await this.#during({ action, isRepeatable, principal: this.#owners.owner(parameters) });
    this.#owners.learn(value);
    return value;
  }

  /** Like `call`, but passes the connection to the action. */
  use<Result>(
    action: (connection: PostgresConnection) => Promise<Result>,
    { isRepeatable = false }: { readonly isRepeatable?: boolean | undefined } = {},
  ): Promise<Result> {
    return this.#during({ action: ({ connection }) => action(connection), isRepeatable });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#changes.close();
    await Promise.allSettled(this.#open);
    await this.#pool.end();
  }

  async #during<Result>(call: Call<Result>): Promise<Result> {
    if (this.#closing !== undefined) throw this.#closedError();
    const result = this.#untilAnswered(call);
    this.#open.add(result);
    try {
      return await result;
    } finally {
      this.#open.delete(result);
    }
  }

  async #untilAnswered<Result>({ action, isRepeatable, principal }: Call<Result>): Promise<Result> {
    const deadline = performance.now() + GONE_MS;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
      const attempt: { session?: Session | undefined } = {};
      try {
        return await this.#turns.use(principal, async () => {
          const client = await this.#pool.connect();
          const session = this.#clientSession(client);
          attempt.session = session;
          return this.#onClient(client, () => action(session));
        });
      } catch (error) {
        const isOver = this.#closing !== undefined || performance.now() + waitMs > deadline;
        if (attempt.session?.connection.isInDoubt === true && !isRepeatable) throw this.#doubtError(error);
        if (isOver || !(isLostPostgres(error) || isCrowded(error) || isOnStandby(error)))
          throw describePostgresFault(error, this.place);
      }
      await delay(waitMs);
    }
  }

  async #onClient<Result>(client: pg.PoolClient, action: () => Promise<Result>): Promise<Result> {
    let isLost = false;
    let isWaiting = true;
    const watch = setInterval(() => void this.#endIfSilent(client, () => isWaiting), SILENT_MS);
    try {
      return await action();
    } catch (error) {
      isLost = isLostPostgres(error) || isOnStandby(error);
      throw error;
    } finally {
      isWaiting = false;
      clearInterval(watch);
      client.release(isLost);
    }
  }

  /**
   * Ends the connection of a call that waits for an answer, if the server does not answer a new connection either: a
   * network may lose all packets silently. A slow statement keeps its connection.
   */
  async #endIfSilent(client: pg.PoolClient, isWaiting: () => boolean): Promise<void> {
    this.#probe ??= this.#answers().finally(() => (this.#probe = undefined));
    // The client of a pool is a `Client`; its type lacks `end`.
    if (!(await this.#probe) && isWaiting()) void (client as unknown as pg.Client).end().catch(() => {});
  }

  async #answers(): Promise<boolean> {
    try {
      await tryToConnect({ ...this.#config, connectionTimeoutMillis: SILENT_MS });
      return true;
    } catch (error) {
      return !isLostPostgres((error as Error).cause);
    }
  }

  #clientSession(client: pg.PoolClient): Session {
    const known = this.#sessions.get(client);
    if (known !== undefined) return known;
    const connection = new PostgresConnection(client);
    const session = { connection, tables: tablesOver(connection) };
    this.#sessions.set(client, session);
    return session;
  }

  async #notify(channel: string, payload: string): Promise<void> {
    await this.#pool.query('SELECT pg_notify($1, $2)', [channel, payload]);
  }

  #closedError(): Error {
    return new StoreUnavailableError(`The store at ${this.place.name} is closed. Open it again.`);
  }

  #doubtError(cause: unknown): Error {
    return new StoreUnavailableError(
      `The connection to PostgreSQL at ${this.place.name} ended during a commit, so the change may have been stored or not. Check whether it was stored before you repeat the call.`,
      { cause },
    );
  }
}

interface PreparedDatabase {
  /** The channel of the notifications. */
  readonly channel: string;
  /** The time of the server. */
  readonly now: number;
}

async function prepare(connection: PostgresConnection, place: Place): Promise<PreparedDatabase> {
  const found = await connection.first('SELECT current_schema() AS name');
  if (found!.name === null) throw Object.assign(new Error('The search_path names no schema'), { code: '3F000' });
  await migrate(connection, place);
  return { channel: `toolscript ${String(found!.name)}`, now: await connection.now() };
}
