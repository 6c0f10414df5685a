import { setTimeout as delay } from 'node:timers/promises';
import { LEASE_MS } from '@toolscript/service';
import { PATIENCE_MS, type Cluster } from './cluster.js';

/** The interval at which workers look for lost runs, and the time of a claim, in ms. */
const CLAIM_MS = 2_000;

/** From the end of a worker to the claim of its run by another one. */
export interface Recovery {
  readonly runId: string;
  readonly ms: number;
  /** True if the other worker could see that the process was dead. Otherwise, it waited for the end of the lease. */
  readonly isKnownDead: boolean;
}

export interface FaultReport {
  readonly fault: FaultName;
  /** Since the start of the campaign, in s. */
  readonly atSeconds: number;
  readonly about: string;
}

export type FaultName = string;

interface Chaos {
  readonly cluster: Cluster;
  readonly chance: () => number;
  readonly recoveries: Recovery[];
  readonly problems: string[];
  /** True: clients submit runs, so that each worker soon holds one. */
  readonly isLoaded: () => boolean;
  /** Called with the runs whose last events may be lost: a client may have seen events that the thread will not have. */
  readonly onLostTail: (runIds: readonly string[]) => void;
}

/** Longer than every time for which a request, a claim or a write of an event is tried again, in ms. */
const LONG_OUTAGE_MS = 75_000;

type Fault = (chaos: Chaos) => Promise<string>;

/** Each fault with its repair. It returns what it has hit. */
const SINGLE = {
  'kill-api': (chaos: Chaos) => killOne(chaos, 'api'),
  'kill-persistence': (chaos: Chaos) => killOne(chaos, 'persistence'),
  'kill-worker': (chaos: Chaos) => killWorker(chaos, ['worker-1', 'worker-2']),
  'kill-worker-elsewhere': (chaos: Chaos) => killWorker(chaos, ['worker-3']),
  'pause-worker': pauseWorker,
  'redis-stop': async ({ cluster: { redis } }: Chaos) => {
    await redis.kill();
    await delay(10_000);
    await redis.start();
    return 'for 10 s';
  },
  'redis-restart': async ({ cluster: { redis } }: Chaos) => {
    await redis.kill();
    await redis.start();
    return 'at once';
  },
  'redis-flush': flushRedis,
  'redis-full': async ({ cluster: { redis } }: Chaos) => {
    redis.command('config', 'set', 'maxmemory', '1mb');
    await delay(4_000);
    redis.command('config', 'set', 'maxmemory', '0');
    return 'for 4 s';
  },
  'postgres-crash': async ({ cluster: { postgres } }: Chaos) => {
    await postgres.stop('SIGQUIT');
    await postgres.start();
    return 'at once';
  },
  'postgres-stop': async ({ cluster: { postgres } }: Chaos) => {
    await postgres.stop('SIGINT');
    await delay(5_000);
    await postgres.start();
    return 'for 5 s';
  },
  'postgres-drop': dropConnections,
  'redis-long-stop': async ({ cluster: { redis } }: Chaos) => {
    await redis.kill();
    await delay(LONG_OUTAGE_MS);
    await redis.start();
    return `for ${LONG_OUTAGE_MS / 1_000} s`;
  },
  'postgres-long-stop': async ({ cluster: { postgres } }: Chaos) => {
    await postgres.stop('SIGINT');
    await delay(LONG_OUTAGE_MS);
    await postgres.start();
    return `for ${LONG_OUTAGE_MS / 1_000} s`;
  },
  'kill-worker-while-persistence-is-late': (chaos: Chaos) =>
    withLatePersistence(chaos, () => killWorker(chaos, ['worker-1', 'worker-2'])),
  'kill-worker-and-flush-redis': (chaos: Chaos) =>
    withLatePersistence(chaos, async () => {
      const { cluster } = chaos;
      let keys = '';
      const about = await killWorker(chaos, ['worker-1', 'worker-2'], async (name) => {
        chaos.onLostTail([...(await heldBy(cluster, name)).keys()]);
        keys = cluster.redis.command('dbsize');
        cluster.redis.command('flushall');
      });
      await untilStored(chaos);
      return `${about}, ${keys} keys`;
    }),
} as const satisfies Record<string, Fault>;

/** Faults that begin at once. */
const PAIRS = [
  ['kill-worker', 'postgres-crash'],
  ['kill-worker', 'redis-restart'],
  ['kill-worker', 'kill-persistence'],
  ['kill-worker-elsewhere', 'kill-api'],
  ['redis-restart', 'postgres-crash'],
  ['redis-full', 'postgres-drop'],
  ['kill-persistence', 'postgres-stop'],
] as const satisfies readonly (readonly [keyof typeof SINGLE, keyof typeof SINGLE])[];

const FAULTS: Readonly<Record<string, Fault>> = {
  ...SINGLE,
  ...Object.fromEntries(PAIRS.map((pair) => [pair.join(' + '), (chaos: Chaos) => injectBoth(pair, chaos)])),
};

export const FAULT_NAMES = Object.keys(FAULTS);

export function inject(fault: FaultName, chaos: Chaos): Promise<string> {
  return FAULTS[fault]!(chaos);
}

/** The times of claims are left out, because a store may be away, too. */
async function injectBoth(pair: readonly (keyof typeof SINGLE)[], chaos: Chaos): Promise<string> {
  const abouts = await Promise.all(pair.map((fault) => SINGLE[fault]({ ...chaos, recoveries: [] })));
  return abouts.join('; ');
}

/** Both persistence workers stand still, so the thread store has no new events but those that workers store themselves. */
async function withLatePersistence({ cluster }: Chaos, act: () => Promise<string>): Promise<string> {
  const names = cluster.namesOf('persistence');
  for (const name of names) cluster.signal(name, 'SIGSTOP');
  try {
    return await act();
  } finally {
    for (const name of names) cluster.signal(name, 'SIGCONT');
  }
}

async function killOne({ cluster, chance }: Chaos, role: 'api' | 'persistence'): Promise<string> {
  const names = cluster.namesOf(role);
  const name = names[Math.floor(chance() * names.length)]!;
  await cluster.kill(name);
  await delay(1_000 * chance());
  await cluster.startMember(name);
  return name;
}

/** The worker starts again after others have claimed its runs. */
async function killWorker(
  chaos: Chaos,
  names: readonly string[],
  beforeItsEnd: (name: string) => Promise<void> = async () => {},
): Promise<string> {
  const { cluster, recoveries } = chaos;
  const name = await pausedOne(chaos, names);
  await beforeItsEnd(name);
  await cluster.kill(name);
  const killedAt = performance.timeOrigin + performance.now();
  const held = await heldBy(cluster, name);
  const isKnownDead = cluster.members.find((member) => member.name === name)!.isElsewhere !== true;
  for (const { runId, at } of await claimsAfter(chaos, held))
    recoveries.push({ runId, ms: at - killedAt, isKnownDead });
  await cluster.startMember(name);
  return `${name} with ${held.size} runs`;
}

/** Pauses and returns the first of these workers that holds a run; any, if there are no runs to submit. */
async function pausedOne({ cluster, chance, isLoaded }: Chaos, names: readonly string[]): Promise<string> {
  const first = Math.floor(chance() * names.length);
  const inOrder = [...names.slice(first), ...names.slice(0, first)];
  while (isLoaded()) {
    for (const name of inOrder) {
      if ((await heldBy(cluster, name)).size === 0) continue;
      cluster.signal(name, 'SIGSTOP');
      if ((await heldBy(cluster, name)).size > 0) return name;
      cluster.signal(name, 'SIGCONT');
    }
    await delay(100);
  }
  cluster.signal(inOrder[0]!, 'SIGSTOP');
  return inOrder[0]!;
}

/** The runs that it holds, with their epochs. */
async function heldBy(cluster: Cluster, name: string): Promise<ReadonlyMap<string, number>> {
  const rows = await queried(cluster, `SELECT run_id, epoch::int FROM runs WHERE state = 'running'`);
  const own = new Set(
    cluster
      .ledger()
      .flatMap((line) => ('claimed' in line && line.process === name ? [`${line.claimed} ${line.epoch}`] : [])),
  );
  const held = rows.map((row) => [row.run_id as string, row.epoch as number] as const);
  return new Map(held.filter(([runId, epoch]) => own.has(`${runId} ${epoch}`)));
}

/** The time of the next claim of each run, when there is one. */
async function claimsAfter({ cluster, problems }: Chaos, held: ReadonlyMap<string, number>) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const claims = cluster.ledger().flatMap((line) => ('claimed' in line ? [line] : []));
    const found = [...held].flatMap(([runId, epoch]) => {
      const next = claims.find((line) => line.claimed === runId && line.epoch > epoch);
      return next === undefined ? [] : [{ runId, at: next.at }];
    });
    if (found.length === held.size) return found;
    if (performance.now() > deadline) {
      const missing = [...held.keys()].filter((runId) => !found.some((one) => one.runId === runId));
      problems.push(`no other process has claimed ${missing.join(', ')}`);
      return found;
    }
    await delay(200);
  }
}

/** Pauses a worker until its leases have ended and others have claimed its runs. */
async function pauseWorker(chaos: Chaos): Promise<string> {
  const { cluster } = chaos;
  const name = await pausedOne(chaos, cluster.namesOf('worker'));
  const held = await heldBy(cluster, name);
  await claimsAfter(chaos, held);
  cluster.signal(name, 'SIGCONT');
  return `${name} with ${held.size} runs`;
}

/** Another fault may have stopped the server. */
async function queried({ postgres }: Cluster, sql: string): ReturnType<Cluster['postgres']['query']> {
  for (;;) {
    const rows = await postgres.query(sql).catch(() => undefined);
    if (rows !== undefined) return rows;
    await delay(200);
  }
}

async function flushRedis(chaos: Chaos): Promise<string> {
  const { redis } = chaos.cluster;
  const keys = redis.command('dbsize');
  redis.command('flushall');
  await untilStored(chaos);
  return `${keys} keys`;
}

/**
 * Resolves when every worker with runs has published their events again, or has released the runs. A worker that dies
 * earlier loses events, as documented.
 */
async function untilStored({ cluster }: Chaos): Promise<void> {
  const sql = `SELECT run_id, epoch::int, (SELECT max(seq)::int FROM events WHERE events.transcript = runs.transcript) AS stored
    FROM runs WHERE state = 'running'`;
  const claimOf = ({ run_id: runId, epoch }: Record<string, unknown>) => `${String(runId)} ${String(epoch)}`;
  const held = new Set((await queried(cluster, sql)).map(claimOf));
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await delay(500)) {
    const unsafe = (await queried(cluster, sql)).filter((row) => {
      const next = Number(cluster.redis.command('hget', `{toolscript}:run:${String(row.run_id)}`, 'next'));
      return held.has(claimOf(row)) && (next === 0 || Number(row.stored ?? -1) < next - 1);
    });
    if (unsafe.length === 0) break;
  }
}

/** Ends the connections in transactions for 2 s, then all connections. */
async function dropConnections({ cluster: { postgres } }: Chaos): Promise<string> {
  const drop = async (condition: string) =>
    (
      await postgres.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND ${condition}`,
      )
    ).length;
  let dropped = 0;
  for (const end = performance.now() + 2_000; performance.now() < end; await delay(20))
    dropped += await drop('xact_start IS NOT NULL');
  return `${dropped} in transactions, then ${await drop('TRUE')}`;
}

/** The recoveries that took longer than a lease plus `CLAIM_MS`, the interval at which workers look for lost runs. */
export function lateRecoveries(recoveries: readonly Recovery[]): readonly Recovery[] {
  return recoveries.filter(({ ms }) => ms > LEASE_MS + CLAIM_MS);
}
