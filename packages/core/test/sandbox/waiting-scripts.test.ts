import { afterEach, describe, expect, it } from 'vitest';
import { QuickJsPool, type QuickJsOptions } from '#core/sandbox/index.js';
import { SANDBOX_BYTES } from '#core/sandbox/worker/scheduling.js';
import { driveRun, returnedValue } from '#core/testing/index.js';

const pools: QuickJsPool[] = [];

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function makePool(options: QuickJsOptions, entry?: string): QuickJsPool {
  const pool = new QuickJsPool(options, entry === undefined ? undefined : new URL(`support/${entry}`, import.meta.url));
  pools.push(pool);
  return pool;
}

/** Limits that no wait of a test reaches. */
const PATIENT = { queueWaitMs: 600_000, computeMs: 60_000 };
const ALONE = 'return await tools.echo({})';

/** Scripts that call a tool, which answers on request. */
class Waiting {
  readonly #pool: QuickJsPool;
  readonly #answers: (() => void)[] = [];
  #onCall: () => void = () => {};

  constructor(pool: QuickJsPool) {
    this.#pool = pool;
  }

  start(principal?: string, body = ALONE): Promise<unknown> {
    const host = () =>
      new Promise((resolve) => {
        this.#answers.push(() => resolve(principal ?? 1));
        this.#onCall();
      });
    const job = principal === undefined ? {} : { principal };
    return driveRun(this.#pool, body, { host, job, limits: PATIENT, wallMs: 600_000 }).then(returnedValue);
  }

  /** Resolves when this number of scripts has called the tool. */
  async called(count: number): Promise<void> {
    while (this.#made < count) await new Promise<void>((resolve) => (this.#onCall = resolve));
  }

  get #made(): number {
    return this.#answered + this.#answers.length;
  }

  #answered = 0;

  answerFirst(): void {
    this.#answers.shift()!();
    this.#answered++;
  }

  answerAll(): void {
    while (this.#answers.length > 0) this.answerFirst();
  }
}

describe('scripts that wait for tools', () => {
  it('hold no worker: a new script runs beside five hundred of them, and none is rejected', async () => {
    const pool = makePool({ size: 2 });
    const waiting = new Waiting(pool);
    const runs = Array.from({ length: 500 }, () => waiting.start());
    await waiting.called(500);
    expect(pool.stats()).toMatchObject({ running: 500, awaitingTools: 500, executing: 0, waiting: 0, queued: 0 });
    expect(returnedValue(await driveRun(pool, 'return "new"', { limits: PATIENT }))).toBe('new');
    expect(pool.stats()).toMatchObject({ running: 500, awaitingTools: 500 });
    waiting.answerAll();
    expect(new Set(await Promise.all(runs))).toEqual(new Set([1]));
  });

  it('queue at the memory limit, by principal in turn, and start as others end', async () => {
    const pool = makePool({ size: 1, maxPoolBytes: 2 * SANDBOX_BYTES });
    await pool.warm();
    const waiting = new Waiting(pool);
    const order: unknown[] = [];
    const runs = ['a', 'a', 'a', 'a', 'b'].map((principal) =>
      waiting.start(principal).then((value) => order.push(value)),
    );
    await waiting.called(2);
    expect(pool.stats()).toMatchObject({ running: 2, awaitingTools: 2, queued: 3, memoryBytes: 2 * SANDBOX_BYTES });
    for (let count = 3; count <= 5; count++) {
      waiting.answerFirst();
      await waiting.called(count);
      expect(pool.stats()).toMatchObject({ running: 2, queued: 5 - count });
    }
    waiting.answerAll();
    await Promise.all(runs);
    expect(order).toEqual(['a', 'a', 'a', 'b', 'a']);
    expect(pool.stats()).toMatchObject({ running: 0, queued: 0, memoryBytes: 0 });
  });

  it('count with their growth', async () => {
    const pool = makePool({ size: 1, maxPoolBytes: 16_777_216 });
    await pool.warm();
    const waiting = new Waiting(pool);
    const large = waiting.start(undefined, `const kept = 'x'.repeat(2e7); await tools.echo({}); return kept.length`);
    await waiting.called(1);
    expect(pool.stats().memoryBytes).toBeGreaterThan(16_777_216);
    const small = waiting.start();
    expect(pool.stats()).toMatchObject({ running: 1, queued: 1 });
    waiting.answerAll();
    expect(await large).toBe(20_000_000);
    await waiting.called(2);
    waiting.answerAll();
    expect(await small).toBe(1);
  });

  it('one script runs under every limit', async () => {
    const pool = makePool({ size: 1, maxPoolBytes: 1 });
    expect(returnedValue(await driveRun(pool, 'return 1'))).toBe(1);
    expect(returnedValue(await driveRun(pool, 'return 2'))).toBe(2);
  });

  it('queue if the system has no memory for another sandbox, and the pool keeps that maximum', async () => {
    const pool = makePool({ size: 1 }, 'small-machine-entry.mjs');
    await pool.warm();
    const waiting = new Waiting(pool);
    const runs = Array.from({ length: 5 }, () => waiting.start());
    for (let count = 2; count <= 5; count++) {
      await waiting.called(count);
      waiting.answerFirst();
    }
    waiting.answerAll();
    expect(await Promise.all(runs)).toEqual([1, 1, 1, 1, 1]);
    expect(pool.stats()).toMatchObject({ completed: 5, running: 0, maxMemoryBytes: 2 * SANDBOX_BYTES });
  });
});
