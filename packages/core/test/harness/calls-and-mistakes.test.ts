import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, memoryStore, type Harness } from '#core/index.js';
import type { Operation, Outcome, StreamEvent, ToolCallContext } from '#core/protocol/index.js';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

const { sample, harness } = sharedHarness();

describe('callTool', () => {
  it('goes through the same checks and gives one operation', async () => {
    const operation = await harness.callTool('add', { a: 2 });
    expect(operation).toMatchObject({
      tool: 'add',
      input: { a: 2, b: 1 },
      effect: 'read',
      status: 'completed',
      result: { sum: 3 },
      callId: expect.any(String) as unknown,
    });
    expect(operation.line).toBeUndefined();
  });

  it.each<[string, unknown, Partial<Operation>]>([
    [
      'add',
      { a: 'x' },
      { status: 'failed', error: { code: 'ToolValidationError', message: expect.stringContaining('args.a') as never } },
    ],
    [
      'add',
      { a: 1, zzz: 1 },
      { status: 'failed', error: { code: 'ToolValidationError', message: expect.stringContaining('zzz') as never } },
    ],
    [
      'ad',
      { a: 1 },
      { status: 'failed', error: { code: 'ToolNotFoundError', message: expect.stringContaining('add') as never } },
    ],
    ['fail', { message: 'm' }, { status: 'failed', error: { code: 'ToolExecutionError', message: 'm' } }],
    [
      'write',
      { path: 'x' },
      { status: 'denied', error: { code: 'ApprovalDeniedError', message: expect.any(String) as never } },
    ],
    [
      'echo',
      { value: 1n },
      { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } },
    ],
    [
      'echo',
      undefined,
      { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } },
    ],
    [
      'echo',
      'text',
      { status: 'failed', error: { code: 'ToolValidationError', message: expect.any(String) as never } },
    ],
  ])('%s(%o) is told, never thrown', async (name, input, expected) => {
    expect(await harness.callTool(name, input)).toMatchObject(expected);
  });

  it('reports arguments that throw while they are serialised, whatever they throw', async () => {
    const throws = {
      toJSON() {
        throw Object.create(null);
      },
    };
    expect(await harness.callTool('echo', { value: throws })).toMatchObject({
      status: 'failed',
      error: {
        code: 'ToolValidationError',
        message: 'The arguments of echo are wrong: they cannot be written as JSON.',
      },
    });
  });

  it('asks for approval as a script does', async () => {
    const operation = await harness.callTool(
      'write',
      { path: 'x', content: 'ab' },
      {
        callId: 'call_mine',
        approvals: ({ line, snippet, inputJson }) =>
          line === undefined && snippet === undefined && inputJson === '{"path":"x","content":"ab"}'
            ? 'approve'
            : 'deny',
      },
    );
    expect(operation).toMatchObject({
      callId: 'call_mine',
      status: 'completed',
      result: { path: 'x', bytes: 2 },
    });
  });

  it('ends when its wall clock expires, however long the tool would take; a user may take longer', async () => {
    const late = await harness.callTool('wait', { ms: 60_000 }, { limits: { timeoutMs: 30 } });
    expect(late).toMatchObject({ status: 'aborted', error: { code: 'ToolExecutionError' } });
    expect(late.error?.message).toContain('timeoutMs');
    const slowly = openHarness({
      tools: sampleTools().tools,
      approvals: () => new Promise((resolve) => setTimeout(() => resolve('approve'), 100)),
    });
    expect(await slowly.callTool('write', { path: 'x' }, { limits: { timeoutMs: 50 } })).toMatchObject({
      status: 'completed',
    });
  });

  it('is aborted by its signal, before and while it runs', async () => {
    expect(await harness.callTool('wait', { ms: 60_000 }, { signal: AbortSignal.abort() })).toMatchObject({
      status: expect.stringMatching(/not_started|aborted/u) as never,
    });
    const stop = new AbortController();
    const pending = harness.callTool('wait', { ms: 60_000 }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    expect(await pending).toMatchObject({ status: 'aborted' });
  });

  it('is reported as events of a separate run', async () => {
    const events: StreamEvent[] = [];
    await harness.callTool('add', { a: 1 }, { onEvent: (event) => void events.push(event) });
    expect(events.map(({ payload }) => payload.type)).toEqual(['tool_call_start', 'tool_call_done']);
    expect(events.map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it('carries app and principal, and an idempotency key', async () => {
    const seen: unknown[] = [];
    const spy = defineTool({
      name: 'spy',
      description: 'x',
      effect: 'read',
      execute: (_, { app, principal, scriptId, idempotencyKey }) =>
        void seen.push({ app, principal, scriptId, key: typeof idempotencyKey }),
    });
    const own = openHarness({ tools: [spy] });
    await own.callTool('spy', {}, { app: { db: 1 }, principal: 'ann' });
    expect(seen).toEqual([{ app: { db: 1 }, principal: 'ann', scriptId: undefined, key: 'string' }]);
  });

  it('does not reach a tool that is not exposed', async () => {
    const own = openHarness({ tools: sample.tools, expose: { tools: ['echo'] } });
    expect(await own.callTool('add', { a: 1 })).toMatchObject({
      status: 'failed',
      error: { code: 'ToolNotFoundError' },
    });
    expect(valueOf(await own.runScript('return Object.keys(tools)'))).toEqual(['echo']);
    const hidden = '"add" in tools; return await tools["a" + "dd"]({ a: 1 })';
    expect(failureOf(await own.runScript(hidden)).code).toBe('ToolNotFoundError');
  });
});

describe('asTool', () => {
  it('is run_script: a name, a description, a schema and a function that answers with text', async () => {
    const tool = harness.asTool();
    expect(tool).toMatchObject({
      name: 'run_script',
      description: expect.stringContaining('tools.') as unknown,
      inputSchema: { type: 'object', required: ['code'] },
    });
    const said = await tool.execute({ code: 'text("hello"); return { sum: (await tools.add({ a: 1, b: 2 })).sum }' });
    expect(said).toContain('"sum":3'.replace(':', said.includes('"sum": 3') ? ': ' : ':'));
    expect(said).toContain('hello');
  });

  it('reports a failure: the error, a frame and the operations', async () => {
    const said = await harness
      .asTool()
      .execute({ code: 'await tools.echo({ value: 1 });\nawait tools.fail({ message: "disk full" });' });
    expect(said).toContain('ToolExecutionError');
    expect(said).toContain('disk full');
    expect(said).toContain('> 2 |');
    expect(said).toMatch(/echo/u);
  });

  it.each([{}, { code: 5 }, null, undefined, { code: '' }])(
    'wrong arguments %o are an answer, not an exception',
    async (input) => {
      expect(await harness.asTool().execute(input as never)).toEqual(expect.any(String));
    },
  );

  it('suspends a script only if a listener receives the suspension, and otherwise denies calls without a decision', async () => {
    const code = 'return await tools.write({ path: "x" })';
    const reports: string[] = [];
    const lone = openHarness({ tools: sample.tools, onInternalError: (detail) => reports.push(detail) });
    expect(await lone.asTool().execute({ code })).toContain('ApprovalDeniedError');
    expect(reports).toEqual([
      expect.stringMatching(/denied a call of the tool "write".*`approvals`.*`onOutcome`.*`store`/u),
    ]);
    const denying = lone.asTool({ approvals: 'deny' });
    expect(await denying.execute({ code })).toContain('ApprovalDeniedError');
    expect(reports).toHaveLength(1);
    const outcomes: Outcome[] = [];
    const said = await lone.asTool({ onOutcome: (outcome) => outcomes.push(outcome) }).execute({ code });
    expect(said).toContain('Script suspended');
    expect(outcomes).toMatchObject([{ status: 'suspended', pendingApprovals: [{ tool: 'write' }] }]);
    const kept = openHarness({ tools: sample.tools, store: memoryStore() });
    expect(await kept.asTool().execute({ code })).toContain('Script suspended');
  });

  it('ends with the signal of the agent library', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    expect(await harness.asTool().execute({ code: 'await sleep(60_000)' }, { abortSignal: stop.signal })).toContain(
      'ScriptCancelledError',
    );
  });
});

describe('the host programmer’s mistakes are thrown as a ToolscriptUsageError', () => {
  const tools = () => sample.tools;
  it.each<[string, () => unknown, RegExp]>([
    ['an unknown option', () => createHarness({ tools: tools(), aprovals: 'auto' } as never), /aprovals.*approvals/u],
    [
      'an unknown limit',
      () => createHarness({ tools: tools(), limits: { timoutMs: 5 } } as never),
      /timoutMs.*timeoutMs/u,
    ],
    [
      'an unknown worker option',
      () => createHarness({ tools: tools(), workers: { slots: 1 } } as never),
      /slots.*slotsPerWorker/u,
    ],
    ['an unknown exposure', () => createHarness({ tools: tools(), expose: { tool: [] } } as never), /tool.*tools/u],
    ['an unknown detect option', () => createHarness({ tools: tools(), detect: { tag: [] } } as never), /tag.*tags/u],
    ['an unknown mode', () => createHarness({ tools: tools(), mode: 'dryrun' } as never), /mode/u],
    ['no tools', () => createHarness({} as never), /tools/u],
    ['no options', () => createHarness(undefined as never), /./u],
    ['tools that are none', () => createHarness({ tools: [{ name: 'x' }] } as never), /defineTool|tool/u],
    ['two tools of one name', () => createHarness({ tools: [tools()[0]!, tools()[0]!] }), /echo/u],
    ['a tool that is not there', () => createHarness({ tools: tools(), expose: { tools: ['ecoh'] } }), /ecoh.*echo/u],
    [
      'a pack that is not there',
      () => createHarness({ tools: tools(), expose: { pack: 'file-op' } }),
      /file-op.*file-ops/u,
    ],
    ['a limit out of range', () => createHarness({ tools: tools(), limits: { timeoutMs: -1 } }), /timeoutMs/u],
    [
      'a limit of the wrong type',
      () => createHarness({ tools: tools(), limits: { memoryMb: '96' } } as never),
      /memoryMb/u,
    ],
    ['approvals that are none', () => createHarness({ tools: tools(), approvals: 'always' } as never), /approvals/u],
    [
      'a rule with an unknown member',
      () => createHarness({ tools: tools(), approvals: [{ tols: 'x', action: 'deny' }] } as never),
      /tols/u,
    ],
    ['a runtime that is none', () => createHarness({ tools: tools(), runtime: 'v8' } as never), /runtime/u],
    ['a reserved name', () => defineTool({ name: 'then', description: 'x', execute: () => 1 }), /then/u],
  ])('%s', async (_, act, message) => {
    let thrown: unknown;
    try {
      await (act() as Harness).close();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ name: 'ToolscriptUsageError', message: expect.stringMatching(message) as unknown });
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['a script that is no text', () => harness.runScript(5 as never), /string/u],
    [
      'an unknown limit of a run',
      () => harness.runScript('return 1', { limits: { memoryMB: 5 } as never }),
      /memoryMB.*memoryMb/u,
    ],
    ['an unknown option of a run', () => harness.runScript('return 1', { timeoutMs: 5 } as never), /timeoutMs/u],
    [
      'wrong approvals of a run',
      () => harness.runScript('await tools.write({ path: "x" })', { approvals: 'always' as never }),
      /approvals/u,
    ],
    ['an unknown mode of a run', () => harness.runScript('return 1', { mode: 'dryrun' as never }), /mode/u],
    [
      'an unknown limit of a call',
      () => harness.callTool('echo', { value: 1 }, { limits: { memoryMB: 5 } as never }),
      /memoryMB/u,
    ],
  ])('%s', async (_, act, message) => {
    await expect((async () => act())()).rejects.toMatchObject({
      name: 'ToolscriptUsageError',
      message: expect.stringMatching(message) as unknown,
    });
  });

  it('a method that returns a promise rejects and never throws synchronously', async () => {
    const calls = [
      () => harness.runScript(5 as never),
      () => harness.runScript('return 1', { limits: { nope: 1 } as never }),
      () => harness.callTool('echo', {}, { limits: { nope: 1 } as never }),
    ];
    for (const call of calls) {
      let promise: unknown;
      expect(() => (promise = call())).not.toThrow();
      await expect(promise).rejects.toMatchObject({ name: 'ToolscriptUsageError' });
    }
  });
});

describe('a tool receives', () => {
  it('the host’s context, the principal, the script and a key that is the same for the same call', async () => {
    const seen: Record<string, unknown>[] = [];
    const spy = defineTool({
      name: 'spy',
      description: 'x',
      effect: 'read',
      execute: (_, { app, principal, signal, callId, scriptId, idempotencyKey, maxOutputBytes }) =>
        void seen.push({ app, principal, aborted: signal.aborted, callId, scriptId, idempotencyKey, maxOutputBytes }),
    });
    const own = openHarness({ tools: [spy], limits: { maxToolOutputBytes: 1234 } });
    const app = { db: Symbol('not JSON') };
    const outcome = await own.runScript('await tools.spy(); await tools.spy({})', { app, principal: 'ann' });
    expect(seen).toMatchObject(
      [0, 1].map((index) => ({
        app,
        principal: 'ann',
        aborted: false,
        callId: outcome.operations[index]!.callId,
        scriptId: outcome.scriptId,
        maxOutputBytes: 1234,
      })),
    );
    expect(seen[0]!['app']).toBe(app);
    const keys = seen.map(({ idempotencyKey }) => idempotencyKey as string);
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((key, index) => key.startsWith(outcome.scriptId) && key.endsWith(String(index)))).toBe(true);
  });

  it('a warning of a tool is in the diagnostics of its script, once and at its call', async () => {
    const warns = defineTool({
      name: 'warns',
      description: 'x',
      effect: 'read',
      execute: (_, { warn }) => warn?.('not as declared'),
    });
    const outcome = await openHarness({ tools: [warns] }).runScript(
      '\nawait tools.warns(); return await tools.warns();',
    );
    expect(outcome).toMatchObject({
      status: 'completed',
      diagnostics: [{ severity: 'warning', code: 'tool-warning', message: 'not as declared', line: 2 }],
    });
    expect(outcome.diagnostics).toHaveLength(1);
  });

  it('a warning of a tool that has ended, or that is no text, is dropped', async () => {
    let warnLate: ToolCallContext['warn'];
    const warns = defineTool({
      name: 'warns',
      description: 'x',
      effect: 'read',
      input: z.object({ again: z.boolean() }),
      execute: ({ again }, { warn }) => {
        if (again) return warnLate?.('late');
        warnLate = warn;
        return warn?.(5 as never);
      },
    });
    const outcome = await openHarness({ tools: [warns] }).runScript(
      'await tools.warns({ again: false }); return await tools.warns({ again: true });',
    );
    expect(outcome).toMatchObject({ status: 'completed', diagnostics: [] });
  });

  it('progress reports of a tool are those of its script', async () => {
    const events: StreamEvent[] = [];
    const chatty = defineTool({
      name: 'chatty',
      description: 'x',
      effect: 'read',
      execute: (_, { progress }) => progress('half way'),
    });
    const own = openHarness({ tools: [chatty] });
    const outcome = await own.runScript('await tools.chatty()', { onEvent: (event) => void events.push(event) });
    expect(events.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ type: 'script_progress', message: 'half way', call_id: outcome.operations[0]!.callId }),
    );
  });
});
