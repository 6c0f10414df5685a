import { ToolscriptUsageError, type EventLog, type HarnessStore, type ServiceStores } from '@toolscript/core/protocol';
import type { Environment } from '../terminal/style.js';
import { visible } from '../terminal/untrusted.js';
import { ThreadDatabase, throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

/** Where a server keeps its conversations. */
export interface Storage {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** Undefined: in the data folder. */
  readonly scripts?: HarnessStore;
  close(): Promise<void>;
}

/** `url`: default, the database of the data folder. Throws a UsageError if it cannot be opened. */
export async function openStorage(
  url: string | undefined,
  environment: Environment,
  warn: (message: string) => void,
): Promise<Storage> {
  if (url === undefined) return ThreadDatabase.open(environment, warn);
  const { openDatabase } = await import('@toolscript/server/stores');
  try {
    return await throughStore(openDatabase(url));
  } catch (error) {
    if (error instanceof ToolscriptUsageError) throw new UsageError(`--store: ${visible(error.message)}`);
    throw error;
  }
}
