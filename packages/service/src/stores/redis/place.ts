import { ToolscriptUsageError } from '@toolscript/core/protocol';

/** The server and the keys that a URL names. Messages show only `name` and `prefix`, never the password. */
export interface RedisPlace {
  /** The host and the port, such as `127.0.0.1:6379`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: number | undefined;
  /** The prefix of every key. Its braces put all keys into one slot of a cluster. */
  readonly prefix: string;
}

const DEFAULT_PORT = 6379;
const DEFAULT_PREFIX = 'toolscript';

/**
 * Reads a URL. A URL without a password uses the environment variable `REDISCLI_AUTH`. Throws a `ToolscriptUsageError`
 * for a malformed URL. The error does not contain the URL, which may contain a password.
 */
export function redisPlace(url: string, environment: NodeJS.ProcessEnv = process.env): RedisPlace {
  try {
    return read(new URL(url), environment.REDISCLI_AUTH ?? '');
  } catch {
    throw new ToolscriptUsageError('REDIS_URL_INVALID');
  }
}

function read(url: URL, otherPassword: string): RedisPlace {
  const { protocol, hostname, port, username, password, pathname, searchParams } = url;
  const secret = password === '' ? otherPassword : decodeURIComponent(password);
  const database = /^\/?(\d{0,5})$/u.exec(pathname)?.[1];
  const prefix = searchParams.get('prefix') ?? DEFAULT_PREFIX;
  const isKnown = [...searchParams.keys()].every((name) => name === 'prefix');
  if (hostname === '' || database === undefined || !isKnown || !/^[\w.-]{1,64}$/u.test(prefix)) throw new TypeError();
  const host = hostname.replace(/^\[(.*)\]$/u, '$1');
  const number = port === '' ? DEFAULT_PORT : Number(port);
  return {
    name: `${hostname}:${number}`,
    host,
    port: number,
    tls: protocol === 'rediss:',
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(secret === '' ? {} : { password: secret }),
    ...(database === '' ? {} : { database: Number(database) }),
    prefix: `{${prefix}}`,
  };
}
