import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, memoryStore, ToolscriptUsageError, type HarnessOptions } from '#core/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import type {
  ApprovalRule,
  Decision,
  HarnessStore,
  Outcome,
  SandboxRuntime,
  StreamEvent,
} from '#core/protocol/index.js';
import { decideAll, failureOf, keepCopy, open, suspended, valueOf, type Effects } from './world.js';

const NOTE = 'return await tools.note({ text: "a" }).catch(({ code, message }) => [code, message])';

afterEach(() => {
  vi.restoreAllMocks();
});

function later(ms: number) {
  const systemTime = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => systemTime() + ms);
}

describe('a call that was approved before', () => {
  it.each([
    ['deny', 'refused here'],
    [[{ tool: 'note', action: 'deny' }], 'a rule forbids it'],
    [[{ tool: 'mark', action: 'approve' }], 'no rule allows it'],
  ] as const)('does not run if the current policy denies it: %j', async (approvals, why) => {
    const effects: Effects = [];
    const first = suspended(await open({ effects }).runScript(NOTE));
    const done = await open({ effects, approvals }).resume(first.suspension, decideAll(first, 'approve'));
    expect(valueOf(done)).toEqual(['ApprovalDeniedError', expect.stringContaining(why)]);
    expect(done.operations).toMatchObject([{ tool: 'note', status: 'denied' }]);
    expect(effects).toEqual([]);
  });
});

describe('the limits of a script and of the harness that resumes it', () => {
  const resumedWith = async (
    limits: NonNullable<HarnessOptions['limits']>,
    rest: string,
    before: HarnessOptions['limits'] = {},
  ) => {
    const first = suspended(await open({ limits: before }).runScript(`await tools.note({ text: "a" }); ${rest}`));
    const details: string[] = [];
    const harness = open({ limits, onInternalError: (detail) => details.push(detail) });
    const outcome = await harness.resume(first.suspension, decideAll(first, 'approve'));
    expect(details).toEqual([]);
    return outcome;
  };
  const CALLS = `let made = 1;
    try { for (;;) { await tools.read({}); made++ } } catch ({ code }) { return [made, code] }`;

  it('combine to the smaller one, for every limit that the script has not reached', async () => {
    expect(valueOf(await resumedWith({ maxToolCalls: 3 }, CALLS))).toEqual([3, 'ToolBudgetExceededError']);
    expect(valueOf(await resumedWith({ maxToolCalls: 1 }, CALLS))).toEqual([1, 'ToolBudgetExceededError']);
    expect(valueOf(await resumedWith({ maxToolCalls: 30 }, CALLS, { maxToolCalls: 2 }))).toEqual([
      2,
      'ToolBudgetExceededError',
    ]);
    const sleeps =
      'let slept = 0; try { for (;;) { await sleep(0); slept++ } } catch ({ code }) { return [slept, code] }';
    expect(valueOf(await resumedWith({ maxBuiltinCalls: 2 }, sleeps))).toEqual([2, 'ToolBudgetExceededError']);
    const late = await resumedWith({ timeoutMs: 50 }, 'await sleep(600_000)');
    expect(failureOf(late)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'wall' } });
    const busy = await resumedWith({ computeMs: 50 }, 'for (;;);');
    expect(failureOf(busy)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'compute' } });
    const large = await resumedWith(
      { memoryMb: 8 },
      'const kept = []; for (;;) kept.push("x".repeat(1_000_000) + kept.length)',
    );
    expect(failureOf(large).code).toBe('ScriptMemoryError');
    expect(failureOf(await resumedWith({ maxReturnBytes: 100 }, 'return "x".repeat(1_000)')).code).toBe(
      'SerializationError',
    );
    const loud = await resumedWith({ maxLogEvents: 2 }, 'for (let n = 0; n < 9; n++) console.log(n); return 1');
    expect(loud.logs.map(({ text }) => text)).toEqual(['0', expect.stringContaining('7 console lines'), '8']);
    const heavy = await resumedWith(
      { maxToolInputBytes: 100 },
      'return await tools.mark({ text: "x".repeat(1_000) }).catch(({ code }) => code)',
    );
    expect(valueOf(heavy)).toBe('ToolValidationError');
  });

  it('let calls beyond the budget wait for the earlier approvals, and for the original limit', async () => {
    const source = `const asked = tools.note({ text: 'asked' });
      const made = await Promise.allSettled([asked, tools.read({}), tools.mark({ text: 'more' })]);
      return made.map(({ value, reason }) => reason?.code ?? value.noted ?? value);`;
    const limits = { maxToolCalls: 2 };
    const first = suspended(await open({ limits }).runScript(source));
    expect(first.operations.map(({ status }) => status)).toEqual(['awaiting_approval', 'completed', 'not_started']);
    const effects: Effects = [];
    const harness = open({ effects });
    const again = suspended(await harness.resume(first.suspension, {}));
    const done = await harness.resume(again.suspension, decideAll(again, 'approve'));
    expect(valueOf(done)).toEqual(['asked', 'x', 'ToolBudgetExceededError']);
    expect(done.operations.map(({ status }) => status)).toEqual(['completed', 'completed', 'not_started']);
    expect(effects).toEqual(['script: asked']);
  });

  it('end the script where it is if one is already used up', async () => {
    const compute = 'const until = 3e6; for (let n = 0; n < until; n++); await tools.note({ text: "a" }); return 1';
    const first = suspended(await open().runScript(compute));
    const harness = open({ limits: { computeMs: 1 } });
    const done = await harness.resume(first.suspension, decideAll(first, 'approve'));
    expect(failureOf(done)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'compute' } });
    expect(done.operations).toMatchObject([{ tool: 'note', status: 'not_started' }]);
  });

  it('ignore defaults: a run keeps its original limits', async () => {
    const source = `await tools.note({ text: "a" }); for (let n = 1; n < 40; n++) await tools.read({}); return "all"`;
    const first = suspended(await open().runScript(source, { limits: { maxToolCalls: 40 } }));
    expect(valueOf(await open().resume(first.suspension, decideAll(first, 'approve')))).toBe('all');
  });

  it('include those of the resume instead of its harness’s', async () => {
    const first = suspended(await open().runScript(`await tools.note({ text: "a" }); ${CALLS}`));
    const harness = open({ limits: { maxToolCalls: 2 } });
    const done = await harness.resume(first.suspension, decideAll(first, 'approve'), { limits: { maxToolCalls: 4 } });
    expect(valueOf(done)).toEqual([4, 'ToolBudgetExceededError']);
    await expect(harness.resume(first.suspension, {}, { limits: { maxToolCals: 4 } as never })).rejects.toThrow(
      ToolscriptUsageError,
    );
  });

  it('combine to the smaller one for the rest of the answer, and after a crash', async () => {
    const events: StreamEvent[] = [];
    const limits = { maxToolCalls: 1 };
    const answer = ['await tools.note({ text: "a" })', 'await tools.read({}); await tools.read({})']
      .map((script) => `<tool-calls>\n${script}\n</tool-calls>\n`)
      .join('');
    let suspension = '';
    const onOutcome = (outcome: Outcome) => void (suspension = suspended(outcome).suspension);
    for await (const event of open().processText(answer, { onOutcome })) events.push(event);
    const asked = events.find(({ payload }) => payload.type === 'approval_requested')!.payload as never as {
      approval: { approval_id: string };
    };
    const played: StreamEvent[] = [];
    const rest = open({ limits }).resumeText(suspension, { [asked.approval.approval_id]: 'approve' });
    for await (const event of rest) played.push(event);
    expect(JSON.stringify(played)).toContain('ToolBudgetExceededError');

    const store = memoryStore();
    const { scriptId } = await open({ store }).runScript(
      'await tools.mark({ text: "a" }); await tools.read({}); return 1',
    );
    const lines = (await store.journal.read(scriptId))!.lines.slice(0, 2);
    const copy = await keepCopy(memoryStore(), scriptId, { lines });
    expect(failureOf(await open({ store: copy, limits }).recover(scriptId)).code).toBe('ToolExecutionError');
  });
});

describe('a default that a tool has received since', () => {
  const noteOfNow = (ran: unknown[], extra: z.ZodType) =>
    defineTool({
      name: 'note',
      description: 'Writes something down',
      approval: 'always',
      input: z.object({ text: z.string(), by: z.string().default('script'), urgent: extra }),
      execute: (input) => {
        ran.push(input);
        return 'noted';
      },
    });
  const withDefault = z.boolean().default(false);

  it('is in the arguments of a call without an approval, and in a new request', async () => {
    const ran: unknown[] = [];
    const first = suspended(await open().runScript(NOTE));
    const harness = open({ tools: [noteOfNow(ran, withDefault)] });
    const looked = suspended(await harness.resume(first.suspension));
    expect(looked.pendingApprovals).toMatchObject([
      { tool: 'note', inputJson: '{"text":"a","by":"script","urgent":false}', input: { urgent: false } },
    ]);
    expect(looked.pendingApprovals[0]!.approvalId).not.toBe(first.pendingApprovals[0]!.approvalId);
    expect(valueOf(await harness.resume(looked.suspension, decideAll(looked, 'approve')))).toBe('noted');
    expect(ran).toEqual([{ text: 'a', by: 'script', urgent: false }]);
  });

  it('is not added to an approved call, which is asked about again or refused', async () => {
    const ran: unknown[] = [];
    const first = suspended(await open().runScript(NOTE));
    const harness = open({ tools: [noteOfNow(ran, withDefault)] });
    const asked = suspended(await harness.resume(first.suspension, decideAll(first, 'approve')));
    expect(asked.pendingApprovals[0]?.changed?.map(({ what }) => what)).toEqual(['the schema of the arguments']);
    expect(ran).toEqual([]);
    expect(valueOf(await harness.resume(asked.suspension, decideAll(asked, 'approve')))).toBe('noted');
    expect(ran).toEqual([{ text: 'a', by: 'script', urgent: false }]);
    const second = suspended(await open().runScript(NOTE));
    const strict = open({ tools: [noteOfNow(ran, z.boolean())] });
    const refused = await strict.resume(second.suspension, decideAll(second, 'approve'));
    expect(valueOf(refused)).toEqual(['ToolValidationError', expect.stringContaining('urgent')]);
    expect(ran).toHaveLength(1);
  });
});

describe('the time limit of a decision', () => {
  const EXPIRED = ['ApprovalTimeoutError', expect.any(String)];
  const decideLater = async (
    ms: number,
    before: Partial<HarnessOptions>,
    now: Partial<HarnessOptions> = before,
    decision: Decision = 'approve',
  ) => {
    const effects: Effects = [];
    const first = suspended(await open({ ...before, effects }).runScript(NOTE));
    later(ms);
    const events: StreamEvent[] = [];
    const harness = open({ ...now, effects, onEvent: (event) => events.push(event) });
    const done = await harness.resume(first.suspension, decideAll(first, decision));
    vi.restoreAllMocks();
    return { value: valueOf(done), operations: done.operations, request: first.pendingApprovals[0]!, effects, events };
  };
  const limits = { approvalTimeoutMs: 60_000 };

  it('applies to suspended scripts if the host sets it: a later approval is ignored', async () => {
    const { value, operations, request, effects, events } = await decideLater(61_000, { limits });
    expect(request.expiresAt).toBe(request.createdAt! + 60_000);
    expect(value).toEqual(EXPIRED);
    expect(operations).toMatchObject([{ status: 'denied' }]);
    expect(events.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ type: 'approval_resolved', decision: 'timeout', by: 'clock' }),
    );
    expect(effects).toEqual([]);
    expect((await decideLater(30_000, { limits })).value).toEqual({ noted: 'a' });
  });

  it('is that of the resuming harness if that is shorter; the default does not apply', async () => {
    expect((await decideLater(61_000, {}, { limits })).value).toEqual(EXPIRED);
    const { value, request } = await decideLater(90 * 86_400_000, {});
    expect(value).toEqual({ noted: 'a' });
    expect(request.expiresAt).toBeUndefined();
  });

  it('also ends undecided requests', async () => {
    const first = suspended(await open({ limits }).runScript(NOTE));
    later(61_000);
    expect(valueOf(await open({ limits }).resume(first.suspension))).toEqual(EXPIRED);
  });

  it('can be set by a decision itself', async () => {
    const until = (ms: number) => ({ decision: 'approve', expiresAt: Date.now() + ms }) as const;
    expect((await decideLater(30_000, {}, {}, until(60_000))).value).toEqual({ noted: 'a' });
    expect((await decideLater(61_000, {}, {}, until(60_000))).value).toEqual(EXPIRED);
    await expect(decideLater(0, {}, {}, { decision: 'approve', expiresAt: 'soon' } as never)).rejects.toThrow(
      ToolscriptUsageError,
    );
  });
});

/**
 * A runtime that reports version `speaks` of the bridge, and whose captures name an image of another build, with
 * `imageProtocol`.
 */
function bridge(speaks: number, imageProtocol?: number): SandboxRuntime {
  const pool = new QuickJsPool({ size: 1 });
  const changed = async () => {
    const [engine, image] = [...(await pool.images())];
    const text = Buffer.from(image![1]);
    const end = text.indexOf(10);
    const header = {
      ...(JSON.parse(text.subarray(0, end).toString()) as object),
      protocol: imageProtocol,
      build: 'other',
    };
    const bytes = Buffer.concat([Buffer.from(JSON.stringify(header)), text.subarray(end)]);
    return new Map([engine!, [createHash('sha256').update(bytes).digest('hex'), bytes]]);
  };
  return {
    name: 'quickjs',
    bridge: { version: speaks, known: [speaks] },
    warm: () => pool.warm(),
    run: (job, observer) => {
      const run = pool.run(job, observer);
      const capture = async () => {
        const captured = await run.capture?.();
        return captured && imageProtocol !== undefined
          ? { ...captured, images: [...(await changed()).keys()] }
          : captured;
      };
      return { settle: run.settle.bind(run), cancel: run.cancel.bind(run), capture };
    },
    images: () => (imageProtocol === undefined ? pool.images() : changed()),
    restore: pool.restore.bind(pool),
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}

describe('a call that waited under a name that is an alias now', () => {
  const writing = (input: z.ZodObject, aliases: Record<string, string> | undefined, effects: Effects = []) =>
    defineTool({
      name: 'write',
      description: 'Writes',
      approval: 'always',
      input,
      ...(aliases && { aliases }),
      permissions: ({ path }) => [`file:${String(path)}`],
      execute: ({ path }) => void effects.push(String(path)),
    });
  const before = writing(z.object({ filePath: z.string() }), undefined);
  const resumedUnder = async (rules: ApprovalRule[]) => {
    const effects: Effects = [];
    const now = writing(z.object({ path: z.string() }), { filePath: 'path' }, effects);
    const source = 'return await tools.write({ filePath: "/etc/passwd" }).catch(({ code }) => code)';
    const first = suspended(await open({ tools: [before] }).runScript(source));
    const harness = open({ tools: [now], approvals: [...rules, { action: 'ask' }] });
    const done = await harness.resume(first.suspension, decideAll(first, 'approve'));
    return { harness, done, effects };
  };

  it('is asked about again, and runs under the present name after its approval', async () => {
    const { harness, done, effects } = await resumedUnder([]);
    const asked = suspended(done);
    expect(asked.pendingApprovals).toMatchObject([{ input: { path: '/etc/passwd' } }]);
    expect(effects).toEqual([]);
    await harness.resume(asked.suspension, decideAll(asked, 'approve'));
    expect(effects).toEqual(['/etc/passwd']);
  });

  it.each<[string, ApprovalRule]>([
    ['its argument', { input: { path: '/etc/*' }, action: 'deny' }],
    ['its argument, by the alias', { input: { filePath: '/etc/*' }, action: 'deny' }],
    ['what it touches', { permission: 'file:/etc/*', action: 'deny' }],
  ])('follows a rule about %s', async (_, rule) => {
    const { done, effects } = await resumedUnder([rule]);
    expect([valueOf(done), effects]).toEqual(['ApprovalDeniedError', []]);
  });
});

describe('a suspension of another version of the bridge', () => {
  it('is rejected if the version is unknown here, before any of it runs', async () => {
    const [effects, store]: [Effects, HarnessStore] = [[], memoryStore()];
    const later = open({ effects, store, runtime: bridge(99) });
    const first = suspended(await later.runScript(NOTE));
    const harness = open({ effects, store });
    for (const done of [
      await harness.resume(first.suspension, decideAll(first, 'approve')),
      await harness.recover(first.scriptId),
    ])
      expect(failureOf(done)).toMatchObject({
        code: 'SuspensionError',
        message: expect.stringContaining('version 99'),
      });
    expect(effects).toEqual([]);
    expect(valueOf(await later.resume(first.suspension, decideAll(first, 'approve')))).toEqual({ noted: 'a' });
  });

  it('is replayed along its tape if the version is known and its memory cannot be restored', async () => {
    const [effects, store, details]: [Effects, HarnessStore, string[]] = [[], memoryStore(), []];
    const first = suspended(await open({ effects, store, runtime: bridge(1, 99) }).runScript(NOTE));
    const harness = open({ effects, store, onInternalError: (detail) => details.push(detail) });
    expect(valueOf(await harness.resume(first.suspension, decideAll(first, 'approve')))).toEqual({ noted: 'a' });
    expect(details).toEqual([expect.stringContaining('version 99')]);
    expect(effects).toEqual(['script: a']);
  });

  it('continues from its memory if only its image is of another build', async () => {
    const [effects, store, details]: [Effects, HarnessStore, string[]] = [[], memoryStore(), []];
    const first = suspended(await open({ effects, store, runtime: bridge(1, 1) }).runScript(NOTE));
    const own = await new QuickJsPool({ size: 1 }).images();
    expect((await store.images.list()).filter((name) => !own.has(name))).toHaveLength(1);
    const harness = open({ effects, store, onInternalError: (detail) => details.push(detail) });
    expect(valueOf(await harness.resume(first.suspension, decideAll(first, 'approve')))).toEqual({ noted: 'a' });
    expect(details).toEqual([]);
  });
});
