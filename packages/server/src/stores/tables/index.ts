import type { Database } from './database.js';
import { LibsqlDatabase } from './libsql-database.js';
import { LogTables } from './log-tables.js';
import { RunTables } from './run-tables.js';
import { ThreadTables } from './thread-tables.js';

/** All tables of a file, over one connection. Rejects if it cannot be opened. */
export async function openTables(path: string) {
  const database = await LibsqlDatabase.open(path);
  return { database, ...tablesOver(database) };
}

export function tablesOver(database: Database) {
  return {
    threads: new ThreadTables(database),
    runs: new RunTables(database),
    log: new LogTables(database),
  };
}

export type Tables = ReturnType<typeof tablesOver>;
