import { StoreUnavailableError } from '@toolscript/core/ports';
import { UNREACHABLE } from '../unreachable.js';

/** Maximum time that a statement waits for another transaction's lock, and that a transaction stays idle, in ms. */
export const WAIT_MS = 15_000;

/** The database as messages show it, without the password. */
export interface Place {
  /** The host, the port and the database, such as `127.0.0.1:5432/toolscript`. */
  readonly name: string;
  readonly user: string;
  readonly database: string;
}

type Sentence = (place: Place, message: string) => string;

const SENTENCES = {
  unreachable: ({ name }) =>
    `No PostgreSQL server answers at ${name}. Start the server, or correct the host and the port of the URL.`,
  password: ({ name, user }) =>
    `PostgreSQL at ${name} refused the user ${JSON.stringify(user)}. Correct the user and the password of the URL, or add the user to pg_hba.conf.`,
  noDatabase: ({ name, database }) =>
    `PostgreSQL has no database ${name}. Create it: createdb ${JSON.stringify(database)}`,
  noSchema: ({ name }) =>
    `${name} has no schema in the search_path of its user. Create a schema, or set the search_path: ALTER ROLE … SET search_path = …`,
  rights: ({ name, user }, message) =>
    `PostgreSQL at ${name} denies the user ${JSON.stringify(user)} a permission (${message}). Grant the permission, or connect as the owner of the tables.`,
  connections: ({ name }) =>
    `PostgreSQL at ${name} has no free connection. Raise its max_connections, or run fewer processes.`,
  full: ({ name }) => `PostgreSQL at ${name} cannot grow: its disk is full. Free disk space and try again.`,
  readOnly: ({ name }) =>
    `PostgreSQL at ${name} accepts no writes: it is a standby, or read-only. Use the URL of the primary.`,
  busy: ({ name }) =>
    `${name} is locked: another transaction has held a lock for ${WAIT_MS / 1_000} s. Look for the transaction in pg_stat_activity, or try again later.`,
  lost: ({ name }) => `The connection to PostgreSQL at ${name} ended. Try again when the server is running.`,
  pooler: ({ name }, message) =>
    `The pooler at ${name} refuses a parameter of the URL (${message}). Remove the parameter. If it is "options", set the options for the user: ALTER ROLE … SET search_path = …`,
  missingTables: ({ name }, message) =>
    `A table of Toolscript is missing in ${name} (${message}). Restore a backup, or name an empty database.`,
  failed: ({ name }, message) => `PostgreSQL at ${name} failed: ${message}. Look in the log of that server.`,
} as const satisfies Record<string, Sentence>;

type Kind = keyof typeof SENTENCES;

/** The kind of fault for each SQLSTATE code. */
const KIND_OF_STATE: Readonly<Record<string, Kind>> = {
  '25006': 'readOnly',
  '28000': 'password',
  '28P01': 'password',
  '3D000': 'noDatabase',
  '3F000': 'noSchema',
  '42501': 'rights',
  '42P01': 'missingTables',
  '53100': 'full',
  '53300': 'connections',
  '55P03': 'busy',
  '57P04': 'noDatabase',
};

const KIND_OF_CLASS: Readonly<Record<string, Kind>> = {
  '08': 'lost',
  '57': 'lost',
  '53': 'failed',
  '58': 'failed',
  XX: 'failed',
};

const BROKEN = new Set(['EPIPE', 'ECONNRESET', 'ECONNABORTED']);

/** Messages of the client `pg` for connections that have ended or do not answer. These errors have no code. */
const ENDED = /^(?:Connection terminated|timeout e|Query read timeout|Client .* is not queryable$)/u;

/**
 * A `StoreUnavailableError` that describes the error and the fix, if the database or the network caused the error;
 * otherwise the error itself.
 */
export function describePostgresFault(error: unknown, place: Place): unknown {
  const kind = postgresFaultKind(error);
  if (kind === undefined) return error;
  return new StoreUnavailableError(SENTENCES[kind](place, (error as Error).message), { cause: error });
}

/** Whether the transaction was rolled back because of a conflict with another one, so that it can be retried. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01', '23503', '23505'].includes(postgresErrorCode(error));
}

/** Whether the connection can return no further answer. */
export function isLostPostgres(error: unknown): boolean {
  const code = postgresErrorCode(error);
  if (isRefusedParameter(error)) return false;
  return /^(?:08|57P0[1-3])/u.test(code) || code === '25P03' || UNREACHABLE.has(code) || isBroken(error);
}

/** Whether the connection leads to a server that has become a standby. A new connection may lead to the primary. */
export function isOnStandby(error: unknown): boolean {
  return postgresErrorCode(error) === '25006';
}

/** Whether the server accepts no more connections. In that case, the statement was not sent. */
export function isCrowded(error: unknown): boolean {
  return postgresErrorCode(error) === '53300';
}

/** Whether the statement did not reach the server. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith('is not queryable');
}

/**
 * Whether PgBouncer rejected a parameter. PgBouncer gives every error the code of a protocol violation, which otherwise
 * means a lost connection.
 */
function isRefusedParameter(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter');
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && (BROKEN.has(postgresErrorCode(error)) || ENDED.test(error.message));
}

function postgresErrorCode(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function postgresFaultKind(error: unknown): Kind | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = postgresErrorCode(error);
  if (UNREACHABLE.has(code)) return 'unreachable';
  // The server requires a password that the URL lacks, or the server could not prove that it knows the password.
  if (/^SASL|password must be a string/u.test(error.message)) return 'password';
  if (isRefusedParameter(error)) return 'pooler';
  if (isBroken(error) || code === '25P03') return 'lost';
  return code.length === 5 ? (KIND_OF_STATE[code] ?? KIND_OF_CLASS[code.slice(0, 2)]) : undefined;
}
