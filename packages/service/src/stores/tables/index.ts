import type { Database } from './database.js';
import { DocumentTables } from './document-tables.js';
import { HeapTables } from './heap-tables.js';
import { LogTables } from './log-tables.js';
import { RunTables } from './run-tables.js';
import { ThreadTables } from './thread-tables.js';

/** All tables, over one connection. */
export function tablesOver(database: Database) {
  return {
    documents: new DocumentTables(database),
    threads: new ThreadTables(database),
    runs: new RunTables(database),
    log: new LogTables(database),
    heaps: new HeapTables(database),
  };
}

export type Tables = ReturnType<typeof tablesOver>;
