import { StoreUnavailableError } from '@toolscript/core/protocol';
import type { PostgresConnection } from './connection.js';
import type { Place } from './faults.js';
import { MIGRATIONS } from './migrations.js';

/** SQLSTATE codes of a user who may not create or change tables. */
const DENIED = new Set(['42501', '25006']);

/** A table, type or sequence of that name exists already. */
const EXISTS = new Set(['42P07', '42710', '23505']);

/**
 * Brings the schema to this version. Processes that start at once wait for each other. A current schema needs no right
 * to create tables.
 */
export async function migrate(connection: PostgresConnection, place: Place): Promise<void> {
  refuseNewer(await versionOf(connection), place);
  if ((await versionOf(connection)) === MIGRATIONS.length) return;
  await connection.write(async () => {
    await connection.lock('migration');
    const version = await versionOf(connection);
    refuseNewer(version, place);
    try {
      await migrateFrom(connection, version);
    } catch (error) {
      throw migrationFault(error, version, place);
    }
  });
}

async function migrateFrom(connection: PostgresConnection, version: number): Promise<void> {
  if (version === 0) await connection.script('CREATE TABLE toolscript_schema (version BIGINT NOT NULL)');
  for (const step of MIGRATIONS.slice(version)) await connection.script(step);
  await connection.run('DELETE FROM toolscript_schema');
  await connection.insert('toolscript_schema', [[MIGRATIONS.length]]);
}

/** 0 if there are no tables. */
async function versionOf(connection: PostgresConnection): Promise<number> {
  const found = await connection.first(`SELECT to_regclass('toolscript_schema')::text AS name`);
  if (found!.name === null) return 0;
  return (await connection.first('SELECT max(version) AS version FROM toolscript_schema'))!.version as number;
}

function refuseNewer(version: number, { name }: Place): void {
  // defence: newer-schemas-are-refused, without it: return;
  if (version <= MIGRATIONS.length) return;
  throw new StoreUnavailableError(
    `${name} was written by a newer version of Toolscript (its schema is ${version}, this version supports ${MIGRATIONS.length}). Install that version, or name another database.`,
  );
}

function migrationFault(error: unknown, version: number, { name, user }: Place): unknown {
  const { code = '', message } = error as { code?: string; message: string };
  if (EXISTS.has(code))
    return new StoreUnavailableError(
      `${name} has tables of another program (${message}). Name another database, or another schema in the search_path.`,
      { cause: error },
    );
  if (!DENIED.has(code)) return error;
  const needed = version === 0 ? 'has no tables of Toolscript yet' : `has the schema ${version} of an older version`;
  return new StoreUnavailableError(
    `${name} ${needed}, and the user ${JSON.stringify(user)} may not create them (${message}). Start once as the owner of the schema, or: GRANT CREATE ON SCHEMA … TO …`,
    { cause: error },
  );
}
