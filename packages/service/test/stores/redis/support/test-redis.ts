import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { afterAll, describe, onTestFinished } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';
import { freePort } from '@toolscript/testkit/free-port';

const VARIABLE = 'TOOLSCRIPT_TEST_REDIS';

/** The server of the tests; each test has a separate prefix there. */
const URL_OF_TESTS = process.env[VARIABLE] ?? 'redis://127.0.0.1:6379';

/** For all test files of this process. */
const client = createClient({ url: URL_OF_TESTS, socket: { reconnectStrategy: false } });
client.on('error', () => {});
const missing = await client.connect().then(
  () => undefined,
  (error: Error) => error.message || String(error),
);

// An explicitly requested test fails without its server.
const isDemanded = Boolean(process.env.CI) && process.env[VARIABLE] !== undefined;
if (missing !== undefined && !isDemanded)
  console.warn(`Skipped: no Redis answers (${missing}). Name one: ${VARIABLE}=redis://HOST:PORT`);

export function describeWithRedis(name: string, laws: () => void): void {
  describe.skipIf(missing !== undefined && !isDemanded)(name, () => {
    afterAll(deleteKeys);
    laws();
  });
}

const hasProgram = spawnSync('redis-server', ['--version']).status === 0;
if (!hasProgram && !isDemanded) console.warn('Skipped: the program redis-server is not installed. Install Redis 7.');

export function describeWithOwnRedis(name: string, laws: () => void): void {
  describe.skipIf(!hasProgram && !isDemanded)(name, laws);
}

const prefixes: string[] = [];

async function deleteKeys(): Promise<void> {
  for (const prefix of prefixes.splice(0)) {
    const keys = await client.keys(`{${prefix}}:*`);
    if (keys.length > 0) await client.del(keys);
  }
}

/** The URL of an empty log. */
export function newRedisUrl(): string {
  if (missing !== undefined) throw new Error(`No Redis answers at ${VARIABLE}: ${missing}`);
  const prefix = `t_${randomUUID().slice(0, 8)}`;
  prefixes.push(prefix);
  const url = new URL(URL_OF_TESTS);
  url.searchParams.set('prefix', prefix);
  return url.href;
}

/** A server of this test alone, with its files in a folder. */
export class OwnRedis {
  readonly port: number;
  readonly #settings: readonly string[];
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, settings: readonly string[]) {
    this.port = port;
    this.#settings = settings;
    this.#folder = newFolder();
  }

  static async start(...settings: string[]): Promise<OwnRedis> {
    const redis = new OwnRedis(await freePort(), settings);
    onTestFinished(() => redis.kill());
    await redis.start();
    return redis;
  }

  /** A server with a copy of the files of another one, which was killed. */
  static async startFrom(other: OwnRedis, ...settings: string[]): Promise<OwnRedis> {
    const redis = new OwnRedis(await freePort(), settings);
    cpSync(other.#folder, redis.#folder, { recursive: true });
    onTestFinished(() => redis.kill());
    await redis.start();
    return redis;
  }

  url(user = ''): string {
    return `redis://${user}127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const place = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder, '--save', ''];
    this.#process = spawn('redis-server', [...place, ...this.#settings], { stdio: 'ignore' });
    while (!this.#isAnswering()) {
      if (this.#process.exitCode !== null) throw new Error('redis-server did not start');
      await delay(20);
    }
  }

  /** Ends it without a chance to save. */
  async kill(): Promise<void> {
    const ended = this.#process;
    this.#process = undefined;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const exited = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill('SIGKILL');
    await exited;
  }

  command(...words: string[]): string {
    return spawnSync('redis-cli', ['-p', String(this.port), ...words], { encoding: 'utf8' }).stdout.trim();
  }

  #isAnswering(): boolean {
    return /PONG|NOAUTH/u.test(this.command('ping'));
  }
}
