import type { HarnessStore } from '@toolscript/core/protocol';
import { PostgresDatabase } from './postgres-database.js';
import { postgresScripts } from './scripts.js';

/** Opens all tables of a database. See `PostgresDatabase.open`. */
export async function openPostgres(url: string): Promise<{ tables: PostgresDatabase; scripts: HarnessStore }> {
  const tables = await PostgresDatabase.open(url);
  return { tables, scripts: postgresScripts(tables) };
}
