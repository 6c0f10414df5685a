import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ImageSource,
  SandboxCall,
  SandboxCapture,
  SandboxEnd,
  SandboxJob,
  SandboxRun,
} from '#core/protocol/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import { keepableArtefacts, loadArtefacts } from '#core/sandbox/worker/artefacts.js';
import { asScript, driveRun, returnedValue, TEST_LIMITS } from '#core/testing/index.js';
import { openSlot } from './support/in-process-slot.js';

const CLOCK_MS = 1_700_000_000_000;
let pool: QuickJsPool;
beforeAll(() => (pool = new QuickJsPool({ size: 1 })));
afterAll(() => pool.close());

function jobFor(body: string): SandboxJob {
  const javascript = asScript(body);
  return {
    runId: 'test',
    sha256: javascript,
    javascript,
    toolNames: ['echo'],
    contextJson: '{}',
    spawn: false,
    seed: [1, 2, 3, 4],
    clockMs: CLOCK_MS,
    wallMs: 60_000,
    principal: undefined,
    limits: TEST_LIMITS,
  };
}

/** One run, step by step. */
class Stepper {
  readonly calls: SandboxCall[] = [];
  end: SandboxEnd | undefined;
  run!: SandboxRun;
  #wake: () => void = () => {};

  readonly observer = {
    onStart: () => this.#wake(),
    onSegment: (segment: { calls: readonly SandboxCall[]; end?: SandboxEnd | undefined }) => {
      this.calls.push(...segment.calls);
      this.end = segment.end;
      this.#wake();
    },
  };

  static async start(on: QuickJsPool, job: SandboxJob): Promise<Stepper> {
    const stepper = new Stepper();
    await stepper.#until(() => (stepper.run = on.run(job, stepper.observer)), 2);
    return stepper;
  }

  static async restore(
    on: QuickJsPool,
    capture: SandboxCapture,
    job: SandboxJob,
    images: ImageSource = () => Promise.resolve(undefined),
  ): Promise<Stepper> {
    const stepper = new Stepper();
    await stepper.#until(() => (stepper.run = on.restore(capture, job, stepper.observer, images)), 1);
    return stepper;
  }

  settle(callIndex: number, value: unknown): Promise<void> {
    return this.#until(
      () => this.run.settle([{ callIndex, ok: true, json: JSON.stringify(value) }], CLOCK_MS + 1, 60_000),
      1,
    );
  }

  /** Acts, and resolves after this number of observer callbacks, or at the end of the run. */
  #until(act: () => void, callbacks: number): Promise<void> {
    return new Promise((resolve) => {
      let left = callbacks;
      this.#wake = () => {
        if (--left === 0 || this.end !== undefined) resolve();
      };
      act();
    });
  }
}

const BODY = `
  class Purse { #coins = 3; add(n) { this.#coins += n; return this.#coins } }
  const purse = new Purse(); const key = {}; const map = new Map([[key, 'kept']]);
  const chance = Math.random();
  try { await tools.echo({ ask: chance }) } finally { map.set('finally', 1) }
  const second = await tools.echo({ second: true });
  return [purse.add(4), map.get(key), map.get('finally'), second, chance, Math.random()]`;

describe('a paused run', () => {
  it('can be captured, and continues in another runtime unchanged', async () => {
    const job = jobFor(BODY);
    const plain = await Stepper.start(pool, job);
    await plain.settle(0, 'x');
    await plain.settle(1, 'y');

    const stepper = await Stepper.start(pool, job);
    const capture = (await stepper.run.capture!())!;
    expect(capture.images).toHaveLength(2);
    expect(capture.state.length).toBeLessThan(50_000);
    expect(pool.stats().running).toBe(0);
    const other = new QuickJsPool({ size: 1 });
    const resumed = await Stepper.restore(other, capture, job);
    await resumed.settle(0, 'x');
    expect(resumed.calls.map(({ callIndex }) => callIndex)).toEqual([1]);
    await resumed.settle(1, 'y');
    expect(resumed.end).toEqual(plain.end);
    expect(plain.end).toMatchObject({ type: 'returned' });
    await other.close();
  });

  it('keeps unhandled rejections in a capture, and drops those that are handled later', async () => {
    const job = jobFor(`
      const lost = Promise.reject(new Error('lost'));
      const late = Promise.reject(new Error('late'));
      await tools.echo({});
      late.catch(() => {});
      return 1`);
    const capture = (await (await Stepper.start(pool, job)).run.capture!())!;
    const resumed = await Stepper.restore(pool, capture, job);
    await resumed.settle(0, 1);
    expect(resumed.end).toMatchObject({ type: 'returned', unhandled: [{ message: 'lost' }] });
  });

  it('is captured completely even if its memory grew', async () => {
    const job = jobFor(
      `const list = Array.from({ length: 300_000 }, (_, index) => ({ index })); await tools.echo({}); return list.reduce((sum, { index }) => sum + index, 0)`,
    );
    const capture = (await (await Stepper.start(pool, job)).run.capture!())!;
    const resumed = await Stepper.restore(pool, capture, job);
    await resumed.settle(0, 1);
    expect(resumed.end).toMatchObject({ type: 'returned', json: String((300_000 * 299_999) / 2) });
    expect(returnedValue(await driveRun(pool, 'return typeof list'))).toBe('undefined');
  });

  it('keeps its used compute time in a capture', async () => {
    const spin = 'for (let i = 0; i < 6e6; i++);';
    const job = jobFor(`${spin} await tools.echo({}); while (true);`);
    const capture = (await (await Stepper.start(pool, job)).run.capture!())!;
    const { computeLeftMs } = JSON.parse(
      Buffer.from(capture.state).toString('utf8', 4, 4 + Buffer.from(capture.state).readUInt32LE(0)),
    );
    expect(computeLeftMs).toBeLessThan(TEST_LIMITS.computeMs - 5);
    const resumed = await Stepper.restore(pool, capture, job);
    await resumed.settle(0, 1);
    expect(resumed.end).toMatchObject({ type: 'limit', limit: 'compute' });
  });

  it('whose capture was truncated or changed ends as unrestorable, and the next script is clean', async () => {
    const job = jobFor(BODY);
    const capture = (await (await Stepper.start(pool, job)).run.capture!())!;
    const { state } = capture;
    const broken = [state.slice(0, 2), state.slice(0, 60), state.slice(0, -100), new Uint8Array(64), new Uint8Array()];
    for (const bytes of broken) {
      const resumed = await Stepper.restore(pool, { ...capture, state: bytes }, job);
      expect(resumed.end).toMatchObject({ type: 'unrestorable' });
    }
    const elsewhere = await Stepper.restore(pool, { ...capture, images: ['a', 'b'] }, job);
    expect(elsewhere.end).toMatchObject({ type: 'unrestorable' });
    expect(returnedValue(await driveRun(pool, 'return 2'))).toBe(2);
  });

  it('is not restored with an image that does not match its name', async () => {
    const job = jobFor(BODY);
    const capture = (await (await Stepper.start(pool, job)).run.capture!())!;
    const [engine, image] = capture.images as [string, string];
    const kept = await keepableArtefacts();
    const source: ImageSource = (name) => Promise.resolve(kept.get(name === engine ? engine : image));
    const renamed = { ...capture, images: [engine, 'f'.repeat(64)] };
    const resumed = await Stepper.restore(pool, renamed, job, source);
    expect(resumed.end).toMatchObject({ type: 'unrestorable', detail: expect.stringContaining('is damaged') });
  });

  it('has the same memory, bit by bit, after a replay of its segments', async () => {
    const play = async () => {
      const { slot, compile, start, read } = await openSlot({ memoryMb: 64 });
      const bytecode = compile(`
        const seen = new Map(); let sum = 0;
        for (let round = 0; round < 200; round++) {
          const [left, right] = await Promise.all([tools.echo({ round }), tools.echo({ chance: Math.random() })]);
          seen.set({ round }, [left, right, new Date().toISOString()]); sum += left.n;
        }
        return [sum, seen.size]`);
      let segment = start(bytecode);
      for (let round = 0; round < 200; round++) {
        const batch = [`[${2 * round},1,{"n":${round}}]`, `[${2 * round + 1},1,"x"]`];
        segment = slot.settle(`[${batch}]`, [2 * round, 2 * round + 1], 1_000 + round, 5_000);
      }
      const memory = slot.inspectMemory().subarray(imageStart);
      return { end: read(segment).end, hash: createHash('sha256').update(memory).digest('hex') };
    };
    const imageStart = (await loadArtefacts(128)).execute.header.start;
    const [first, second] = [await play(), await play()];
    expect(first.end).toMatchObject({ type: 'returned', json: '[19900,200]' });
    expect(second).toEqual(first);
  });
});

describe('a script that computes for long', () => {
  const SPIN = 'const end = 20_000_000; let sum = 0; for (let i = 0; i < end; i++) sum += i; return sum';

  it('makes room for the others of its worker, and still gives its value', async () => {
    const neighbours = new QuickJsPool({ size: 1 });
    await neighbours.warm();
    const never = driveRun(neighbours, 'await tools.echo({}); return 1', { host: () => new Promise(() => {}) });
    const hog = driveRun(neighbours, SPIN, { limits: { computeMs: 30_000 }, wallMs: 60_000 });
    let hogEnded = false;
    void hog.then(() => (hogEnded = true));
    for (let index = 0; index < 20; index++)
      expect(returnedValue(await driveRun(neighbours, `return ${index}`))).toBe(index);
    expect(hogEnded).toBe(false);
    expect(neighbours.stats().moved).toBe(1);
    expect(returnedValue(await hog)).toBe((20_000_000 * 19_999_999) / 2);
    await neighbours.close();
    await never;
  });

  it('repeats none of the calls it had made', async () => {
    const neighbours = new QuickJsPool({ size: 1 });
    const { host, inside } = countingHost();
    const waiting = driveRun(neighbours, 'return await tools.echo({ wait: true })', { host });
    await inside;
    const body = `await tools.echo({ a: 1 }); console.log('once'); await tools.echo({ a: 2 }); ${SPIN}`;
    const run = await driveRun(neighbours, body, { host, limits: { computeMs: 30_000 }, wallMs: 60_000 });
    expect(run.end).toMatchObject({ type: 'returned' });
    expect(neighbours.stats().moved).toBe(1);
    expect(calls).toEqual([1, 2]);
    expect(run.segments.flatMap(({ logs }) => logs)).toHaveLength(1);
    await neighbours.close();
    await waiting;
  });

  let calls: unknown[] = [];
  function countingHost() {
    calls = [];
    let arrived: () => void = () => {};
    const inside = new Promise<void>((resolve) => (arrived = resolve));
    const host = (_name: string, args: unknown) => {
      const { wait, a } = args as { wait?: boolean; a?: number };
      if (wait !== true) return calls.push(a);
      arrived();
      return new Promise(() => {});
    };
    return { host, inside };
  }

  it('stays on its worker if it is alone', async () => {
    const alone = new QuickJsPool({ size: 1 });
    expect(returnedValue(await driveRun(alone, SPIN.replace('20_000_000', '5_000_000')))).toBeGreaterThan(0);
    expect(alone.stats().moved).toBe(0);
    await alone.close();
  });
});
