import {
  ClientClosedError,
  ClientOfflineError,
  ConnectionTimeoutError,
  DisconnectsClientError,
  ErrorReply,
  ReconnectStrategyError,
  RootNodesUnavailableError,
  SocketClosedUnexpectedlyError,
  SocketTimeoutError,
  TimeoutError,
} from '@redis/client';
import { StoreUnavailableError } from '@toolscript/core/ports';
import type { RedisPlace } from './place.js';
import { UNREACHABLE } from '../unreachable.js';

type Sentence = (place: RedisPlace, message: string) => string;

const SENTENCES = {
  unreachable: ({ name }) =>
    `No Redis server answers at ${name}. Start the server, or correct the host and the port of the URL.`,
  password: ({ name }) => `Redis at ${name} refused the user or the password. Correct them in the URL.`,
  rights: ({ name, prefix }, message) =>
    `Redis at ${name} denies the user a permission (${message}). Grant the permission: ACL SETUSER … +@all ~${prefix}*`,
  database: ({ name }) =>
    `Redis at ${name} has no database with the number in the URL. Remove the number, or raise "databases".`,
  certificate: ({ name }, message) =>
    `The certificate of Redis at ${name} is not trusted (${message}). Correct the host in the URL, or set NODE_EXTRA_CA_CERTS to the file with the CA certificate.`,
  notRedis: ({ name }) =>
    `The server at ${name} does not answer as Redis does. Correct the host and the port of the URL, or use rediss:// for TLS.`,
  old: ({ name }, version) => `Redis at ${name} has version ${version}. Upgrade it to 7.0 or newer.`,
  full: ({ name }) =>
    `Redis at ${name} accepts no more events: its memory is full. Raise maxmemory; runs continue then. Stored events are not lost.`,
  disk: ({ name }) =>
    `Redis at ${name} accepts no writes, because it cannot save to its disk. Free disk space. If the disk is not full, look for the cause in the log of that server.`,
  readOnly: ({ name }) => `Redis at ${name} accepts no writes: it is a replica. Use the URL of the primary.`,
  lost: ({ name }) => `The connection to Redis at ${name} ended. Try again when the server is running.`,
  cluster: ({ name }, message) =>
    `The Redis cluster at ${name} does not serve its keys now (${message}). Find the cause with CLUSTER INFO.`,
  moved: ({ name }, message) =>
    `Redis at ${name} is a cluster node without the keys of this log. Use the URL of the node that has them: ${nodeIn(message)}`,
  failed: ({ name }, message) => `Redis at ${name} failed: ${message}. Look in the log of that server.`,
} as const satisfies Record<string, Sentence>;

type Kind = keyof typeof SENTENCES;

/** The kind of fault for the first word of an error that Redis sends. */
const KIND_OF_REPLY: Readonly<Record<string, Kind>> = {
  CLUSTERDOWN: 'cluster',
  CROSSSLOT: 'cluster',
  MASTERDOWN: 'lost',
  MISCONF: 'disk',
  ASK: 'moved',
  MOVED: 'moved',
  NOAUTH: 'password',
  NOPERM: 'rights',
  OOM: 'full',
  READONLY: 'readOnly',
  WRONGPASS: 'password',
};

/** Errors of the client and of the network for a connection that has ended or does not exist. */
const LOST = [
  ClientClosedError,
  ClientOfflineError,
  ConnectionTimeoutError,
  DisconnectsClientError,
  RootNodesUnavailableError,
  SocketClosedUnexpectedlyError,
  SocketTimeoutError,
  TimeoutError,
];

export function redisFault(kind: Kind, place: RedisPlace, message = '', cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(SENTENCES[kind](place, message), { cause });
}

/**
 * A `StoreUnavailableError` that describes the error and the fix, if Redis or the network caused the error; otherwise
 * the error itself.
 */
export function describeRedisFault(error: unknown, place: RedisPlace, isOpening = false): unknown {
  const original = error instanceof ReconnectStrategyError ? error.originalError : error;
  const known = redisFaultKind(original);
  // Redis does not close a connection during the handshake, so the server is not Redis.
  const kind = isOpening && known === 'lost' ? 'notRedis' : known;
  return kind === undefined ? error : redisFault(kind, place, firstLine(original as Error), original);
}

/**
 * Whether the command may be repeated: the connection was lost, or the server is not ready. Redis sends LOADING while
 * it starts.
 */
export function isLostRedis(error: unknown): boolean {
  if (error instanceof ErrorReply)
    return /^(?:LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/u.test(error.message) || isOnReplica(error);
  const kind = redisFaultKind(error);
  return kind === 'lost' || kind === 'unreachable';
}

/** Whether the connection leads to a server that has become a replica. A new connection may lead to the primary. */
export function isOnReplica(error: unknown): boolean {
  return redisFaultKind(error) === 'readOnly';
}

/** Whether the user may not use the command. */
export function isDenied(error: unknown): boolean {
  return redisFaultKind(error) === 'rights';
}

function redisFaultKind(error: unknown): Kind | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ErrorReply) return kindOfReply(error.message);
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && UNREACHABLE.has(code)) return 'unreachable';
  if (typeof code === 'string' && /^(?:EPIPE|ECONN)/u.test(code)) return 'lost';
  if (typeof code === 'string' && /^(?:ERR_TLS_CERT|CERT_|DEPTH_|SELF_SIGNED|UNABLE_)/u.test(code))
    return 'certificate';
  if (typeof code === 'string' && /^(?:ERR_SSL|ERR_TLS)/u.test(code)) return 'failed';
  // Only this message identifies an error of the client's parser.
  if (/unknown RESP type|invalid RESP/iu.test(error.message)) return 'notRedis';
  return LOST.some((kind) => error instanceof kind) ? 'lost' : undefined;
}

/** The address in `MOVED SLOT HOST:PORT`. */
function nodeIn(message: string): string {
  return `redis://${message.split(' ')[2] ?? '…'}`;
}

function kindOfReply(message: string): Kind {
  if (/DB index is out of range/u.test(message)) return 'database';
  if (/called without any password configured|Client sent AUTH/u.test(message)) return 'password';
  // The user may not run a command of the script, or access one of its keys.
  if (/executing the script can't (?:run|access)/u.test(message)) return 'rights';
  // A script forwards the error of its command.
  if (/^(?:ERR )?.*\bOOM command not allowed/u.test(message)) return 'full';
  return KIND_OF_REPLY[/^-?(\w+)/u.exec(message)?.[1] ?? ''] ?? 'failed';
}

/** The first line of an error message of Redis, truncated. */
function firstLine({ message }: Error): string {
  return message.split('\n')[0]!.slice(0, 200);
}
