import type { HarnessStore } from '@toolscript/core/protocol';
import { PostgresDatabase } from './postgres-database.js';
import { postgresScripts } from './scripts.js';

interface OpenPostgres {
  readonly tables: PostgresDatabase;
  readonly scripts: HarnessStore;
  /** The clock of the server. */
  readonly now: () => number;
}

/** Opens all tables of a database. See `PostgresDatabase.open`. */
export async function openPostgres(url: string): Promise<OpenPostgres> {
  const tables = await PostgresDatabase.open(url);
  return { tables, scripts: postgresScripts(tables), now: () => tables.now() };
}
