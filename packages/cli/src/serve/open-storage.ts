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

/** The names of variables with secrets: of the program itself, of the clients of databases, and of providers. */
const SECRET_NAME = /(?:AUTH|KEY|PASSWORD|SECRET|TOKEN)$/u;

/** The beginning of the secrets in the examples for deployments. */
const PLACEHOLDER = 'change-me';

/**
 * Opens the database and the live events. Throws a UsageError if one of them cannot be opened, or if the environment
 * has a secret of an example.
 */
export async function openStorage({ store, events }: StorageFlags, environment: Environment): Promise<Storage> {
  demandOwnSecrets(environment);
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

function demandOwnSecrets(environment: Environment): void {
  const name = Object.keys(environment).find(
    (one) => SECRET_NAME.test(one) && environment[one]?.startsWith(PLACEHOLDER) === true,
  );
  // defence: example-secrets-are-refused
  if (name !== undefined)
    throw new UsageError(
      `${visible(name)} has the placeholder of an example ("${PLACEHOLDER}…"), which is no secret. Replace it with a secret of your own (openssl rand -base64 32), or unset it.`,
    );
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
