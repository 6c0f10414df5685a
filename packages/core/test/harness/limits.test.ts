import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/tools/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

const { sample, harness } = sharedHarness();

const value = async (source: string) => valueOf(await harness.runScript(source));

describe('each limit has its code', () => {
  it.each<[string, string, object]>([
    ['ScriptTimeoutError', 'while (true) {}', { computeMs: 150 }],
    ['ScriptTimeoutError', 'await tools.wait({ ms: 60_000 })', { timeoutMs: 150 }],
    ['ScriptTimeoutError', 'await sleep(60_000)', { timeoutMs: 150 }],
    ['ScriptMemoryError', 'const a = []; for (;;) a.push(new Array(1000).fill(0))', { memoryMb: 8 }],
    ['ScriptStackError', 'const f = () => f() + 1; f()', { maxStackBytes: 65_536 }],
    ['ScriptTooLargeError', `return ${'1 + '.repeat(50)} 1`, { maxSourceBytes: 100 }],
    ['SerializationError', 'return "x".repeat(200)', { maxReturnBytes: 100 }],
    ['ToolBudgetExceededError', 'await tools.echo({ value: 1 }); await tools.echo({ value: 2 })', { maxToolCalls: 1 }],
    ['ToolValidationError', 'await tools.echo({ value: "x".repeat(2000) })', { maxToolInputBytes: 1000 }],
    ['ToolExecutionError', 'await tools.wait({ ms: 1, value: "x".repeat(2000) })', { maxToolResultBytes: 1000 }],
  ])('%s: %s', async (code, source, limits) => {
    expect(failureOf(await harness.runScript(source, { limits })).code).toBe(code);
  });

  it('a source of exactly the limit runs; the limit counts bytes', async () => {
    const limits = { maxSourceBytes: 20 };
    expect(valueOf(await harness.runScript('return "123456789ab"', { limits }))).toBe('123456789ab');
    expect(failureOf(await harness.runScript('return "123456789abc"', { limits })).code).toBe('ScriptTooLargeError');
    expect(failureOf(await harness.runScript('return "ééééééé"', { limits })).code).toBe('ScriptTooLargeError');
    expect(
      failureOf(await harness.runScript(`return "${'x'.repeat(70_000)}"`, { limits: { maxSourceBytes: 65_536 } })).code,
    ).toBe('ScriptTooLargeError');
  });

  it('a result that is too large: the effect happened, and the completed operation says so', async () => {
    const outcome = await harness.runScript(
      'try { await tools.wait({ ms: 1, value: "x".repeat(2000) }); } catch (e) { return e.message; }',
      { limits: { maxToolResultBytes: 1000 } },
    );
    expect(valueOf(outcome)).toMatch(/2002 bytes/u);
    expect(outcome.operations).toMatchObject([{ status: 'completed', resultOmitted: true }]);
    expect(outcome.operations[0]).not.toHaveProperty('result');
  });

  it('the number of concurrent calls is limited, and the others wait in order', async () => {
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    const busy = defineTool({
      name: 'busy',
      description: 'x',
      effect: 'read',
      input: z.object({ n: z.number() }),
      async execute({ n }) {
        order.push(n);
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside--;
      },
    });
    const own = openHarness({ tools: [busy], limits: { maxConcurrentToolCalls: 3, maxToolCalls: 20 } });
    await own.runScript('await Promise.all(Array.from({ length: 12 }, (_, n) => tools.busy({ n })))');
    expect(most).toBe(3);
    expect(order).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  it('console lines beyond the limits are dropped, counted, and reported once', async () => {
    const outcome = await harness.runScript('for (let i = 0; i < 500; i++) console.log("line " + i); return 1', {
      limits: { maxLogEvents: 50 },
    });
    expect(outcome.logs).toHaveLength(51);
    expect(outcome.logs[25]).toMatchObject({ level: 'warn', text: expect.stringContaining('450') as unknown });
    expect([outcome.logs[24], outcome.logs[26], outcome.logs.at(-1)].map((entry) => entry?.text)).toEqual([
      'line 24',
      'line 475',
      'line 499',
    ]);
  });

  it('console lines are kept at any rate, over segments too, and the events have each kept line once', async () => {
    const source =
      'for (let i = 0; i < 300; i++) { console.log("line " + i); if (i % 50 === 0) await sleep(0); } return 1';
    const all = await harness.runScript(source);
    expect(all.logs.map(({ text }) => text)).toEqual(Array.from({ length: 300 }, (_, line) => `line ${line}`));
    const texts: string[] = [];
    const some = await harness.runScript(source, {
      limits: { maxLogEvents: 20 },
      onEvent: ({ payload }: { payload: { type: string; text?: unknown } }) => {
        if (payload.type === 'script_log') texts.push(String(payload.text));
      },
    } as never);
    expect(some.logs.map(({ text }) => text)).toEqual([
      ...Array.from({ length: 10 }, (_, line) => `line ${line}`),
      expect.stringContaining('280 console lines were dropped here'),
      ...Array.from({ length: 10 }, (_, line) => `line ${290 + line}`),
    ]);
    expect(texts).toEqual(some.logs.map(({ text }) => text));
  });

  it('console lines are kept by their bytes, the first and the last', async () => {
    const outcome = await harness.runScript(
      'for (let i = 0; i < 100; i++) console.log(i + " " + "ä".repeat(500)); return 1',
      { limits: { maxLogBytes: 10_020 } },
    );
    const numbers = outcome.logs.map(({ text }) => parseInt(text, 10)).filter((line) => !Number.isNaN(line));
    expect(numbers).toEqual([0, 1, 2, 3, 4, 96, 97, 98, 99]);
  });

  it('a single dropped console line is counted in the singular', async () => {
    const one = await harness.runScript('for (let i = 0; i < 6; i++) console.log(i)', { limits: { maxLogEvents: 5 } });
    expect(one.logs.map(({ text }) => text).join('\n')).toContain('1 console line was dropped');
  });

  it('a limit of the engine is a RangeError', async () => {
    const outcome = await harness.runScript("let text = 'x'; for (;;) text += text;");
    expect(failureOf(outcome).message).toBe('RangeError: string too long');
  });

  it('every console level is distinguished', async () => {
    const outcome = await harness.runScript(
      'for (const level of ["log", "info", "warn", "error", "debug"]) console[level](level, 1, { a: [new Map([[1, 2]])] }); ',
    );
    expect(outcome.logs.map(({ level }) => level)).toEqual(['log', 'info', 'warn', 'error', 'debug']);
    expect(outcome.logs[0]!.text).toBe('log 1 { a: [Map {1 => 2}] }');
  });
});

describe('calls that are not awaited', () => {
  it('several calls with effects that do not stop are all named', async () => {
    const { tools, release } = sampleTools();
    onTestFinished(release);
    const outcome = await openHarness({ tools }).runScript('void tools.hold(); void tools.hold(); await sleep(1);');
    expect(failureOf(outcome).message).toBe(
      'The script ended while tools.hold, tools.hold were still running. Whether they took effect is not known.',
    );
  });

  it('a call with effects that does not stop fails the script with DetachedPromiseError', async () => {
    const { tools, release } = sampleTools();
    onTestFinished(release);
    const own = openHarness({ tools });
    const outcome = await own.runScript('void tools.hold();\nawait tools.echo({ value: 1 });\nreturn 1');
    expect(failureOf(outcome)).toMatchObject({
      code: 'DetachedPromiseError',
      phase: 'finalizing',
      toolName: 'hold',
      line: 1,
    });
    expect(outcome.operations.map(({ status }) => status)).toEqual(['unknown', 'completed']);
  });

  it('one that stops when it is aborted fails nothing', async () => {
    const outcome = await harness.runScript('void tools.send({ ms: 60_000 });\nawait tools.wait({ ms: 5 });\nreturn 1');
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations[0]).toMatchObject({ tool: 'send', status: 'aborted' });
  });

  it('with allowDetachedPromises they are awaited', async () => {
    const outcome = await harness.runScript(
      'tools.send({ ms: 40 });\nvoid tools.wait({ ms: 20, value: 2 });\nawait tools.echo({ value: 1 });\nreturn 1',
      { limits: { allowDetachedPromises: true } },
    );
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  });

  it('with allowDetachedPromises, calls at the very end are awaited too', async () => {
    const outcome = await harness.runScript('tools.send({ ms: 10 }); return 1', {
      limits: { allowDetachedPromises: true },
    });
    expect(valueOf(outcome)).toBe(1);
    expect(outcome.operations).toMatchObject([{ tool: 'send', status: 'completed' }]);
  });

  it('a floating call is awaited and reported', async () => {
    const outcome = await harness.runScript('await tools.echo({ value: 0 });\ntools.echo({ value: 1 });\nreturn 1');
    expect(outcome.diagnostics).toContainEqual(
      expect.objectContaining({ severity: 'warning', code: 'repair-floating-call', line: 2 }),
    );
  });
});

describe('limits and context of a run', () => {
  it('limits of a run replace those of the harness for this run only', async () => {
    const own = openHarness({ tools: sample.tools, limits: { maxToolCalls: 2, timeoutMs: 5_000 } });
    const budget = 'return [context.sandbox.remainingToolBudget, context.sandbox.timeoutMs]';
    expect(valueOf(await own.runScript(budget))).toEqual([2, 5_000]);
    expect(valueOf(await own.runScript(budget, { limits: { maxToolCalls: 1 } }))).toEqual([1, 5_000]);
    expect(valueOf(await own.runScript(budget))).toEqual([2, 5_000]);
  });

  it('the context contains the budget at the script’s start', async () => {
    const source = `const budgets = [];
      for (let call = 0; call < 2; call++) {
        await tools.echo({ value: call });
        budgets.push(context.sandbox.remainingToolBudget);
      }
      return budgets`;
    expect(valueOf(await harness.runScript(source, { limits: { maxToolCalls: 3 } }))).toEqual([3, 3]);
  });

  it('the context has defaults for every member, and the host’s own members take precedence', async () => {
    const data = 'return JSON.parse(JSON.stringify(context))';
    const defaults = valueOf(await harness.runScript(data)) as Record<string, unknown>;
    for (const key of ['conversationId', 'sessionId', 'turnId', 'scriptId', 'workingDirectory', 'provider', 'model'])
      expect(defaults[key], key).toEqual(expect.any(String));
    const own = valueOf(
      await harness.runScript(data, { context: { model: 'm1', turnId: 'turn', custom: { deep: [1] } } }),
    ) as Record<string, unknown>;
    expect(own).toMatchObject({ model: 'm1', turnId: 'turn', custom: { deep: [1] } });
  });

  it('the host’s context cannot forge the script’s id, its sandbox or its tools', async () => {
    const outcome = await harness.runScript('return JSON.parse(JSON.stringify(context))', {
      context: { scriptId: 'forged', sandbox: { timeoutMs: 1 }, capabilities: { tools: ['rm'] } },
    });
    expect(valueOf(outcome)).toMatchObject({
      scriptId: outcome.scriptId,
      sandbox: { timeoutMs: 30_000 },
      capabilities: { tools: expect.arrayContaining(['echo']) as unknown },
    });
  });

  it('the context can be returned completely, without its functions', async () => {
    expect(await value('return context')).toMatchObject({
      sandbox: { timeoutMs: 30_000 },
      scriptId: expect.any(String) as unknown,
    });
  });

  it('a context that JSON cannot represent is the host programmer’s mistake', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const context of [cyclic, { big: 1n }, 5, []]) {
      await expect(
        (async () => harness.runScript('return 1', { context: context as never }))(),
        String(context),
      ).rejects.toMatchObject({ name: 'ToolscriptUsageError', message: expect.stringContaining('context') as unknown });
    }
  });

  it('the clock does not advance between two settlements', async () => {
    const source =
      'const a = Date.now(); for (let i = 0; i < 1e6; i++); const b = Date.now(); await tools.wait({ ms: 20 }); return [b - a, Date.now() - b >= 15, new Date() - performance.timeOrigin >= 0]';
    expect(await value(source)).toEqual([0, true, true]);
  });
});

const SCRIPTS = tries(1000);

describe('a harness that is full', () => {
  it('runs many more scripts than it has sandboxes, each with its own value', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: {} });
    const outcomes = await Promise.all(
      Array.from({ length: SCRIPTS }, (_, n) =>
        own.runScript(`const { sum } = await tools.add({ a: ${n % 20} }); return sum`),
      ),
    );
    expect(outcomes.map(valueOf)).toEqual(Array.from({ length: SCRIPTS }, (_, n) => (n % 20) + 1));
    expect(own.stats().sandbox).toMatchObject({ completed: SCRIPTS, running: 0, waiting: 0 });
  });

  it('reports that no sandbox became free in time, and the script can be retried', async () => {
    const { tools, release, started } = sampleTools();
    const own = openHarness({ tools, workers: { size: 1, slotsPerWorker: 1, queueWaitMs: 50 } });
    await own.warm();
    const first = own.runScript('await tools.hold(); return "first"');
    await started('hold');
    const second = await own.runScript('return await tools.echo({ value: 2 })');
    expect(failureOf(second)).toMatchObject({ code: 'HarnessBusyError', retryable: true });
    expect(second.operations).toEqual([]);
    release();
    expect(valueOf(await first)).toBe('first');
    expect(valueOf(await own.runScript('return await tools.echo({ value: 2 })'))).toBe(2);
  });

  it('serves waiting scripts in order, and principals in turn', async () => {
    const order: string[] = [];
    const mark = defineTool({
      name: 'mark',
      description: 'x',
      effect: 'read',
      input: z.object({ who: z.string() }),
      execute: ({ who }) => void order.push(who),
    });
    const own = openHarness({ tools: [mark, ...sampleTools().tools], workers: { size: 1, slotsPerWorker: 1 } });
    await own.warm();
    const blocker = own.runScript('await tools.wait({ ms: 300 })');
    const mine = (who: string, principal: string) =>
      own.runScript(`await tools.mark({ who: '${who}' })`, { principal });
    await Promise.all([
      blocker,
      mine('a1', 'ann'),
      mine('a2', 'ann'),
      mine('a3', 'ann'),
      mine('b1', 'bob'),
      mine('b2', 'bob'),
    ]);
    expect(order.filter((who) => who.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(order.indexOf('b1')).toBeLessThan(order.indexOf('a3'));
  });

  it('scripts that wait on tools do not hold a worker', async () => {
    const own = openHarness({ tools: sampleTools().tools, workers: { size: 1 } });
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => own.runScript(`await tools.wait({ ms: 200 }); return ${n}`)),
    );
    expect(outcomes.map(valueOf)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(own.stats().sandbox.workersReplaced).toBe(0);
  });
});
