import { ApiKeySchema, type ApiKey, type ApiKeyStore } from '../ports/api-key-store.js';
import type { Row } from '../tables/database.js';
import type { PostgresDatabase } from './postgres-database.js';

/** Stores API keys for all servers that share a database. */
export class PostgresKeys implements ApiKeyStore {
  constructor(readonly database: PostgresDatabase) {}

  async add(key: ApiKey): Promise<void> {
    const { keyId, createdAt } = key;
    const row = { keyId, createdAt, key: JSON.stringify(key) };
    const sql = `INSERT INTO api_keys VALUES (:keyId, :createdAt, :key) ON CONFLICT (key_id) DO NOTHING`;
    await this.database.use((connection) => connection.commit(sql, row), { isRepeatable: true });
  }

  async get(keyId: string): Promise<ApiKey | undefined> {
    const sql = 'SELECT key FROM api_keys WHERE key_id = :keyId';
    const row = await this.database.use((connection) => connection.first(sql, { keyId: keyId.replaceAll('\0', '') }));
    const key = row && keyIn(row);
    return key?.keyId === keyId ? key : undefined;
  }

  async list(): Promise<readonly ApiKey[]> {
    const sql = 'SELECT key FROM api_keys ORDER BY created_at, key_id';
    const rows = await this.database.use((connection) => connection.all(sql));
    return rows.map(keyIn).filter((key) => key !== undefined);
  }

  async delete(keyId: string): Promise<boolean> {
    const sql = 'DELETE FROM api_keys WHERE key_id = :keyId';
    const row = { keyId: keyId.replaceAll('\0', '') };
    return (await this.database.use((connection) => connection.commit(sql, row))) > 0;
  }
}

/** The key in a row. Returns undefined for an invalid row, such as a row that another program has written. */
function keyIn({ key }: Row): ApiKey | undefined {
  try {
    return ApiKeySchema.safeParse(JSON.parse(key as string)).data;
  } catch {
    return undefined;
  }
}
