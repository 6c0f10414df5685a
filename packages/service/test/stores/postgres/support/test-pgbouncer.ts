import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { describe } from 'vitest';
import { freePort } from '@toolscript/testkit/free-port';
import { administrator, changedUrl, describeWithPostgres, newSchemaUrl, newUser, schemaOf } from './test-postgres.js';

const hasProgram = spawnSync('pgbouncer', ['--version']).status === 0;
if (!hasProgram) console.warn('Skipped: the program pgbouncer is not installed. Install PgBouncer.');

export function describeWithPgBouncer(name: string, laws: () => void): void {
  describe.skipIf(!hasProgram)(name, () => describeWithPostgres('before PostgreSQL', laws));
}

/** PgBouncer in transaction mode, with fewer connections than one process of a service uses. */
export class OwnPgBouncer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pooler-'));
  readonly #process: ChildProcess;

  private constructor(readonly port: number) {
    const { host, port: target } = administrator;
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      auth_type: 'trust',
      auth_file: join(this.#folder, 'users'),
      auth_query: "SELECT usename, ''::text FROM pg_user WHERE usename = $1",
      pool_mode: 'transaction',
      default_pool_size: 4,
      server_idle_timeout: 1,
      max_client_conn: 1000,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const { user } = administrator;
    const databases = `[databases]\n* = host=${host} port=${target} auth_user=${user}\n`;
    writeFileSync(join(this.#folder, 'settings.ini'), `${databases}[pgbouncer]\n${lines.join('\n')}\n`);
    writeFileSync(join(this.#folder, 'users'), `"${user}" ""\n`);
    // It refuses to run as root.
    const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
    chmodSync(this.#folder, 0o755);
    this.#process = spawn('pgbouncer', [...account, join(this.#folder, 'settings.ini')], { stdio: 'ignore' });
  }

  static async start(): Promise<OwnPgBouncer> {
    const pooler = new OwnPgBouncer(await freePort());
    while (!(await pooler.#isAnswering())) {
      if (pooler.#process.exitCode !== null) throw new Error('pgbouncer did not start');
      await delay(20);
    }
    return pooler;
  }

  /** The URL of a new schema. It belongs to the user's search_path, because the pooler refuses the option in a URL. */
  async newUrl(): Promise<string> {
    const direct = await newSchemaUrl();
    const schema = schemaOf(direct);
    const { name } = await newUser(direct);
    await administrator.query(
      `ALTER ROLE ${name} SET search_path = ${schema}; ALTER SCHEMA ${schema} OWNER TO ${name}`,
    );
    return changedUrl(direct, (url) => {
      url.search = '';
      Object.assign(url, { username: name, password: '', hostname: '127.0.0.1', port: String(this.port) });
    });
  }

  async end(): Promise<void> {
    if (this.#process.exitCode === null) {
      const exited = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGINT');
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #isAnswering(): Promise<boolean> {
    const { user, database } = administrator;
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: user!, database: database! });
    client.on('error', () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}
