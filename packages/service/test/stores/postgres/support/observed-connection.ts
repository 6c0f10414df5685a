import pg from 'pg';
import { onTestFinished } from 'vitest';
import { PostgresConnection } from '#service/stores/postgres/connection.js';

export type Statement = string | pg.QueryConfig;

/** A connection whose statements are reported, before each is sent. */
export async function observedConnection(
  url: string,
  onStatement: (statement: Statement, client: pg.PoolClient) => Promise<void> | void,
): Promise<PostgresConnection> {
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  const pool = new pg.Pool({ connectionString: url, types });
  const client = await pool.connect();
  onTestFinished(async () => {
    client.release();
    await pool.end();
  });
  const observed = new Proxy(client, {
    get: (target, name) => {
      if (name !== 'query') return Reflect.get(target, name) as unknown;
      return async (statement: Statement) => {
        await onStatement(statement, target);
        return target.query(statement as string);
      };
    },
  });
  return new PostgresConnection(observed);
}
