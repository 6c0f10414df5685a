import type { HarnessStore } from '@toolscript/core/protocol';
import type { ApiKeyStore } from '../ports/api-key-store.js';
import type { AuditTable } from '../ports/audit-table.js';
import { PostgresAudit } from './audit-table.js';
import { PostgresKeys } from './api-keys.js';
import { PostgresDatabase } from './postgres-database.js';
import { postgresScripts } from './scripts.js';

export interface OpenPostgres {
  readonly tables: PostgresDatabase;
  readonly scripts: HarnessStore;
  readonly keys: ApiKeyStore;
  readonly audit: AuditTable;
  /** The clock of the server. */
  readonly now: () => number;
}

/** Opens all tables of a database, with the same errors as `PostgresDatabase.open`. */
export async function openPostgres(url: string): Promise<OpenPostgres> {
  const tables = await PostgresDatabase.open(url);
  return {
    tables,
    scripts: postgresScripts(tables),
    keys: new PostgresKeys(tables),
    audit: new PostgresAudit(tables),
    now: () => tables.now(),
  };
}
