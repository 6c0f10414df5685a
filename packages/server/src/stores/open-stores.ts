import { resolve } from 'node:path';
import { memoryEventLog, memoryStores } from '@toolscript/core';
import { ToolscriptUsageError, type EventLog, type ServiceStores } from '@toolscript/core/protocol';
import { DatabaseThread } from './database-thread.js';
import { LibsqlEventLog } from './libsql-event-log.js';
import { LibsqlRuns } from './libsql-runs.js';
import { LibsqlThreads } from './libsql-threads.js';

export interface OpenStoresOptions {
  /** The clock of leases and expiries, in ms since 1970. Default: that of the system. */
  now?: () => number;
}

/**
 * Opens threads, runs and approvals: `libsql:FILE`, or `memory:` for the life of the process. Creates a missing file,
 * with access for its owner alone, and migrates it to this version's schema. Several processes may have it open.
 * Rejects with a `ToolscriptUsageError` for another URL, and with a `StoreUnavailableError` if the file cannot be
 * opened.
 */
export async function openStores(url: string, { now = Date.now }: OpenStoresOptions = {}): Promise<ServiceStores> {
  const path = pathOf(url);
  if (path === undefined) return memoryStores({ now });
  return storesOver(await DatabaseThread.open(path), now);
}

export interface OpenDatabase {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** Closes both. Idempotent. */
  close(): Promise<void>;
}

/** Opens the stores and the log of live events together, like `openStores`, with one file and one connection. */
export async function openDatabase(url: string, { now = Date.now }: OpenStoresOptions = {}): Promise<OpenDatabase> {
  const path = pathOf(url);
  if (path === undefined) {
    const [stores, log] = [memoryStores({ now }), memoryEventLog({ now })];
    return { stores, log, close: () => Promise.all([stores.close(), log.close()]).then(() => {}) };
  }
  const database = await DatabaseThread.open(path);
  return {
    stores: storesOver(database, now),
    log: new LibsqlEventLog(database, now),
    close: () => database.close(),
  };
}

function storesOver(database: DatabaseThread, now: () => number): ServiceStores {
  return {
    threads: new LibsqlThreads(database, now),
    runs: new LibsqlRuns(database, now),
    close: () => database.close(),
  };
}

/** Opens the log of live events, like `openStores`; both may be in one file. */
export async function openEventLog(url: string, { now = Date.now }: OpenStoresOptions = {}): Promise<EventLog> {
  const path = pathOf(url);
  if (path === undefined) return memoryEventLog({ now });
  return new LibsqlEventLog(await DatabaseThread.open(path), now);
}

/** Undefined for `memory:`. */
function pathOf(url: string): string | undefined {
  if (url === 'memory:') return undefined;
  const [scheme = '', ...rest] = url.split(':');
  const file = rest.join(':');
  if (scheme === 'libsql' && file !== '' && !file.startsWith('//') && !/[\0:]memory:$/u.test(url)) return resolve(file);
  // The rest of a URL may contain a password.
  throw new ToolscriptUsageError(
    `Stores cannot be opened at ${JSON.stringify(`${scheme.slice(0, 20)}:…`)}. Supported are "libsql:FILE", with the path of a file on this machine, and "memory:".`,
  );
}
