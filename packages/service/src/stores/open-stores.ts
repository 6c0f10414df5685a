import { resolve } from 'node:path';
import { memoryEventLog } from './memory/memory-event-log.js';
import { memoryStores } from './memory/memory-stores.js';
import { ToolscriptUsageError, type EventLog, type HarnessStore, type ServiceStores } from '@toolscript/core/protocol';
import type { DocumentLimits, HeapLimits } from '@toolscript/core/ports';
import type { ApiKeyStore } from './ports/api-key-store.js';
import type { AuditTable } from './ports/audit-table.js';
import type { TableCalls } from './calls.js';
import { DatabaseThread } from './database-thread.js';
import type { DecisionSeal } from './sealed-decisions.js';
import { TableDocuments } from './table-documents.js';
import { TableHeaps } from './table-heaps.js';
import { TableEventLog } from './table-event-log.js';
import { TableRuns } from './table-runs.js';
import { TableThreads } from './table-threads.js';

export interface OpenStoresOptions {
  /**
   * The clock of leases and expiries, in ms since 1970. Default: the clock of the database server, so that the clocks
   * of the machines may differ; without a server, the clock of the system.
   */
  now?: (() => number) | undefined;
  documentLimits?: Partial<DocumentLimits> | undefined;
  /** Default: `HEAP_LIMITS`. */
  heapLimits?: Partial<HeapLimits> | undefined;
  /**
   * Authenticates users' decisions, so that a program that can only write to the database decides nothing:
   * `suspensionSeal(key)` of `@toolscript/core/internal`, the same key in all processes. Default: every program that
   * can write to the database is trusted. `memory:` needs none.
   */
  seal?: DecisionSeal | undefined;
}

/**
 * Opens the stores of threads, runs, approvals, documents and heaps: `libsql:FILE`, `postgres://…`, or `memory:` for the life
 * of the process. Creates a missing file, which only its owner can access, and migrates the tables to this version's
 * schema. Several processes may open the same database. Rejects with a `ToolscriptUsageError` for another URL, and with
 * a `StoreUnavailableError` if the database cannot be opened.
 */
export async function openStores(url: string, options: OpenStoresOptions = {}): Promise<ServiceStores> {
  const opened = await openTables(url);
  return opened === undefined
    ? memoryStores(options)
    : storesOver(opened.tables, tablesClock(opened, options), options);
}

export interface OpenDatabase {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The scripts, in PostgreSQL. Undefined for other databases, whose scripts are in a folder or in memory. */
  readonly scripts?: HarnessStore | undefined;
  /** The API keys of all servers, in PostgreSQL. */
  readonly keys?: ApiKeyStore | undefined;
  /** The audit log of all servers, in PostgreSQL. */
  readonly audit?: AuditTable | undefined;
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
  const { tables, now: _ofServer, scripts, ...others } = opened;
  const now = tablesClock(opened, options);
  const stores = storesOver(tables, now, options);
  return {
    stores,
    log: new TableEventLog(tables, now),
    ...(scripts === undefined ? {} : { scripts: { ...scripts, heaps: stores.heaps } }),
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
  return opened === undefined
    ? memoryEventLog(options)
    : new TableEventLog(opened.tables, tablesClock(opened, options));
}

function storesOver(
  tables: TableCalls,
  now: () => number,
  { documentLimits, heapLimits, seal }: OpenStoresOptions,
): ServiceStores {
  return {
    threads: new TableThreads(tables, now, seal),
    runs: new TableRuns(tables, now, seal),
    documents: new TableDocuments(tables, now, documentLimits),
    heaps: new TableHeaps(tables, now, heapLimits),
    close: () => tables.close(),
  };
}

interface OpenTables {
  readonly tables: TableCalls;
  readonly scripts?: HarnessStore | undefined;
  readonly keys?: ApiKeyStore | undefined;
  readonly audit?: AuditTable | undefined;
  /** The clock of the server. Undefined for a database without a server. */
  readonly now?: (() => number) | undefined;
}

function tablesClock({ now: ofServer = Date.now }: OpenTables, { now = ofServer }: OpenStoresOptions): () => number {
  return now;
}

/** Opens the tables of a database. Returns undefined for `memory:`. */
async function openTables(url: string, opened = 'Stores'): Promise<OpenTables | undefined> {
  if (url === 'memory:') return undefined;
  if (!isPostgresUrl(url)) return { tables: await DatabaseThread.open(databaseFile(url, opened)) };
  const { openPostgres } = await import('./postgres/open-postgres.js');
  return openPostgres(url);
}

function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//u.test(url);
}

function databaseFile(url: string, opened: string): string {
  const [scheme = '', ...rest] = url.split(':');
  const file = rest.join(':');
  if (scheme === 'libsql' && file !== '' && !file.startsWith('//') && !/[\0:]memory:$/u.test(url)) return resolve(file);
  const redis = opened === 'Stores' ? '' : '"redis://…", ';
  // The error shows only the scheme, because the rest of a URL may contain a password.
  throw new ToolscriptUsageError('STORE_URL_UNSUPPORTED', {
    opened,
    url: JSON.stringify(`${scheme.slice(0, 20)}:…`),
    redis,
  });
}
