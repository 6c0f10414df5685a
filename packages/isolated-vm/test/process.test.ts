import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createHarness, defineTool, type Harness } from '@toolscript/core';
import type { SandboxRun } from '@toolscript/core/ports';
import { driveRun, returnedValue } from '@toolscript/core/testing';
import { isolatedVm } from '@toolscript/isolated-vm';
import { z } from 'zod';
import { isInstalledBeside, isolatedVmPath, whyNoIsolatedVm } from './support/installed.js';

const open = () => isolatedVm({ modulePath: isolatedVmPath! });
const pools: { close(): Promise<void> }[] = [];
const kept = <Pool extends { close(): Promise<void> }>(pool: Pool): Pool => {
  pools.push(pool);
  return pool;
};

/** V8 ends its process: this cannot be allocated. */
const FATAL = 'return Array.from({ length: 2 ** 26 }, (_, i) => i).length';

afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

describe.skipIf(whyNoIsolatedVm !== undefined)('the process of the isolated-vm runtime', () => {
  it('dies with a script that V8 cannot survive, and that script alone ends', async () => {
    const pool = kept(open());
    await pool.warm();
    let release: (value: unknown) => void = () => {};
    const gate = new Promise((resolve) => (release = resolve));
    const called: unknown[] = [];
    const host = (_name: string, args: unknown) => {
      called.push(args);
      return gate;
    };
    const body = 'const r = Math.random(); const got = await tools.echo({ r }); return [got, r === Math.random(), r]';
    const waiting = [1, 2, 3].map((seed) => driveRun(pool, body, { host, job: { seed: [seed, 2, 3, 4] } }));
    await expect.poll(() => called.length).toBe(3);
    const limits = { computeMs: 60_000 };
    // Sometimes V8 notices its limit in time, and survives.
    do {
      const { end } = await driveRun(pool, FATAL, { limits, wallMs: 60_000 });
      expect(end).toEqual({ type: 'limit', limit: 'memory' });
    } while (pool.stats().workersReplaced === 0);
    expect(pool.stats().workersReplaced).toBe(1);
    release('late');
    const values = (await Promise.all(waiting)).map((run) => returnedValue(run) as [string, boolean, number]);
    expect(values.map(([got]) => got)).toEqual(['late', 'late', 'late']);
    expect(new Set(values.map(([, , r]) => r))).toEqual(new Set(called.map((args) => (args as { r: number }).r)));
    expect(called).toHaveLength(3);
  });

  it('is replaced for every script that was executing, and only the cause ends', async () => {
    const pool = kept(open());
    await pool.warm();
    const limits = { computeMs: 600_000 };
    const busy = 'let n = 0; for (let j = 0; j < 60; j++) for (let i = 0; i < 5e7; i++) n = (n + i) | 0; return 1';
    const runs = [busy, FATAL].map((body) => driveRun(pool, body, { limits, wallMs: 600_000 }));
    const [innocent, fatal] = await Promise.all(runs);
    expect(returnedValue(innocent!)).toBe(1);
    expect(fatal!.end).toEqual({ type: 'limit', limit: 'memory' });
  }, 300_000);

  it('runs no more scripts at once than it may, and the others wait', async () => {
    const pool = kept(isolatedVm({ modulePath: isolatedVmPath!, maxScripts: 1 }));
    let release: (value: unknown) => void = () => {};
    const gate = new Promise((resolve) => (release = resolve));
    const first = driveRun(pool, 'return await tools.echo({})', { host: () => gate });
    const late = await driveRun(pool, 'return 1', { limits: { queueWaitMs: 50 } });
    expect(late.end.type).toBe('busy');
    const second = driveRun(pool, 'return 2');
    release('open');
    expect(returnedValue(await first)).toBe('open');
    expect(returnedValue(await second)).toBe(2);
  });

  it('survives a cancel at any moment: while it boots, starts, computes or waits', async () => {
    const pool = kept(open());
    for (let afterMs = 0; afterMs < 80; afterMs += 4) {
      let run: SandboxRun | undefined;
      const host = () => (afterMs % 8 === 0 ? 1 : new Promise(() => {}));
      const onRun = (started: SandboxRun) => (run = started);
      const limits = { computeMs: 60_000 };
      const driven = driveRun(pool, 'await tools.echo({}); for (;;);', { host, onRun, limits });
      await delay(afterMs);
      run!.cancel('cancelled');
      expect((await driven).end).toEqual({ type: 'cancelled', reason: 'cancelled' });
    }
    expect(returnedValue(await driveRun(pool, 'return 1 + 1'))).toBe(2);
  });

  it('has an empty environment', { skip: process.platform !== 'linux' }, async () => {
    await kept(open()).warm();
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
    const mine = children.filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('isolated-vm/dist/child.js'),
    );
    expect(mine.length).toBeGreaterThan(0);
    for (const pid of mine) {
      const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((entry) => entry.split('=')[0]);
      expect(
        names.filter((name) => !['', 'TZ', 'NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE'].includes(name!)),
      ).toEqual([]);
    }
  });

  it('is killed when a script runs on after its end, and other scripts do not notice', async () => {
    const pool = kept(open());
    await pool.warm();
    const waiting = driveRun(pool, 'return await tools.echo({ a: 1 })', {
      host: async () => {
        await expect.poll(() => pool.stats().workersReplaced).toBe(1);
        return 'late';
      },
      wallMs: 90_000,
    });
    // V8 does not leave this loop when its isolate is disposed of.
    const { end } = await driveRun(pool, 'const a = []; a.length = 2 ** 32 - 1; return a.indexOf(1)', {
      limits: { computeMs: 100 },
    });
    expect(end).toMatchObject({ type: 'limit' });
    expect(returnedValue(await waiting)).toBe('late');
  });

  it('ends a script at its computing time, also if its wall time is longer', async () => {
    const pool = kept(open());
    const options = { limits: { computeMs: 200 }, wallMs: 20_000 };
    const { end } = await driveRun(pool, 'let n = 0; for (;;) n = (n + 1) % 7', options);
    expect(end).toEqual({ type: 'limit', limit: 'compute' });
  });

  it('counts memory that V8 takes beyond the limit of its heap', async () => {
    const pool = kept(open());
    await pool.warm();
    const options = { limits: { memoryMb: 64, computeMs: 60_000 }, wallMs: 60_000 };
    const { end } = await driveRun(pool, 'return new Array(3.2e7).fill(0).length', options);
    expect(end).toEqual({ type: 'limit', limit: 'memory' });
  });

  it('gives scripts neither the host’s environment nor its modules', async () => {
    const body =
      'return [typeof process, typeof require, typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, typeof gc, typeof eval]';
    const values = returnedValue(await driveRun(kept(open()), body)) as string[];
    expect(new Set(values)).toEqual(new Set(['undefined']));
  });
});

describe.skipIf(whyNoIsolatedVm !== undefined)('a harness on isolated-vm', () => {
  const charged: unknown[] = [];
  const charge = defineTool({
    name: 'charge',
    description: 'Charges a card',
    input: z.object({ amount: z.number() }),
    approval: 'always',
    effect: 'external',
    execute: ({ amount }) => {
      charged.push(amount);
      return { id: `c${amount}` };
    },
  });
  const openHarness = (): Harness => {
    const options = { suspensionKey: 'k'.repeat(32), typecheck: 'off' } as const;
    return kept(createHarness({ tools: [charge], runtime: open(), ...options }));
  };

  it('suspends a script without its memory, and resumes it along its tape, with the same random numbers and clock', async () => {
    const source =
      'const before = [Math.random(), Date.now()]; const { id } = await tools.charge({ amount: 7 }); return { id, before };';
    const first = await openHarness().runScript(source);
    if (first.status !== 'suspended') throw new Error(JSON.stringify(first));
    const decisions = Object.fromEntries(
      first.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve' as const]),
    );
    const resumed = await openHarness().resume(first.suspension, decisions);
    expect(resumed).toMatchObject({ status: 'completed', value: { id: 'c7' } });
    expect(charged).toEqual([7]);
    expect(resumed.metadata.runtime).toBe('isolated-vm');
  });
});

it.skipIf(isInstalledBeside)('a missing isolated-vm is one sentence with the command', () => {
  const sentence =
    /^The runtime "isolated-vm" needs the package isolated-vm, which is not installed\. Run: npm install @toolscript\/isolated-vm isolated-vm@\S+$/u;
  expect(() => createHarness({ tools: [], runtime: 'isolated-vm' })).toThrow(sentence);
  expect(() => isolatedVm()).toThrow(sentence);
});

it.skipIf(whyNoIsolatedVm !== undefined)('a harness loads the runtime by its name', () => {
  const program = `
    const { createHarness } = await import('@toolscript/core');
    const harness = createHarness({ tools: [], runtime: 'isolated-vm', typecheck: 'off' });
    const { value, metadata } = await harness.runScript('return 6 * 7');
    console.log(value, metadata.runtime);
    await harness.close();`;
  const NODE_PATH = isolatedVmPath!.slice(0, isolatedVmPath!.lastIndexOf('node_modules') + 'node_modules'.length);
  const options = { cwd: import.meta.dirname, encoding: 'utf8', env: { ...process.env, NODE_PATH } } as const;
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', program], options)).toBe('42 isolated-vm\n');
});
