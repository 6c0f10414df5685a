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

function run(body: string, principal: string, limits: { computeMs?: number; queueWaitMs?: number } = {}) {
  return driveRun(pool, body, { job: { principal }, limits: { ...LIMITS, ...limits }, wallMs: 120_000 });
}

describe('scripts that compute for long', () => {
  it('take turns by principal: a script of another principal does not wait for all earlier ones', async () => {
    await pool.warm();
    const finished: string[] = [];
    const many = Array.from({ length: 12 }, (_, index) => run(hog(index), 'ann').then(() => finished.push('ann')));
    // All scripts wait in the slow lane, or compute in it.
    while (pool.stats().moved < 10) await delay(10);
    expect(returnedValue(await run(hog(99), 'bob'))).toBe(99);
    finished.push('bob');
    await Promise.all(many);
    expect(finished.indexOf('bob')).toBeLessThan(6);
  });

  it('make room for others that compute, and still complete', async () => {
    await pool.warm();
    const long = run(hog(1, 40_000_000), 'ann');
    while (pool.stats().moved < 1) {
      void run('return 0', 'ann');
      await delay(10);
    }
    let longEnded = false;
    void long.then(() => (longEnded = true));
    expect(returnedValue(await run(hog(2), 'bob'))).toBe(2);
    expect(longEnded).toBe(false);
    expect(returnedValue(await long)).toBe(1);
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
    expect(pool.stats().instancesDropped).toBe(before + 2);
  });

  it('wait for their first turn no longer than for any sandbox', async () => {
    await pool.warm();
    const endless = Array.from({ length: 4 }, () => run('for (;;) {}', 'ann', { computeMs: 1_200 }));
    while (pool.stats().moved < 3) await delay(10);
    void driveRun(pool, 'await tools.echo({})', { host: () => new Promise(() => {}) });
    const { end } = await run(hog(1, 40_000_000), 'ann', { queueWaitMs: 50 });
    expect(end).toMatchObject({ type: 'busy' });
    for (const one of await Promise.all(endless)) expect(one.end.type === 'limit').toBe(true);
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

describe('workers that are ended from outside', () => {
  it('lose no script: each continues from its tape, and repeats no call', async () => {
    const workers = new Set<Worker>();
    const onWorker = (worker: Worker) => {
      workers.add(worker);
      worker.once('exit', () => workers.delete(worker));
    };
    process.on('worker', onWorker);
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
    try {
      await Promise.all(Array.from({ length: 6 }, (_, index) => lane(index * 10)));
    } finally {
      process.off('worker', onWorker);
    }
    expect(made).toHaveLength(30 * 8);
    expect(new Set(made).size).toBe(30 * 8);
    expect(pool.stats().workersReplaced).toBeGreaterThan(0);
  });
});
