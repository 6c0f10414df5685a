import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openStores } from '#service/stores/index.js';
import { PostgresConnection } from '#service/stores/postgres/connection.js';
import { migrate } from '#service/stores/postgres/migrate.js';
import { POSTGRES_MIGRATIONS } from '#service/stores/postgres/migrations.js';
import {
  administrator,
  changedUrl,
  describeWithPostgres,
  newSchemaUrl,
  newUser,
  schemaOf,
} from './support/test-postgres.js';

const OPENER = fileURLToPath(new URL('support/open-stores.mjs', import.meta.url));

async function versionsIn(url: string): Promise<unknown[]> {
  return (await administrator.query(`SELECT version::int FROM ${schemaOf(url)}.toolscript_schema`)).rows;
}

async function refusalOf(url: string): Promise<string> {
  const error: unknown = await openStores(url).then(
    (stores) => stores.close().then(() => new Error('it opened')),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return (error as Error).message;
}

describeWithPostgres('the schema', () => {
  it('processes that start at once create it together', async () => {
    const url = await newSchemaUrl();
    const children = [1, 2, 3, 4].map(() => fork(OPENER, [url]));
    const exits = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as number));
    expect(exits).toEqual([0, 0, 0, 0]);
    expect(await versionsIn(url)).toEqual([{ version: POSTGRES_MIGRATIONS.length }]);
  });

  it('of a newer version is refused in one sentence and unchanged', async () => {
    const url = await newSchemaUrl();
    await (await openStores(url)).close();
    await administrator.query(
      `UPDATE ${schemaOf(url)}.toolscript_schema SET version = ${POSTGRES_MIGRATIONS.length + 1}`,
    );
    expect(await refusalOf(url)).toMatch(
      new RegExp(
        `newer version of Toolscript .*schema is ${POSTGRES_MIGRATIONS.length + 1}, this version supports`,
        'u',
      ),
    );
    expect(await versionsIn(url)).toEqual([{ version: POSTGRES_MIGRATIONS.length + 1 }]);
  });

  it('with tables of another program is refused and unchanged', async () => {
    const url = await newSchemaUrl();
    await administrator.query(`CREATE TABLE ${schemaOf(url)}.runs (meters BIGINT)`);
    expect(await refusalOf(url)).toMatch(/has tables of another program .*Name another database/u);
    const { rows } = await administrator.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [
      schemaOf(url),
    ]);
    expect(rows).toEqual([{ tablename: 'runs' }]);
  });

  it('of a server that accepts no writes is refused with that cause, not with a permission to grant', async () => {
    const url = await newSchemaUrl();
    const { name, url: guest } = await newUser(url);
    await administrator.query(`GRANT ALL ON SCHEMA ${schemaOf(url)} TO ${name}`);
    await administrator.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`);
    expect(await refusalOf(guest)).toMatch(/accepts no writes: .*Use the URL of the primary/u);
  });

  it('that a user may not create is refused in one sentence; the tables of its owner can be used', async () => {
    const url = await newSchemaUrl();
    const schema = schemaOf(url);
    const { name, url: guest } = await newUser(url);
    await administrator.query(`GRANT USAGE ON SCHEMA ${schema} TO ${name}`);
    expect(await refusalOf(guest)).toMatch(
      /no tables of Toolscript yet, and the user "\w+" may not create or change them/u,
    );
    await (await openStores(url)).close();
    expect(await refusalOf(guest)).toMatch(
      /denies the user "\w+" a permission \(permission denied .*Grant the permission/u,
    );
    await administrator.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${name}`);
    await administrator.query(`GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${name}`);
    const stores = await openStores(guest);
    expect((await stores.threads.create({ principal: 'ada' })).principal).toBe('ada');
    await stores.close();
  });

  it('of an older version is migrated with its data, by its owner only', async () => {
    const url = await newSchemaUrl();
    const stores = await openStores(url);
    const { threadId } = await stores.threads.create({ principal: 'ada' });
    await stores.close();
    const { name, url: guest } = await newUser(url);
    await administrator.query(`GRANT USAGE ON SCHEMA ${schemaOf(url)} TO ${name}`);
    await administrator.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${schemaOf(url)} TO ${name}`);
    const later = [...POSTGRES_MIGRATIONS, "ALTER TABLE threads ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"];
    const refusal = `has tables of an older version of Toolscript (version ${POSTGRES_MIGRATIONS.length}), and the user "${name}" may not create or change them`;
    await expect(migrateAs(guest, later)).rejects.toThrow(refusal);
    expect(await versionsIn(url)).toEqual([{ version: POSTGRES_MIGRATIONS.length }]);
    await migrateAs(url, later);
    expect(await versionsIn(url)).toEqual([{ version: later.length }]);
    const { rows } = await administrator.query(`SELECT thread_id, colour FROM ${schemaOf(url)}.threads`);
    expect(rows).toEqual([{ thread_id: threadId, colour: 'red' }]);
  });
});

describeWithPostgres('a server that cannot be used is named in one sentence', () => {
  it('a port where nothing listens', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    listener.close();
    expect(await refusalOf(`postgres://ada:secret@127.0.0.1:${port}/test`)).toBe(
      `No PostgreSQL server answers at 127.0.0.1:${port}/test. Start the server, or correct the host and the port of the URL.`,
    );
  });

  it('a missing database', async () => {
    const url = changedUrl(await newSchemaUrl(), (made) => (made.pathname = '/no_such_database'));
    expect(await refusalOf(url)).toMatch(/^PostgreSQL has no database .*no_such_database. Create it: createdb/u);
  });

  it('a wrong password, which no message contains', async () => {
    const port = await passwordServer();
    const message = await refusalOf(`postgres://ada:secret@127.0.0.1:${port}/test`);
    expect(message).toMatch(/refused the user "ada". Correct the user and the password/u);
    expect(message).not.toContain('secret');
  });

  it('a server without a free connection, unless the process has one: then its calls wait', async () => {
    const url = await newSchemaUrl();
    await (await openStores(url)).close();
    const { name, url: guest } = await newUser(url);
    await administrator.query(`GRANT USAGE ON SCHEMA ${schemaOf(url)} TO ${name}`);
    await administrator.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${schemaOf(url)} TO ${name}`);
    await administrator.query(`ALTER ROLE ${name} CONNECTION LIMIT 1`);
    const stores = await openStores(guest);
    const found = await Promise.all(Array.from({ length: 30 }, () => stores.runs.get('run_none')));
    expect(found).toEqual(Array.from({ length: 30 }, () => undefined));
    expect(await refusalOf(guest)).toMatch(/has no free connection. Raise its max_connections/u);
    await stores.close();
  });

  it('a schema that does not exist', async () => {
    const url = changedUrl(await newSchemaUrl(), (made) => made.searchParams.set('options', '-c search_path=nowhere'));
    expect(await refusalOf(url)).toMatch(/has no schema in the search_path of its user/u);
  });

  it('a malformed URL', async () => {
    const refused = expect(openStores('postgres://ada:secret@h:port/x')).rejects;
    await refused.toThrow(ToolscriptUsageError);
    await expect(openStores('postgres://ada:secret@h:port/x')).rejects.toThrow(/is malformed(?!.*secret)/u);
  });
});

async function migrateAs(url: string, steps: readonly string[]): Promise<void> {
  const pool = new pg.Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  const user = new URL(url).username;
  try {
    await migrate(new PostgresConnection(client), { name: 'the database', user, database: 'test' }, steps);
  } finally {
    client.release();
  }
}

/** A server that refuses every password, as PostgreSQL does. The server of the tests may trust everyone. */
async function passwordServer(): Promise<number> {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const refusal = 'SFATAL\0C28P01\0Mpassword authentication failed for user "ada"\0\0';
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(message('R', Buffer.from([0, 0, 0, 3])));
      socket.once('data', () => socket.end(message('E', Buffer.from(refusal))));
    });
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
