import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerRole } from '@toolscript/server';
import {
  canStartElsewhere,
  startServer,
  type ProcessPlace,
  type ServerProcess,
} from '../../crash/support/server-process.js';
import { OwnPostgres } from '../../../../service/test/stores/postgres/support/own-postgres.js';
import { OwnRedis } from '../../../../service/test/stores/redis/support/test-redis.js';
import type { TestClient } from '../../support/test-server.js';
import { newFolder } from '@toolscript/testkit/folder';

/** A process of the service, which is started again after it was killed. */
interface Member extends ProcessPlace {
  readonly name: string;
  readonly role: ServerRole;
  /** Default: `new`. */
  readonly release?: 'old' | 'new';
}

/** A line of the ledger: a process has claimed a run, or a tool has had an effect or undoes one. */
export type LedgerLine = { readonly at: number; readonly process: string } & (
  | { readonly claimed: string; readonly epoch: number }
  | { readonly tag: string; readonly key: string }
  | { readonly reverted: string; readonly key: string }
);

const MINUTE_MS = 60_000;

/** A wait that ends earlier on any machine, unless a law is broken, in ms. */
export const PATIENCE_MS = 10 * MINUTE_MS;

/** The number of runs at the same time. Each worker has room for all of them, because few open those of a killed one. */
export const OPEN_RUNS = 24;

/**
 * Two processes per role and one more worker. Two clocks are a minute wrong, and one worker is on a separate machine.
 * One worker is of the old release: it opens no run that another one has begun or claimed.
 */
function membersOf(isElsewhere: boolean): readonly Member[] {
  return [
    { name: 'api-1', role: 'api' },
    { name: 'api-2', role: 'api' },
    { name: 'worker-1', role: 'worker' },
    { name: 'worker-2', role: 'worker', clockMs: MINUTE_MS, release: 'old' },
    { name: 'worker-3', role: 'worker', isElsewhere },
    { name: 'persistence-1', role: 'persistence' },
    { name: 'persistence-2', role: 'persistence', clockMs: -MINUTE_MS },
  ];
}

/** The processes of a service, and its servers of PostgreSQL and Redis. */
export class Cluster {
  readonly folder = newFolder();
  readonly postgres: OwnPostgres;
  readonly redis: OwnRedis;
  readonly members: readonly Member[];
  readonly isElsewhere = canStartElsewhere();
  readonly #processes = new Map<string, ServerProcess>();
  /** Processes that ended without having been killed. */
  readonly crashes: string[] = [];
  readonly #logs: string[] = [];

  private constructor(postgres: OwnPostgres, redis: OwnRedis) {
    this.postgres = postgres;
    this.redis = redis;
    this.members = membersOf(this.isElsewhere);
  }

  static async start(): Promise<Cluster> {
    const redis = await OwnRedis.start('--appendonly', 'yes');
    const cluster = new Cluster(await OwnPostgres.start(), redis);
    await Promise.all(cluster.members.map(({ name }) => cluster.startMember(name)));
    return cluster;
  }

  /** A process that does not start, because a store is away, is started again, as by a supervisor. */
  async startMember(name: string): Promise<void> {
    while (!(await this.#start(name))) await delay(1_000);
  }

  async #start(name: string): Promise<boolean> {
    const { role, release = 'new', ...place } = this.members.find((member) => member.name === name)!;
    const stores = { store: this.postgres.url, events: this.redis.url() };
    const options = { name, release, roles: [role], workers: OPEN_RUNS, ...stores };
    const server = await startServer(this.folder, options, place);
    if (server.url === undefined) return false;
    this.#processes.set(name, server);
    void server.ended.then(() => {
      this.#logs.push(server.log());
      if (this.#processes.get(name) === server) this.crashes.push(`${name}: ${server.log().slice(-2_000)}`);
    });
    return true;
  }

  /** Kills a process, which cannot do anything before it ends. */
  async kill(name: string): Promise<void> {
    const { pid, ended } = this.#processes.get(name)!;
    this.#processes.delete(name);
    process.kill(pid, 'SIGKILL');
    await ended;
  }

  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#processes.get(name)!.pid, signal);
  }

  /** The clients of the API processes that run. */
  get apis(): readonly TestClient[] {
    return ['api-1', 'api-2'].flatMap((name) => this.#processes.get(name)?.client ?? []);
  }

  namesOf(role: ServerRole): readonly string[] {
    return this.members.filter((member) => member.role === role).map(({ name }) => name);
  }

  /** The processes that do not open the runs of the others. */
  get oldNames(): ReadonlySet<string> {
    return new Set(this.members.filter(({ release }) => release === 'old').map(({ name }) => name));
  }

  ledger(): readonly LedgerLine[] {
    const path = join(this.folder, 'ledger');
    if (!existsSync(path)) return [];
    return readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LedgerLine);
  }

  /** The faults in the logs of the processes with their numbers, the most frequent first. */
  faults(): Record<string, number> {
    const counts = new Map<string, number>();
    for (const log of [...this.#logs, ...[...this.#processes.values()].map((server) => server.log())])
      for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
        const { err, msg } = JSON.parse(line) as { err?: { message: string }; msg: string };
        const text = (err?.message ?? msg).replaceAll(/127\.0\.0\.1:\d+/gu, 'HOST').replaceAll(/run_\w+/gu, 'RUN');
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
    return Object.fromEntries([...counts].toSorted(([, left], [, right]) => right - left));
  }

  async stop(): Promise<void> {
    const running = [...this.#processes.entries()];
    for (const [name, server] of running) {
      this.#processes.delete(name);
      process.kill(server.pid, 'SIGTERM');
    }
    await Promise.all(running.map(([, { ended }]) => ended));
  }
}
