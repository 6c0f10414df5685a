import { present } from '@toolscript/core/internal';
import { ToolscriptUsageError, type EventLog, type HarnessStore, type ServiceStores } from '@toolscript/core/protocol';
import type { ApiKeyStore, AuditTable } from '@toolscript/server/access';
import type { Environment } from '../terminal/screen.js';
import { visible } from '../terminal/untrusted.js';
import { openSealedDatabase, ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

/** The storage of a server's conversations. */
export interface Storage {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The scripts of the conversations; undefined if they are in the data folder. */
  readonly scripts?: HarnessStore | undefined;
  /** The API keys of all servers of a database; undefined if the keys are in the data folder. */
  readonly keys?: ApiKeyStore | undefined;
  /** The audit log of all servers of a database; undefined if the log is in the data folder. */
  readonly audit?: AuditTable | undefined;
  close(): Promise<void>;
}

export interface StorageFlags {
  /** The URL of the database. Default: a file in the data folder. */
  store?: string | undefined;
  /** The URL of the service for live events. Default: live events go through the database. */
  events?: string | undefined;
}

/** Opens the database and the live events. Throws a UsageError if one of them cannot be opened. */
export async function openStorage({ store, events }: StorageFlags, environment: Environment): Promise<Storage> {
  const database = await openStores(store, environment);
  if (events === undefined) return database;
  try {
    const { openEventLog } = await import('@toolscript/service/stores');
    const log = await openForOption('--events', openEventLog(events));
    const { stores, scripts, keys, audit } = database;
    const close = async () => {
      await log.close();
      await database.close();
    };
    return { stores, log, ...present({ scripts, keys, audit }), close };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openStores(url: string | undefined, environment: Environment): Promise<Storage> {
  if (url === undefined) return ThreadDatabase.open(environment);
  return openForOption('--store', openSealedDatabase(url, environment));
}

async function openForOption<Value>(option: string, opening: Promise<Value>): Promise<Value> {
  try {
    return await throughStore(opening);
  } catch (error) {
    if (error instanceof ToolscriptUsageError) throw new UsageError(`${option}: ${visible(error.message)}`);
    throw error;
  }
}
