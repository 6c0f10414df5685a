import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe } from 'vitest';

const VARIABLE = 'TOOLSCRIPT_TEST_POSTGRES';

/** The database of the tests; each test has a separate schema there. */
const URL_OF_TESTS =
  process.env[VARIABLE] ?? `postgres://${process.env.PGUSER ?? process.env.USER ?? 'root'}@127.0.0.1:5432/test`;

/** For all test files of this process. */
const client = new pg.Client(URL_OF_TESTS);
const missing = await client.connect().then(
  () => undefined,
  (error: Error) => error.message || String(error),
);

// An explicitly requested test fails without its server.
const isDemanded = Boolean(process.env.CI) && process.env[VARIABLE] !== undefined;
if (missing !== undefined && !isDemanded)
  console.warn(
    `Skipped: no PostgreSQL answers (${missing}). Name one: ${VARIABLE}=postgres://USER:PASSWORD@HOST/DATABASE`,
  );

export function describeWithPostgres(name: string, laws: () => void): void {
  describe.skipIf(missing !== undefined && !isDemanded)(name, () => {
    afterAll(dropCreated);
    laws();
  });
}

const schemas: string[] = [];
const users: string[] = [];

async function dropCreated(): Promise<void> {
  for (const schema of schemas.splice(0)) await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  for (const user of users.splice(0)) await client.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
}

/** The URL of a new, empty schema. Its name is also the name of the connections. */
export async function newSchemaUrl(): Promise<string> {
  if (missing !== undefined) throw new Error(`No PostgreSQL answers at ${VARIABLE}: ${missing}`);
  const schema = `t_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  await client.query(`CREATE SCHEMA "${schema}"`);
  schemas.push(schema);
  return changedUrl(URL_OF_TESTS, (made) => {
    made.searchParams.set('options', `-c search_path=${schema}`);
    made.searchParams.set('application_name', schema);
  });
}

/** The administrator's connection, in no schema of a test. */
export const administrator = client;

export function schemaOf(url: string): string {
  return /search_path=(\w+)/u.exec(new URL(url).searchParams.get('options') ?? '')![1]!;
}

/** A user without rights, and its URL of the same schema. */
export async function newUser(url: string): Promise<{ name: string; url: string }> {
  const name = `u_${randomUUID().slice(0, 8)}`;
  await client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'guest'`);
  users.push(name);
  const made = changedUrl(url, (guest) => Object.assign(guest, { username: name, password: 'guest' }));
  return { name, url: made };
}

export function changedUrl(url: string, change: (made: URL) => unknown): string {
  const made = new URL(url);
  change(made);
  return made.href;
}
