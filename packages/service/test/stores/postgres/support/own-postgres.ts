import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { describe, onTestFinished } from 'vitest';
import { freePort } from '@toolscript/testkit/free-port';
import { newFolder } from '@toolscript/testkit/folder';

const programs = programFolder();
/** PostgreSQL refuses to run as root. */
const userId = process.getuid?.() === 0 ? idOf('postgres') : undefined;
const canRun = programs !== undefined && (process.getuid?.() !== 0 || userId !== undefined);
if (!canRun) console.warn('Skipped: the programs of PostgreSQL are not installed, or there is no user for them.');

export function describeWithOwnPostgres(name: string, laws: () => void): void {
  describe.skipIf(!canRun)(name, laws);
}

/** A server of this test alone, with its files in a folder. It trusts everyone. */
export class OwnPostgres {
  readonly port: number;
  readonly #folder: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string, settings: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#settings = settings;
  }

  /** `folder`: an empty one for its files. Default: a new one. */
  static async start({ folder = newFolder(), settings = [] as readonly string[] } = {}): Promise<OwnPostgres> {
    const postgres = new OwnPostgres(await freePort(), folder, settings);
    if (userId !== undefined) chownSync(folder, userId.user, userId.group);
    const made = spawnSync(
      join(programs!, 'initdb'),
      ['--pgdata', join(folder, 'data'), '--auth', 'trust', '--username', 'postgres', '--no-sync'],
      { ...asUser(), encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    onTestFinished(() => postgres.stop('SIGQUIT'));
    await postgres.start();
    return postgres;
  }

  /** A new folder inside another one, which the server may use. */
  static folderIn(folder: string, name: string): string {
    const made = join(folder, name);
    mkdirSync(made);
    if (userId !== undefined) {
      chmodSync(folder, 0o777);
      chownSync(made, userId.user, userId.group);
    }
    return made;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async start(): Promise<void> {
    const place = ['-D', join(this.#folder, 'data'), '-p', String(this.port)];
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...this.#settings];
    const options = settings.flatMap((setting) => ['-c', setting]);
    this.#process = spawn(join(programs!, 'postgres'), [...place, ...options], { ...asUser(), stdio: 'ignore' });
    while (!(await this.#isAnswering())) {
      if (this.#process.exitCode !== null) throw new Error('postgres did not start');
      await delay(50);
    }
  }

  /** `SIGQUIT`: as in a crash, without a chance to save. `SIGINT`: connections end, and everything is saved. */
  async stop(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const exited = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill(signal);
    await exited;
  }

  /** The rows of a statement of an administrator. */
  async query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, application_name: 'administrator' });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  #isAnswering(): Promise<boolean> {
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

function asUser(): { uid?: number; gid?: number } {
  return userId === undefined ? {} : { uid: userId.user, gid: userId.group };
}

/** The folder of the newest version's programs. */
function programFolder(): string | undefined {
  const found = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const packaged = '/usr/lib/postgresql';
  const versions = existsSync(packaged) ? readdirSync(packaged).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(packaged, version, 'bin')), ...(found ? [found] : [])];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

function idOf(name: string): { user: number; group: number } | undefined {
  const ask = (option: string) => spawnSync('id', [option, name], { encoding: 'utf8' });
  const [user, group] = [ask('-u'), ask('-g')];
  return user.status === 0 ? { user: Number(user.stdout), group: Number(group.stdout) } : undefined;
}
