import { Database } from './database.js';
import { LogTables } from './log-tables.js';
import { RunTables } from './run-tables.js';
import { ThreadTables } from './thread-tables.js';

/** All tables of a file, over one connection. Throws if it cannot be opened. */
export function openTables(path: string) {
  const database = new Database(path);
  return {
    database,
    threads: new ThreadTables(database),
    runs: new RunTables(database),
    log: new LogTables(database),
  };
}

export type Tables = ReturnType<typeof openTables>;
