import { describe, expect, it } from 'vitest';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';

const { sample, harness } = sharedHarness();

const value = async (source: string) => valueOf(await harness.runScript(source));

describe('setTimeout', () => {
  it.each<[string, unknown]>([
    ['await new Promise((resolve) => setTimeout(resolve, 5)); return 1', 1],
    ['return await new Promise((resolve) => setTimeout(resolve, 5, "given"))', 'given'],
    [
      'const wait = (ms: number) => new Promise<void>((resolve) => { setTimeout(() => resolve(), ms); }); await wait(1); return 2',
      2,
    ],
    ['return await new Promise((resolve) => setTimeout((a: number, b: number) => resolve(a + b), 1, 2, 3))', 5],
    ['return await new Promise((resolve) => setTimeout(resolve))', undefined],
    ['return typeof setTimeout(() => {}, 1)', 'number'],
    [
      'let timer: ReturnType<typeof setTimeout> | undefined; timer = setTimeout(() => {}, 1); clearTimeout(timer); timer = undefined; clearTimeout(timer); return 3',
      3,
    ],
  ])('%s', async (source, expected) => {
    expect(await value(source)).toEqual(expected);
  });

  it('runs callbacks in the order of their times, with an undefined this', async () => {
    const source = `const seen: unknown[] = [];
      setTimeout(() => seen.push('late'), 60);
      setTimeout(() => seen.push('soon'), 5);
      setTimeout(function (this: unknown) { seen.push(this === undefined); }, 20);
      seen.push('first');
      await sleep(120);
      return seen;`;
    expect(await value(source)).toEqual(['first', 'soon', true, 'late']);
  });

  it('advances the clock by at least the delay', async () => {
    const source =
      'const from = Date.now(); await new Promise((resolve) => setTimeout(resolve, 30)); return Date.now() - from >= 29';
    expect(await value(source)).toBe(true);
  });

  it('limits the time of a call in a race', async () => {
    const source = `const limited = (work: Promise<unknown>, ms: number) => {
      let timer: number;
      const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('late')), ms); });
      return Promise.race([work, late]).finally(() => clearTimeout(timer));
    };
    return [await limited(tools.echo({ value: 'quick' }), 60_000), await limited(tools.wait({ ms: 60_000 }), 10).catch((error) => error.message)];`;
    const outcome = await harness.runScript(source);
    expect(valueOf(outcome)).toEqual(['quick', 'late']);
    expect(outcome.diagnostics.filter(({ code }) => code === 'pending-timer')).toEqual([]);
  });

  it('may call tools from its callback', async () => {
    const source = `return await new Promise((resolve) => setTimeout(async () => resolve(await tools.echo({ value: 7 })), 1))`;
    expect(await value(source)).toBe(7);
  });

  it('accepts only a function', async () => {
    const error = failureOf(await harness.runScript('(setTimeout as any)("text()", 1)'));
    expect(error.message).toBe('TypeError: The callback of a timer must be a function.');
  });

  it('reports an error in its callback', async () => {
    const outcome = await harness.runScript(
      'setTimeout(() => { throw new RangeError("in a callback") }, 1);\nawait sleep(20);',
    );
    expect(outcome.status).toBe('completed');
    expect(outcome.diagnostics).toEqual([
      expect.objectContaining({
        code: 'unhandled-rejection',
        line: 1,
        message: expect.stringContaining('in a callback') as unknown,
      }),
    ]);
  });

  it('is reported with its place if the script ends before it', async () => {
    const outcome = await harness.runScript(
      'const one = 1;\n  setTimeout(async () => { await tools.echo({ value: 1 }) }, 60_000);\nreturn one;',
    );
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations).toEqual([]);
    expect(outcome.diagnostics).toEqual([
      expect.objectContaining({ code: 'pending-timer', severity: 'warning', line: 2 }),
    ]);
  });

  it.each([
    'const timer = setTimeout(() => {}, 60_000); clearTimeout(timer); return 1',
    'const timer = setInterval(() => {}, 60_000); await sleep(5); clearInterval(timer); return 1',
    'const timer = setTimeout(() => {}, 60_000); try { return await tools.echo({ value: 1 }) } finally { clearTimeout(timer) }',
    'let timer: number; const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("late")), 60_000); }); const won = await Promise.race([tools.echo({ value: 1 }), late]); clearTimeout(timer!); return won',
    'const timers = [1, 2, 3].map((ms) => setInterval(() => {}, ms)); timers.forEach(clearInterval); return 1',
  ])('says nothing of one that was cleared: %s', async (source) => {
    const outcome = await harness.runScript(source);
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.diagnostics.filter(({ code }) => code === 'pending-timer')).toEqual([]);
  });

  it('counts against the limits of sleep, and against the wall clock', async () => {
    const own = openHarness({ tools: sample.tools, limits: { maxBuiltinCalls: 3, timeoutMs: 300 } });
    const many = await own.runScript(
      'for (let i = 0; i < 5; i++) setTimeout(() => {}, 1);\nawait tools.echo({ value: 1 });',
    );
    expect(many.diagnostics.map(({ message }) => message).join()).toContain('may make 3 calls to sleep, timers');
    const long = await own.runScript('await new Promise((resolve) => setTimeout(resolve, 60_000))');
    expect(failureOf(long).code).toBe('ScriptTimeoutError');
  });
});

describe('a wait beyond maxBuiltinCalls', () => {
  const LIMITS = { maxBuiltinCalls: 3, timeoutMs: 60_000 };

  it.each([
    [
      'a timer',
      'await sleep(1); await sleep(1); await sleep(1);\nawait new Promise((resolve) => setTimeout(resolve, 1))',
      2,
    ],
    ['an interval', 'await new Promise((resolve) =>\nsetInterval(() => {}, 1))', undefined],
    ['a sleep', 'for (;;)\nawait sleep(1)', 2],
    ['a question to the catalog', 'for (;;)\nawait catalog.list()', 2],
  ])('ends the script with the error of the limit: %s', async (_, source, line) => {
    const error = failureOf(await harness.runScript(source, { limits: LIMITS }));
    expect(error).toMatchObject({
      code: 'ToolBudgetExceededError',
      message: expect.stringContaining('3 calls to sleep, timers, catalog and tools.spawn') as unknown,
      hint: expect.stringContaining('maxBuiltinCalls (3)') as unknown,
    });
    if (line !== undefined) expect(error.line).toBe(line);
  });

  it('is reported even if the script continues and then waits for nothing', async () => {
    const source = `for (let count = 0; count < 4; count++) await sleep(1).catch(() => {}); await new Promise(() => {})`;
    const error = failureOf(await harness.runScript(source, { limits: LIMITS }));
    expect(error.message).toContain('waits for a promise that nothing will settle');
  });
});

it('reports unhandled rejections of a script that waits for nothing', async () => {
  const outcome = await harness.runScript(
    'setTimeout(() => { throw new Error("lost") }, 1);\nawait new Promise(() => {})',
  );
  expect(failureOf(outcome).message).toContain('waits for a promise that nothing will settle');
  expect(outcome.diagnostics).toMatchObject([{ code: 'unhandled-rejection', line: 1 }]);
});

describe('clearTimeout', () => {
  it('prevents the callback from running', async () => {
    const source = `const seen: string[] = [];
      const timer = setTimeout(() => seen.push('never'), 5);
      clearTimeout(timer); clearTimeout(timer); clearTimeout(undefined); clearTimeout(12345);
      await sleep(30);
      return seen;`;
    expect(await value(source)).toEqual([]);
  });

  it('ends the wait: a script that waits for nothing else is reported as stalled', async () => {
    const error = failureOf(
      await harness.runScript(
        'const timer = setTimeout(() => {}, 20_000); clearTimeout(timer); await new Promise(() => {});',
      ),
    );
    expect(error.message).toContain('waits for a promise that nothing will settle');
  });
});

describe('setInterval', () => {
  it('runs its callback until it is cleared, also from the callback', async () => {
    const source = `let count = 0;
      await new Promise<void>((resolve) => {
        const timer = setInterval((step: number) => {
          count += step;
          if (count === 6) { clearInterval(timer); resolve(); }
        }, 2, 2);
      });
      await sleep(20);
      return count;`;
    expect(await value(source)).toBe(6);
  });

  it('continues if its callback throws', async () => {
    const source = `let count = 0;
      const timer = setInterval(() => { if (++count < 3) throw new Error('again'); clearInterval(timer); }, 2);
      while (count < 3) await sleep(2);
      return count;`;
    expect(await value(source)).toBe(3);
  });

  it('polls a tool', async () => {
    const source = `return await new Promise((resolve) => {
      let tries = 0;
      const timer = setInterval(async () => {
        const found = await tools.echo({ value: ++tries });
        if (found >= 3 && timer !== undefined) { clearInterval(timer); resolve(found); }
      }, 5);
    });`;
    expect(await value(source)).toBeGreaterThanOrEqual(3);
  });

  it('that is never cleared ends with the script', async () => {
    const outcome = await harness.runScript('setInterval(() => {}, 5); await sleep(20); return 1');
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.diagnostics.map(({ code }) => code)).toEqual(['pending-timer']);
  });
});

describe('queueMicrotask', () => {
  it('runs its callback after the current code, with no arguments', async () => {
    expect(
      await value('const l = []; queueMicrotask((...a) => l.push(a.length)); l.push("s"); await null; return l'),
    ).toEqual(['s', 0]);
  });

  it('a callback that throws is a rejection that nobody handled, and the script continues', async () => {
    const outcome = await harness.runScript('queueMicrotask(() => { throw new Error("x") }); await sleep(1); return 1');
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.diagnostics).toMatchObject([{ code: 'unhandled-rejection' }]);
  });

  it('a callback that is no function is an error', async () => {
    const outcome = await harness.runScript('queueMicrotask(1 as never); return 1');
    expect(failureOf(outcome).message).toContain('must be a function');
  });
});
