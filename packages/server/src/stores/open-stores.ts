import { resolve } from 'node:path';
import { memoryEventLog, memoryStores } from '@toolscript/core';
import {
  ToolscriptUsageError,
  type DocumentLimits,
  type EventLog,
  type HarnessStore,
  type ServiceStores,
} from '@toolscript/core/protocol';
import type { ApiKeyStore } from '../access/api-keys.js';
import type { AuditTable } from '../access/shared-audit.js';
import type { TableCalls } from './calls.js';
import { DatabaseThread } from './database-thread.js';
import { TableDocuments } from './table-documents.js';
import { TableEventLog } from './table-event-log.js';
import { TableRuns } from './table-runs.js';
import { TableThreads } from './table-threads.js';

export interface OpenStoresOptions {
  /**
   * The clock of leases and expiries, in ms since 1970. Default: the clock of the database server, so that the clocks
   * of the machines may differ; without a server, the clock of the system.
   */
  now?: () => number;
  documentLimits?: Partial<DocumentLimits>;
}

/**
 * Opens the stores of threads, runs, approvals and documents: `libsql:FILE`, `postgres://…`, or `memory:` for the life
 * of the process. Creates a missing file, which only its owner can access, and migrates the tables to this version's
 * schema. Several processes may open the same database. Rejects with a `ToolscriptUsageError` for another URL, and with
 * a `StoreUnavailableError` if the database cannot be opened.
 */
export async function openStores(url: string, options: OpenStoresOptions = {}): Promise<ServiceStores> {
  const opened = await openTables(url);
  return opened === undefined ? memoryStores(options) : storesOver(opened.tables, clockOf(opened, options), options);
}

export interface OpenDatabase {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The scripts, in PostgreSQL. Undefined for other databases, whose scripts are in a folder or in memory. */
  readonly scripts?: HarnessStore;
  /** The API keys of all servers, in PostgreSQL. */
  readonly keys?: ApiKeyStore;
  /** The audit log of all servers, in PostgreSQL. */
  readonly audit?: AuditTable;
  /** Closes the stores, the log and the database. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens the stores and the log of live events in one file or on one server. The URLs and the errors are those of
 * `openStores`.
 */
export async function openDatabase(url: string, options: OpenStoresOptions = {}): Promise<OpenDatabase> {
  const opened = await openTables(url);
  if (opened === undefined) {
    const [stores, log] = [memoryStores(options), memoryEventLog(options)];
    return { stores, log, close: () => Promise.all([stores.close(), log.close()]).then(() => {}) };
  }
  const { tables, now: _ofServer, ...others } = opened;
  const now = clockOf(opened, options);
  return {
    stores: storesOver(tables, now, options),
    log: new TableEventLog(tables, now),
    ...others,
    close: () => tables.close(),
  };
}

/**
 * Opens the log of live events, with the URLs and the errors of `openStores`. The log and the stores may share a
 * database. The URL may also name a Redis server, version 7.0 or later: `redis://…` or `rediss://…`.
 */
export async function openEventLog(url: string, options: OpenStoresOptions = {}): Promise<EventLog> {
  if (/^rediss?:\/\//u.test(url)) {
    const { RedisEventLog } = await import('./redis/redis-event-log.js');
    return RedisEventLog.open(url, options);
  }
  const opened = await openTables(url, 'A log of events');
  return opened === undefined ? memoryEventLog(options) : new TableEventLog(opened.tables, clockOf(opened, options));
}

function storesOver(tables: TableCalls, now: () => number, { documentLimits }: OpenStoresOptions): ServiceStores {
  return {
    threads: new TableThreads(tables, now),
    runs: new TableRuns(tables, now),
    documents: new TableDocuments(tables, now, documentLimits),
    close: () => tables.close(),
  };
}

interface OpenTables {
  readonly tables: TableCalls;
  readonly scripts?: HarnessStore;
  readonly keys?: ApiKeyStore;
  readonly audit?: AuditTable;
  /** The clock of the server. Undefined for a database without a server. */
  readonly now?: () => number;
}

function clockOf({ now: ofServer = Date.now }: OpenTables, { now = ofServer }: OpenStoresOptions): () => number {
  return now;
}

/** Opens the tables of a database. Returns undefined for `memory:`. */
async function openTables(url: string, opened = 'Stores'): Promise<OpenTables | undefined> {
  if (url === 'memory:') return undefined;
  if (!isPostgresUrl(url)) return { tables: await DatabaseThread.open(fileOf(url, opened)) };
  const { openPostgres } = await import('./postgres/open-postgres.js');
  return openPostgres(url);
}

function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//u.test(url);
}

function fileOf(url: string, opened: string): string {
  const [scheme = '', ...rest] = url.split(':');
  const file = rest.join(':');
  if (scheme === 'libsql' && file !== '' && !file.startsWith('//') && !/[\0:]memory:$/u.test(url)) return resolve(file);
  const redis = opened === 'Stores' ? '' : '"redis://…", ';
  // The error shows only the scheme, because the rest of a URL may contain a password.
  throw new ToolscriptUsageError(
    `${opened} cannot be opened at ${JSON.stringify(`${scheme.slice(0, 20)}:…`)}. Supported are ${redis}"postgres://…", "libsql:FILE", with the path of a file on this machine, and "memory:".`,
  );
}
