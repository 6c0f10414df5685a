import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../crash/support/random.js';
import { describeWithOwnPostgres } from '../../../service/test/stores/postgres/support/own-postgres.js';
import { describeWithOwnRedis } from '../../../service/test/stores/redis/support/test-redis.js';
import { Cluster, OPEN_RUNS, PATIENCE_MS } from './support/cluster.js';
import {
  FAULT_NAMES,
  inject,
  lateRecoveries,
  type FaultName,
  type FaultReport,
  type Recovery,
} from './support/faults.js';
import { judge } from './support/laws.js';
import { Load } from './support/load.js';
import { until } from '@toolscript/testkit/until';

/** The long version is `npm run test:chaos`. */
const RUNS = Number(process.env.TOOLSCRIPT_CHAOS_RUNS ?? 24);
const SEED = Number(process.env.TOOLSCRIPT_CHAOS_SEED ?? 1);
const FIGURES = process.env.TOOLSCRIPT_CHAOS_FIGURES;
/** The time after which no further fault is made, in minutes. The figures list the faults that were not made. */
const MINUTES = Number(process.env.TOOLSCRIPT_CHAOS_MINUTES ?? Infinity);
const isLong = FIGURES !== undefined;

/** The faults of the short version, in this order: first the one that needs a worker with runs. */
const SHORT: readonly FaultName[] = ['kill-worker', 'redis-flush'];

/** Each fault once in random order, then again while there are runs to submit. `onRound`: each fault was made once. */
function* faultsOf(chance: () => number, load: Load, onRound: () => void): Generator<FaultName> {
  yield* isLong ? shuffled(FAULT_NAMES, chance) : SHORT;
  onRound();
  if (!isLong) return;
  for (let left = shuffled(FAULT_NAMES, chance); !load.isSubmitted; left = left.slice(1)) {
    if (left.length === 0) left = shuffled(FAULT_NAMES, chance);
    yield left[0]!;
  }
}

function shuffled<Value>(values: readonly Value[], chance: () => number): Value[] {
  const left = [...values];
  return values.map(() => left.splice(Math.floor(chance() * left.length), 1)[0]!);
}

describeWithOwnPostgres('over PostgreSQL', () =>
  describeWithOwnRedis('and Redis', () =>
    describe('processes with one role each', () => {
      it(
        `lose no run, event, decision or effect while servers and processes fail, and duplicate none (${RUNS} runs, seed ${SEED})`,
        () => campaign(),
        isLong ? 24 * PATIENCE_MS : 3 * PATIENCE_MS,
      );
    }),
  ),
);

async function campaign(): Promise<void> {
  const chance = chanceFrom(SEED);
  const cluster = await Cluster.start();
  // A fault counts only while runs are submitted, so they are until each fault was made.
  let isRoundOver = false;
  const load = new Load({
    cluster,
    chance: chanceFrom(SEED + 1),
    total: RUNS,
    isMoreWanted: () => !isRoundOver,
    open: OPEN_RUNS,
    rounds: isLong ? 60 : 10,
  });
  const startedAt = performance.now();
  const working = load.work();
  const [faults, recoveries, problems]: [FaultReport[], Recovery[], string[]] = [[], [], []];
  await until(() => cluster.ledger().length > 0, PATIENCE_MS);
  const chaos = {
    cluster,
    chance,
    recoveries,
    problems,
    isLoaded: () => !load.isSubmitted,
    onLostTail: (runIds: readonly string[]) => load.reload(runIds),
  };
  for (const fault of faultsOf(chance, load, () => (isRoundOver = true))) {
    if (performance.now() - startedAt > MINUTES * 60_000) break;
    const atSeconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const about = await inject(fault, chaos);
    faults.push({ fault, atSeconds, about });
    if (isLong) console.log(`${atSeconds} s: ${fault}: ${about}; ${load.runs.length} runs`);
    await delay(1_000 + 4_000 * chance() * (isLong ? 1 : 0));
  }
  isRoundOver = true;
  await working;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const verdict = await judge(cluster, load);
  await cluster.stop();
  problems.push(...verdict.problems, ...cluster.crashes);
  const { drops, reconnections, refused } = load;
  const clients = { drops, reconnections, refusedSubmissions: refused };
  const figures = {
    seed: SEED,
    seconds,
    runs: load.runs.length,
    machines: cluster.isElsewhere ? 2 : 1,
    ...verdict.figures,
    clients,
    // The times depend on the machine, and break no law.
    recoveries: {
      knownDead: distribution(recoveries, true),
      afterLease: distribution(recoveries, false),
      late: lateRecoveries(recoveries).length,
    },
    faults,
    faultsNotMade: FAULT_NAMES.filter((name) => !faults.some(({ fault }) => fault === name)),
    logged: cluster.faults(),
    problems,
  };
  if (FIGURES !== undefined) writeFileSync(FIGURES, JSON.stringify(figures, undefined, 2));
  expect(problems).toEqual([]);
  expect(load.runs.length).toBeGreaterThanOrEqual(RUNS);
  // Without an interrupted run and an effect, the laws would prove nothing.
  expect(figures.interruptedRuns).toBeGreaterThan(0);
  expect(figures.effects).toBeGreaterThan(RUNS / 2);
  // A campaign that cannot see an effect whose end nobody knows would not see its repetition.
  if (isLong) expect(figures.unknownEffects).toBeGreaterThan(0);
}

/** The times from the end of a worker to the next claim of its runs, in ms. */
function distribution(recoveries: readonly Recovery[], isKnownDead: boolean) {
  const times = recoveries.filter((one) => one.isKnownDead === isKnownDead).map(({ ms }) => Math.round(ms));
  times.sort((left, right) => left - right);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(part * times.length))];
  return { count: times.length, min: times[0], median: at(0.5), p90: at(0.9), max: times.at(-1) };
}
