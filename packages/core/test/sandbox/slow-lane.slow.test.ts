import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QuickJsPool } from '#core/sandbox/index.js';
import { driveRun, returnedValue } from '#core/testing/index.js';

/** A script that computes for a long time and returns the number. */
const hog = (value: number, turns = 1_500_000) =>
  `let sum = 0; for (let i = 0; i < ${turns}; i++) sum += i % 7; return sum >= 0 ? ${value} : -1`;
const LIMITS = { computeMs: 60_000, queueWaitMs: 60_000 };

let pool: QuickJsPool;
beforeEach(() => (pool = new QuickJsPool({ size: 1 })));
afterEach(() => pool.close());

function run(body: string, principal: string, limits: { queueWaitMs?: number } = {}) {
  return driveRun(pool, body, { job: { principal }, limits: { ...LIMITS, ...limits }, wallMs: 120_000 });
}

/**
 * Scripts of these principals in the slow lane, where each waits for a call before it continues with its body. `goOn`
 * ends the calls of a principal. Resolves when all wait; `finished` gets the principals in the order of their ends.
 */
async function inSlowLane(scripts: readonly (readonly [principal: string, body: string])[]) {
  const calls = new Map<string, (() => void)[]>();
  const finished: string[] = [];
  const long = hog(0, 2_000_000).replace('return', 'void');
  let waiting = 0;
  const all = scripts.map(async ([principal, body]) => {
    const host = () =>
      new Promise<void>((resolve) => {
        waiting += 1;
        calls.set(principal, [...(calls.get(principal) ?? []), resolve]);
      });
    const options = { host, job: { principal }, limits: LIMITS, wallMs: 120_000 };
    const value = returnedValue(await driveRun(pool, `{ ${long} } await tools.echo({}); ${body}`, options));
    finished.push(principal);
    return value;
  });
  // A script is moved only if others share its worker.
  while (waiting < scripts.length) await run('return 0', 'eve');
  expect(pool.stats().moved).toBeGreaterThanOrEqual(scripts.length);
  const goOn = (principal: string) => {
    for (const end of calls.get(principal)!) end();
  };
  return { values: Promise.all(all), finished, goOn };
}

describe('scripts that compute for long', () => {
  it('take turns by principal: a script of another principal does not wait for all earlier ones', async () => {
    await pool.warm();
    const many = Array.from({ length: 12 }, (_, index) => ['ann', hog(index)] as const);
    const { values, finished, goOn } = await inSlowLane([...many, ['bob', hog(99)]]);
    goOn('ann');
    await new Promise(setImmediate);
    goOn('bob');
    expect((await values).at(-1)).toBe(99);
    expect(finished.indexOf('bob')).toBeLessThan(6);
  });

  it('make room for others that compute, and still complete', async () => {
    await pool.warm();
    const { values, finished, goOn } = await inSlowLane([
      ['ann', hog(1, 20_000_000)],
      ['bob', hog(2)],
    ]);
    goOn('ann');
    goOn('bob');
    expect(await values).toEqual([1, 2]);
    expect(finished).toEqual(['bob', 'ann']);
  });

  it('count the instances that the slow lane drops', async () => {
    await pool.warm();
    const moved = async (body: string) => {
      const before = pool.stats().moved;
      const script = run(`${body}; ${hog(1, 20_000_000)}`, 'ann');
      while (pool.stats().moved === before) await run('return 0', 'bob');
      return returnedValue(await script);
    };
    expect(await moved('new Array(2e6).fill(1.5)')).toBe(1);
    const before = pool.stats().instancesDropped;
    // A worker reports a dropped instance with its next report. The fast lane drops the instance of a moved script.
    expect(await moved('')).toBe(1);
    // On a slow machine, the other script is moved too, and takes turns with it.
    expect(pool.stats().instancesDropped).toBeGreaterThanOrEqual(before + 2);
  });

  it('wait for their first turn no longer than for any sandbox', async () => {
    await pool.warm();
    const endless = Array.from({ length: 4 }, () => run('for (;;) {}', 'ann'));
    while (pool.stats().moved < 3) await delay(10);
    void driveRun(pool, 'await tools.echo({})', { host: () => new Promise(() => {}) });
    const { end } = await run(hog(1, 40_000_000), 'ann', { queueWaitMs: 50 });
    expect(end).toMatchObject({ type: 'busy' });
    await pool.close();
    for (const one of await Promise.all(endless)) expect(one.end).toMatchObject({ type: 'cancelled' });
  });

  it('repeat no call after they have made room', async () => {
    await pool.warm();
    const calls: unknown[] = [];
    const host = (_name: string, args: unknown) => void calls.push(args);
    const body = `for (let n = 0; n < 3; n++) { await tools.echo({ n }); ${hog(0).replace('return', 'void')} } return 'done'`;
    const all = ['ann', 'bob', 'eve'].map((principal) =>
      driveRun(pool, body, { host, job: { principal }, limits: LIMITS, wallMs: 120_000 }),
    );
    for (const one of await Promise.all(all)) expect(returnedValue(one)).toBe('done');
    expect(calls).toHaveLength(9);
  });
});

/** Calls `act` with the live threads that were started since the call. */
async function withWorkers<Value>(act: (workers: ReadonlySet<Worker>) => Promise<Value>): Promise<Value> {
  const workers = new Set<Worker>();
  const onWorker = (worker: Worker) => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  };
  process.on('worker', onWorker);
  try {
    return await act(workers);
  } finally {
    process.off('worker', onWorker);
  }
}

describe('workers that are ended from outside', () => {
  it('lose no answer that comes while a script starts over in the slow lane', () =>
    withWorkers(async (workers) => {
      await pool.warm();
      const { values, goOn } = await inSlowLane([['ann', 'return 5']]);
      await Promise.all([...workers].map((worker) => worker.terminate()));
      // The script replays on a thread that has not begun yet.
      goOn('ann');
      expect(await values).toEqual([5]);
    }));

  it('lose no script: each continues from its tape, and repeats no call', () =>
    withWorkers(async (workers) => {
      await pool.warm();
      const killOne = () => {
        const alive = [...workers];
        void alive[Math.floor(Math.random() * alive.length)]?.terminate();
      };
      const made: string[] = [];
      const host = async (_name: string, args: unknown) => {
        // The test limits work and not time: on a slow machine the same script would be killed repeatedly.
        if (made.push(JSON.stringify(args)) % 16 === 0) killOne();
        await delay(10);
        return args;
      };
      const script = async (run: number) =>
        returnedValue(
          await driveRun(
            pool,
            `let sum = 0; for (let n = 0; n < 8; n++) sum += (await tools.echo({ run: ${run}, n })).n; return sum`,
            { host, limits: LIMITS, wallMs: 120_000 },
          ),
        );
      const lane = async (first: number) => {
        for (let run = first; run < first + 5; run++) expect(await script(run)).toBe(28);
      };
      await Promise.all(Array.from({ length: 6 }, (_, index) => lane(index * 10)));
      expect(made).toHaveLength(30 * 8);
      expect(new Set(made).size).toBe(30 * 8);
      expect(pool.stats().workersReplaced).toBeGreaterThan(0);
    }));
});
