import {
  entryPrincipal,
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type AuditTable,
  type HashedEntry,
  type ServiceAuditEntry,
} from '../ports/audit-table.js';
import { readCursor, writeCursor } from '../shapes.js';
import { DEFAULT_PAGE } from '@toolscript/core/ports';
import type { Value } from '../tables/database.js';
import { encode } from '../tables/rows.js';
import type { PostgresDatabase } from './postgres-database.js';

/** The columns for the members of a filter. */
const COLUMNS = { threadId: 'thread_id', runId: 'run_id', scriptId: 'script_id' } as const;

/** Stores the audit log of all servers that share a database. */
export class PostgresAudit implements AuditTable {
  constructor(readonly database: PostgresDatabase) {}

  async known(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const parameters = { hashes: JSON.stringify(hashes) };
    const rows = await this.database.use((connection) => {
      const isOne = connection.dialect.isOneOf('sha256', ':hashes');
      return connection.all(`SELECT sha256 FROM audit WHERE ${isOne}`, parameters);
    });
    return new Set(rows.map(({ sha256 }) => sha256 as string));
  }

  async add(entries: readonly HashedEntry[]): Promise<void> {
    await this.database.use(
      (connection) =>
        connection.write(async () => {
          // The lock keeps commits in the order of their positions, so that a page skips no entry.
          await connection.lock('audit');
          for (const { sha256, entry } of entries)
            await connection.run(
              `INSERT INTO audit VALUES (nextval('positions'), :sha256, :principal, :threadId, :runId, :scriptId, :entry)
              ON CONFLICT (sha256) DO NOTHING`,
              { sha256, principal: encode(entryPrincipal(entry)), ...entryIds(entry), entry: JSON.stringify(entry) },
            );
        }),
      { isRepeatable: true },
    );
  }

  async list({ after, limit = DEFAULT_PAGE, ...filter }: AuditQuery): Promise<AuditPage> {
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : readCursor('audit', after);
    const rows = await this.database.use((connection) => {
      const { sql, parameters } = auditConditions(filter, connection.dialect.isLongText);
      return connection.all(
        `SELECT position, entry FROM audit WHERE position < :before ${sql} ORDER BY position DESC LIMIT :limit`,
        { ...parameters, before, limit: limit + 1 },
      );
    });
    const page = rows.slice(0, limit);
    const entries = page.map(({ entry }) => JSON.parse(entry as string) as ServiceAuditEntry);
    if (rows.length <= limit) return { entries };
    return { entries, next: writeCursor('audit', page.at(-1)!.position as number) };
  }
}

function entryIds(entry: ServiceAuditEntry): Record<keyof typeof COLUMNS, Value> {
  const members = entry as unknown as Readonly<Record<string, unknown>>;
  const id = (name: keyof typeof COLUMNS) => (typeof members[name] === 'string' ? encode(members[name]) : null);
  return { threadId: id('threadId'), runId: id('runId'), scriptId: id('scriptId') };
}

function auditConditions(
  { principal, ...ids }: AuditFilter,
  isLongText: (column: string, parameter: string) => string,
): { sql: string; parameters: Record<string, Value> } {
  const parameters: Record<string, Value> = {};
  const conditions: string[] = [];
  // defence: shared-audit-of-the-principal
  if (principal !== undefined) {
    conditions.push(`AND ${isLongText('principal', ':principal')}`);
    parameters.principal = encode(principal);
  }
  for (const [name, id] of Object.entries(ids)) {
    if (id === undefined) continue;
    conditions.push(`AND ${COLUMNS[name as keyof typeof COLUMNS]} = :${name}`);
    parameters[name] = encode(id);
  }
  return { sql: conditions.join(' '), parameters };
}
