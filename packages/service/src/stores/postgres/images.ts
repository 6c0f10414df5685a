import { checkSha256, demandHash, packImage, unpackImage } from '@toolscript/core/internal';
import type { ImageStore } from '@toolscript/core/ports';
import type { PostgresDatabase } from './postgres-database.js';

/** Stores compressed images in a table. */
export class PostgresImages implements ImageStore {
  constructor(readonly database: PostgresDatabase) {}

  async has(sha256: string): Promise<boolean> {
    checkSha256(sha256);
    const sql = 'SELECT 1 AS one FROM images WHERE sha256 = :sha256';
    return (await this.database.use((connection) => connection.first(sql, { sha256 }))) !== undefined;
  }

  async put(sha256: string, bytes: Uint8Array): Promise<void> {
    demandHash(sha256, bytes);
    if ((await this.get(sha256)) !== undefined) return;
    const packed = await packImage(bytes);
    const sql = `INSERT INTO images VALUES (:sha256, :packed)
      ON CONFLICT (sha256) DO UPDATE SET packed = excluded.packed`;
    await this.database.use((connection) => connection.commit(sql, { sha256, packed }), { isRepeatable: true });
  }

  async get(sha256: string): Promise<Uint8Array | undefined> {
    checkSha256(sha256);
    const packed = await this.database.use((connection) =>
      connection.bytes('SELECT packed FROM images WHERE sha256 = :sha256', { sha256 }),
    );
    return packed && unpackImage(sha256, packed);
  }

  async list(): Promise<readonly string[]> {
    const rows = await this.database.use((connection) => connection.all('SELECT sha256 FROM images ORDER BY sha256'));
    return rows.map(({ sha256 }) => sha256 as string);
  }

  async delete(sha256: string): Promise<void> {
    checkSha256(sha256);
    const sql = 'DELETE FROM images WHERE sha256 = :sha256';
    await this.database.use((connection) => connection.commit(sql, { sha256 }), { isRepeatable: true });
  }
}
