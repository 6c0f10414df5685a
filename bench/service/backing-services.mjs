import { execFile, spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Maximum output of a query, in bytes. */
const MAX_OUTPUT = 64 << 20;

/** The reason why the servers cannot be started here; undefined if they can. */
export function missingServers() {
  const missing = ['redis-server', 'initdb', 'postgres', 'psql'].filter(
    (program) => spawnSync(program, ['--version']).status !== 0,
  );
  return missing.length === 0 ? undefined : `these programs are not on the PATH: ${missing.join(', ')}`;
}

/**
 * A PostgreSQL server and a Redis server for the benchmark alone, with their files in a temporary folder, so that their
 * counters count nothing else. They flush to disk as usual, and have their default settings otherwise.
 */
export class BackingServices {
  #folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-servers-'));
  #ports;
  #servers = [];

  static async start() {
    const services = new BackingServices();
    // Stops the servers after an unhandled error, and after Ctrl-C.
    process.once('exit', () => services.#kill());
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    services.#ports = [await freePort(), await freePort()];
    try {
      await services.#startPostgres();
      await services.#startRedis();
      return services;
    } catch (error) {
      await services.stop();
      throw error;
    }
  }

  /** The URL of a new, empty database. */
  async newDatabase(name) {
    await this.query('postgres', `CREATE DATABASE ${name}`);
    return `postgres://toolscript@127.0.0.1:${this.#ports[0]}/${name}`;
  }

  eventsUrl(prefix) {
    return `redis://127.0.0.1:${this.#ports[1]}?prefix=${prefix}`;
  }

  /** The rows, with their columns between `|`. */
  async query(database, sql) {
    const at = ['-h', '127.0.0.1', '-p', String(this.#ports[0]), '-U', 'toolscript', '-d', database];
    const { stdout } = await run('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...at, '-c', sql], {
      maxBuffer: MAX_OUTPUT,
    });
    return stdout.trim();
  }

  async redis(...words) {
    const { stdout } = await run('redis-cli', ['-p', String(this.#ports[1]), ...words], { maxBuffer: MAX_OUTPUT });
    return stdout.trim();
  }

  /** The work of the servers so far: for one database, and for all of Redis. */
  async counters(database) {
    const sql = `SELECT coalesce(sum(calls), 0), coalesce(sum(calls) FILTER (WHERE query ~ '^(INSERT|UPDATE|DELETE|WITH held AS \\(.*UPDATE)'), 0),
      coalesce(sum(calls) FILTER (WHERE query ~* '^COMMIT'), 0), coalesce(sum(wal_bytes), 0)
      FROM pg_stat_statements JOIN pg_database ON dbid = oid WHERE datname = '${database}'`;
    const [statements, writes, commits, walBytes] = (await this.query('postgres', sql)).split('|').map(Number);
    const stats = await this.redis('info', 'everything');
    const numberOf = (name) => Number(new RegExp(`^${name}(\\d+)`, 'mu').exec(stats)?.[1] ?? 0);
    return {
      statements,
      writes,
      commits,
      walBytes,
      redisBytes: numberOf('total_net_input_bytes:') + numberOf('total_net_output_bytes:'),
      // One script is one command of the log. Redis counts the commands inside it too.
      redisMs: Number(/^cmdstat_evalsha:calls=\d+,usec=(\d+)/mu.exec(stats)?.[1] ?? 0) / 1_000,
      redisCommands: numberOf('cmdstat_evalsha:calls=') + numberOf('cmdstat_xread:calls='),
    };
  }

  /** Open connections of Toolscript to the database, and to Redis by all databases. */
  async connections(database) {
    const sql = `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database}' AND application_name = 'toolscript'`;
    const clients = await this.redis('client', 'list');
    return {
      postgres: Number(await this.query('postgres', sql)),
      redis: clients.split('\n').filter((line) => line.includes('name=toolscript')).length,
    };
  }

  async stop() {
    await Promise.all(this.#servers.map(stopped));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #kill() {
    for (const server of this.#servers) server.kill('SIGINT');
  }

  async #startPostgres() {
    const data = join(this.#folder, 'postgres');
    const user = userOfServer();
    if (user.uid !== undefined) chownSync(this.#folder, user.uid, user.gid);
    await run('initdb', ['-D', data, '-U', 'toolscript', '-A', 'trust', '-N'], user);
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.#ports[0],
      unix_socket_directories: data,
      shared_preload_libraries: 'pg_stat_statements',
      'pg_stat_statements.max': 10_000,
      // Each process has up to 11, and the services of all columns are open together.
      max_connections: 300,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#servers.push(spawn('postgres', ['-D', data, ...options], { ...user, stdio: 'ignore' }));
    await this.#answering(() => this.query('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements'));
  }

  async #startRedis() {
    const options = ['--port', String(this.#ports[1]), '--bind', '127.0.0.1', '--dir', this.#folder];
    const safe = ['--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];
    this.#servers.push(spawn('redis-server', [...options, ...safe], { stdio: 'ignore' }));
    await this.#answering(() => this.redis('ping'));
  }

  async #answering(ask) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask();
      } catch (error) {
        if (attempt === 200 || this.#servers.at(-1).exitCode !== null) throw error;
      }
      await sleep(50);
    }
  }
}

/** PostgreSQL refuses to run as root, so root starts it as the user that the system has for it. */
function userOfServer() {
  if (process.getuid() !== 0) return {};
  const idOf = (option) => Number(spawnSync('id', [option, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function stopped(server) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  // PostgreSQL then ends its sessions itself.
  server.kill('SIGINT');
  await ended;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
