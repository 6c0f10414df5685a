import { StoreUnavailableError } from '@toolscript/core/ports';
import type { PostgresConnection } from './connection.js';
import type { Place } from './faults.js';
import { POSTGRES_MIGRATIONS } from './migrations.js';

/** The SQLSTATE code for a user who may not create or change tables. */
const DENIED = '42501';

/** SQLSTATE codes for a table, type or sequence that exists already. */
const EXISTS = new Set(['42P07', '42710', '23505']);

/**
 * Brings the schema to this version. Processes that start at the same time wait for each other. If the schema is
 * current, the user needs no permission to create tables. Tests pass `steps` of a later version.
 */
export async function migrate(
  connection: PostgresConnection,
  place: Place,
  steps: readonly string[] = POSTGRES_MIGRATIONS,
): Promise<void> {
  const found = await schemaVersion(connection);
  refuseNewer(found, steps.length, place);
  if (found === steps.length) return;
  await connection.write(async () => {
    await connection.lock('migration');
    const version = await schemaVersion(connection);
    refuseNewer(version, steps.length, place);
    try {
      await migrateFrom(connection, version, steps);
    } catch (error) {
      throw migrationFault(error, version, place);
    }
  });
}

async function migrateFrom(connection: PostgresConnection, version: number, steps: readonly string[]): Promise<void> {
  if (version === 0) await connection.script('CREATE TABLE toolscript_schema (version BIGINT NOT NULL)');
  for (const step of steps.slice(version)) await connection.script(step);
  await connection.run('DELETE FROM toolscript_schema');
  await connection.insert('toolscript_schema', [[steps.length]]);
}

/**
 * The version of the schema; 0 if Toolscript has no tables. `to_regclass` would miss a table that another process has
 * just created.
 */
async function schemaVersion(connection: PostgresConnection): Promise<number> {
  const sql = `SELECT 1 AS one FROM pg_class
    WHERE relname = 'toolscript_schema' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())`;
  if ((await connection.first(sql)) === undefined) return 0;
  return (await connection.first('SELECT max(version) AS version FROM toolscript_schema'))!.version as number;
}

function refuseNewer(version: number, supported: number, { name }: Place): void {
  // defence: newer-schemas-are-refused
  if (version <= supported) return;
  throw new StoreUnavailableError(
    `${name} was written by a newer version of Toolscript (its schema is ${version}, this version supports ${supported}). Install that version, or name another database.`,
  );
}

function migrationFault(error: unknown, version: number, { name, user }: Place): unknown {
  const { code = '', message } = error as { code?: string | undefined; message: string };
  if (EXISTS.has(code))
    return new StoreUnavailableError(
      `${name} has tables of another program (${message}). Name another database, or another schema in the search_path.`,
      { cause: error },
    );
  if (code !== DENIED) return error;
  const needed =
    version === 0
      ? 'has no tables of Toolscript yet'
      : `has tables of an older version of Toolscript (version ${version})`;
  return new StoreUnavailableError(
    `${name} ${needed}, and the user ${JSON.stringify(user)} may not create or change them (${message}). Start Toolscript once as the owner of the schema, or run: GRANT CREATE ON SCHEMA … TO …`,
    { cause: error },
  );
}
