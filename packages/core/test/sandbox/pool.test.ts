import { setTimeout as delay } from 'node:timers/promises';
import { BroadcastChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { QuickJsPool, type QuickJsOptions } from '#core/sandbox/index.js';
import { driveRun, returnedValue } from '#core/testing/index.js';

const pools: QuickJsPool[] = [];

function makePool(options: QuickJsOptions, entry?: string): QuickJsPool {
  const pool = new QuickJsPool(options, entry === undefined ? undefined : new URL(`support/${entry}`, import.meta.url));
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

/** Starts a script whose only call does not end before `release`. */
async function holdSlot(pool: QuickJsPool) {
  let release: (value: unknown) => void = () => {};
  const opened = new Promise((resolve) => (release = resolve));
  let called: () => void = () => {};
  const inside = new Promise<void>((resolve) => (called = resolve));
  const run = driveRun(pool, 'return await tools.echo({})', {
    host: () => {
      called();
      return opened;
    },
  });
  await inside;
  return { run, release };
}

describe('the worker pool', () => {
  it('a run without a free slot waits, and ends as busy when the wait expires', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 1 });
    const { run: first, release } = await holdSlot(pool);
    const second = await driveRun(pool, 'return 2', { limits: { queueWaitMs: 50 } });
    expect(second.end).toMatchObject({ type: 'busy' });
    const third = driveRun(pool, 'return 3');
    release(1);
    expect(returnedValue(await first)).toBe(1);
    expect(returnedValue(await third)).toBe(3);
  });

  it('a full queue rejects runs at once', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 1, maxWaiting: 1 });
    await pool.warm();
    const never = new Promise(() => {});
    void driveRun(pool, 'await tools.echo({})', { host: () => never });
    const ended: string[] = [];
    const waiting = driveRun(pool, 'return 1', { limits: { queueWaitMs: 1_000 } }).then(() => ended.push('waiting'));
    const { end } = await driveRun(pool, 'return 2', { limits: { queueWaitMs: 20_000 } });
    ended.push('turned away');
    await waiting;
    expect(end).toMatchObject({ type: 'busy' });
    expect(ended).toEqual(['turned away', 'waiting']);
  });

  it('principals take turns in the queue', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 1 });
    const { run: holder, release } = await holdSlot(pool);
    const order: string[] = [];
    const queued = ['a', 'a', 'a', 'b', 'c'].map((principal) =>
      driveRun(pool, 'return 1', { job: { principal } }).then(() => order.push(principal)),
    );
    release(1);
    await Promise.all([holder, ...queued]);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
  });

  it('a worker that hangs is terminated and replaced, and its other scripts continue from their tapes', async () => {
    const pool = makePool({ size: 1 }, 'faulty-entry.mjs');
    await pool.warm();
    let calls = 0;
    const release: ((value: unknown) => void)[] = [];
    const host = (_name: string, args: unknown) => {
      calls++;
      return (args as { wait?: boolean }).wait === true
        ? new Promise((resolve) => release.push(() => resolve(args)))
        : args;
    };
    const body =
      'const seen = []; let secret = Math.random(); for (let i = 0; i < 5; i++) seen.push((await tools.echo({ i })).i); await tools.echo({ wait: true }); seen.push(await tools.echo({ secret })); return [seen.length, secret === seen[5].secret]';
    const neighbours = Array.from({ length: 3 }, () => driveRun(pool, body, { host }));
    await expect.poll(() => release.length).toBe(3);
    const hung = await driveRun(pool, '/* FAULT_HANG */', { wallMs: 200 });
    expect(hung.end).toEqual({ type: 'limit', limit: 'wall' });
    for (const go of release) go(undefined);
    for (const run of await Promise.all(neighbours)) expect(returnedValue(run)).toEqual([6, true]);
    expect(calls).toBe(3 * 7);
    expect(pool.stats().workersReplaced).toBe(1);
    expect(returnedValue(await driveRun(pool, 'return "next"'))).toBe('next');
  });

  it('a worker does not count as hung because the whole process stood still', async () => {
    const pool = makePool({ size: 1 }, 'faulty-entry.mjs');
    await pool.warm();
    const order: string[] = [];
    const hung = driveRun(pool, '/* FAULT_HANG */', { wallMs: 1_000 }).then(() => order.push('hung'));
    // The worker is watched, and not yet overdue.
    await delay(300);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    await delay(1);
    order.push('process runs again');
    await hung;
    expect(order).toEqual(['process runs again', 'hung']);
  });

  it('a worker that dies fails the script it was busy with and no other', async () => {
    const pool = makePool({ size: 1 }, 'faulty-entry.mjs');
    const { run: neighbour, release } = await holdSlot(pool);
    const died = await driveRun(pool, '/* FAULT_EXIT */');
    expect(died.end).toMatchObject({ type: 'internal' });
    release('alive');
    expect(returnedValue(await neighbour)).toBe('alive');
  });

  it('a guest that breaks a rule ends its script, and its instance is never used again', async () => {
    const pool = makePool({ size: 1 }, 'forging-entry.mjs');
    const calls: string[] = [];
    const forged = await driveRun(pool, '/* FORGE */ return await tools.echo({})', {
      host: (name) => calls.push(name),
    });
    expect(forged.end).toMatchObject({ type: 'internal', detail: expect.stringContaining('breaks a rule') });
    expect(calls).toEqual([]);
    expect(returnedValue(await driveRun(pool, 'return "next"'))).toBe('next');
    expect(pool.stats()).toMatchObject({ instancesDropped: 1, workersReplaced: 0 });
  });

  it('threads that die at their start end the wait with an error, not a loop', async () => {
    const pool = makePool({ size: 2 }, 'stillborn-entry.mjs');
    const { end } = await driveRun(pool, 'return 1');
    expect(end).toMatchObject({ type: 'internal' });
  });

  it('a script that is moved to threads that die at their start ends, and the pool continues', async () => {
    const births = new BroadcastChannel('births');
    let born = 0;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- its types know no other way
    births.onmessage = (event) => {
      const { threadId } = (event as { data: { threadId: number } }).data;
      births.postMessage({ threadId, lives: born++ === 0 });
    };
    const pool = makePool({ size: 1 }, 'asking-entry.mjs');
    await pool.warm();
    const { run: neighbour, release } = await holdSlot(pool);
    const moved = await driveRun(pool, 'await tools.echo({}); for (;;) {}');
    expect(moved.end).toMatchObject({ type: 'internal' });
    release('alive');
    expect(returnedValue(await neighbour)).toBe('alive');
    expect(returnedValue(await driveRun(pool, 'return 1'))).toBe(1);
    births.close();
  });

  it('maxScriptsPerWorker replaces a worker without losing a script', async () => {
    const pool = makePool({ size: 1, maxScriptsPerWorker: 3 });
    for (let index = 0; index < 10; index++) expect(returnedValue(await driveRun(pool, `return ${index}`))).toBe(index);
    expect(pool.stats().workersReplaced).toBeGreaterThanOrEqual(2);
  });

  it('maxScriptsPerWorker replaces a worker of the slow lane too, so that a moved script finds one', async () => {
    const pool = makePool({ size: 1, maxScriptsPerWorker: 2 });
    await pool.warm();
    const hogs = [];
    for (let round = 0; round < 3; round++) {
      const { run: neighbour, release } = await holdSlot(pool);
      hogs.push(
        driveRun(pool, 'await tools.echo({}); let x = 0; for (let i = 0; i < 3e6; i++) x += i; return x', {
          wallMs: 120_000,
          limits: { computeMs: 60_000 },
        }),
      );
      await expect.poll(() => pool.stats().moved).toBe(round + 1);
      release(1);
      await neighbour;
    }
    expect((await Promise.all(hogs)).map((hog) => returnedValue(hog))).toEqual(
      Array.from({ length: 3 }, () => 4499998500000),
    );
    expect(pool.stats().moved).toBe(3);
  });

  it('a worn-out worker that still has a script delays no other', async () => {
    const pool = makePool({ size: 1, maxScriptsPerWorker: 3 });
    const { run: holder, release } = await holdSlot(pool);
    for (let index = 0; index < 10; index++)
      expect(returnedValue(await driveRun(pool, `return ${index}`, { limits: { queueWaitMs: 60_000 } }))).toBe(index);
    release('still here');
    expect(returnedValue(await holder)).toBe('still here');
  });

  it('an instance that grew is dropped, and the next script finds a small one', async () => {
    const pool = makePool({ size: 1 });
    await driveRun(pool, 'return new Array(2e6).fill(1.5).length');
    await driveRun(pool, 'return 1');
    expect(pool.stats().instancesDropped).toBe(1);
  });

  it('close ends running and waiting scripts, and a later run is cancelled', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 1 });
    await pool.warm();
    const running = driveRun(pool, 'while (true) {}', { limits: { computeMs: 60_000 }, wallMs: 60_000 });
    const waiting = driveRun(pool, 'return 1');
    await delay(50);
    await pool.close();
    expect((await running).end).toEqual({ type: 'cancelled', reason: 'cancelled' });
    expect((await waiting).end).toEqual({ type: 'cancelled', reason: 'cancelled' });
    expect((await driveRun(pool, 'return 1')).end).toEqual({ type: 'cancelled', reason: 'cancelled' });
  });

  it('a script cancelled inside a loop frees its slot for an undisturbed script', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 1 });
    await pool.warm();
    for (let round = 0; round < 5; round++) {
      const looping = driveRun(pool, 'while (true) {}', {
        limits: { computeMs: 60_000 },
        wallMs: 60_000,
        onRun: (run) => void delay(30).then(() => run.cancel('cancelled')),
      });
      const next = driveRun(pool, 'let n = 0; for (let i = 0; i < 300000; i++) n++; return n', {
        limits: { queueWaitMs: 60_000 },
      });
      expect((await looping).end).toMatchObject({ type: 'cancelled' });
      expect(returnedValue(await next)).toBe(300_000);
    }
  });

  it('a cancellation inside a loop ends the script, not its thread: other scripts continue', async () => {
    const pool = makePool({ size: 1, slotsPerWorker: 2 });
    const { run: neighbour, release } = await holdSlot(pool);
    const looping = driveRun(pool, 'while (true) {}', {
      limits: { computeMs: 60_000 },
      wallMs: 60_000,
      onRun: (run) => void delay(50).then(() => run.cancel('cancelled')),
    });
    expect((await looping).end).toEqual({ type: 'cancelled', reason: 'cancelled' });
    release('still here');
    expect(returnedValue(await neighbour)).toBe('still here');
    expect(pool.stats().workersReplaced).toBe(0);
  });

  it('a thread has no environment and no arguments, and limits for its stack and its heap', async () => {
    const channel = new BroadcastChannel('surroundings');
    const told = new Promise<Record<string, unknown>>((resolve) => {
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a channel of Node's
      channel.onmessage = (message) => resolve((message as { data: Record<string, unknown> }).data);
    });
    process.env['TOOLSCRIPT_TEST_SECRET'] = 'secret';
    await makePool({ size: 1 }, 'reporting-entry.mjs').warm();
    const { env, argv, execArgv, resourceLimits } = await told;
    channel.close();
    delete process.env['TOOLSCRIPT_TEST_SECRET'];
    expect({ env, argv, execArgv }).toEqual({ env: {}, argv: [], execArgv: [] });
    expect(resourceLimits).toMatchObject({ stackSizeMb: 16, maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 });
  });
});
