import { ToolscriptUsageError } from '@toolscript/core/protocol';
import pg from 'pg';
import { describePostgresFault, WAIT_MS, type Place } from './faults.js';

/** Client-side timeout of one statement, in ms. A network may lose a connection silently. */
const STATEMENT_MS = 60_000;

/** The URL parameter with the address of the server itself, for a URL that names a pooler. */
const LISTEN = 'listen';

export interface PostgresConfiguration {
  /** The settings of the connections for calls. */
  readonly config: pg.ClientConfig;
  /**
   * The settings of the connection that waits for notifications. They are the same object as `config` if the URL has no
   * parameter `listen`.
   */
  readonly listening: pg.ClientConfig;
  readonly place: Place;
}

/**
 * Throws a `ToolscriptUsageError` for a malformed URL. The error does not contain the URL, which may contain a
 * password.
 */
export function postgresConfiguration(url: string): PostgresConfiguration {
  const urls = postgresUrls(url);
  const config = clientConfig(urls.calls);
  const listening = urls.listening === undefined ? config : clientConfig(urls.listening);
  return { config, listening, place: postgresPlace(config) };
}

/** Rejects with a `StoreUnavailableError` if the server does not accept a connection. */
export async function tryToConnect(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw describePostgresFault(error, postgresPlace(config));
  } finally {
    await client.end().catch(() => {});
  }
}

function postgresUrls(url: string): { calls: string; listening: string | undefined } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const direct = parsed?.searchParams.get(LISTEN) ?? undefined;
  if (parsed === undefined || direct === undefined) return { calls: url, listening: undefined };
  const { host, port } = /^(?<host>[\w.-]+|\[[\da-f:]+\])(?::(?<port>\d{1,5}))?$/iu.exec(direct)?.groups ?? {};
  if (host === undefined)
    throw new ToolscriptUsageError('POSTGRESQL_LISTEN_INVALID', { listen: JSON.stringify(direct.slice(0, 100)) });
  parsed.searchParams.delete(LISTEN);
  const calls = parsed.href;
  Object.assign(parsed, { hostname: host, port: port ?? '' });
  return { calls, listening: parsed.href };
}

function clientConfig(url: string): pg.ClientConfig {
  const types = new pg.TypeOverrides();
  // The numbers in Toolscript's columns stay below 2^53.
  types.setTypeParser(pg.types.builtins.INT8, Number);
  return {
    connectionString: url,
    application_name: 'toolscript',
    connectionTimeoutMillis: WAIT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    types,
  };
}

function postgresPlace(config: pg.ClientConfig): Place {
  let client: pg.Client;
  try {
    client = new pg.Client(config);
  } catch {
    // The new error replaces the original one, whose message may contain the password.
    throw new ToolscriptUsageError('POSTGRESQL_URL_INVALID');
  }
  const { host, port, user = '', database = '' } = client;
  return { name: `${host}:${port}/${database}`, user, database };
}
