import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type HarnessOptions } from '#core/index.js';
import type { ApprovalRequest, Decision, StreamEvent } from '#core/protocol/index.js';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';
import { withEnoughTime } from '@toolscript/testkit/enough-time';

describe('approvals', () => {
  const run = (approvals: HarnessOptions['approvals'], source: string, extra: Partial<HarnessOptions> = {}) => {
    const made = sampleTools();
    const own = openHarness({ tools: made.tools, ...extra, ...(approvals === undefined ? {} : { approvals }) });
    return { ...made, own, outcome: own.runScript(source) };
  };
  const names =
    'const seen = []; for (const path of PATHS) try { seen.push((await tools.write({ path })).path); } catch (e) { seen.push(e.name); } return seen';
  const attempt = (...paths: string[]) => names.replace('PATHS', JSON.stringify(paths));

  it('auto approves every call, deny denies every call, and neither asks about reads', async () => {
    expect(valueOf(await run('auto', attempt('a', 'b')).outcome)).toEqual(['a', 'b']);
    expect(valueOf(await run('deny', attempt('a', 'b')).outcome)).toEqual([
      'ApprovalDeniedError',
      'ApprovalDeniedError',
    ]);
    expect(valueOf(await run('deny', 'return await tools.echo({ value: 1 })').outcome)).toBe(1);
  });

  it('are omitted: a script and a structured call that need one are suspended', async () => {
    const outcome = await run(undefined, 'await tools.write({ path: "x" })').outcome;
    expect(outcome).toMatchObject({ status: 'suspended', pendingApprovals: [{ tool: 'write', line: 1 }] });
    const operation = await openHarness({ tools: sampleTools().tools }).callTool('write', { path: 'x' });
    expect(operation).toMatchObject({
      status: 'awaiting_approval',
      scriptId: expect.stringMatching(/^scr_/u) as unknown,
      pendingApprovals: [{ tool: 'write', inputJson: '{"path":"x","content":""}' }],
    });
  });

  it('rules decide by tool, argument, effect and permission; the first that matches holds', async () => {
    const rules = [
      { tool: 'write', input: { path: 'secret*' }, action: 'deny' },
      { tool: 'wri*', permission: 'file:src/*', action: 'approve' },
      { effect: 'write', input: { path: 'docs/*' }, action: 'approve' },
    ] as const;
    expect(valueOf(await run(rules, attempt('src/a', 'secret.txt', 'docs/b', 'other')).outcome)).toEqual([
      'src/a',
      'ApprovalDeniedError',
      'docs/b',
      'ApprovalDeniedError',
    ]);
  });

  it('rules may refer a call to a user', async () => {
    const asked: string[] = [];
    const approvals = {
      rules: [
        { tool: 'write', input: { path: 'auto*' }, action: 'approve' },
        { tool: 'write', action: 'ask' },
      ],
      ask: ({ inputJson }: ApprovalRequest): Decision => (asked.push(inputJson), 'approve'),
    } as const;
    expect(valueOf(await run(approvals, attempt('auto1', 'x')).outcome)).toEqual(['auto1', 'x']);
    expect(asked).toEqual(['{"path":"x","content":""}']);
  });

  it('a run may have its own approvals', async () => {
    const { own } = run('deny', 'return 1');
    expect(valueOf(await own.runScript(attempt('a'), { approvals: 'auto' }))).toEqual(['a']);
    expect(valueOf(await own.runScript(attempt('a')))).toEqual(['ApprovalDeniedError']);
  });

  it('the request contains the exact text that will run, its place, the plan and a safe rendering', async () => {
    const requests: ApprovalRequest[] = [];
    const { outcome, deeds } = run(
      (request) => (requests.push(request), 'approve'),
      'const path = "a\\u202eb";\nawait tools.write({ path, content: "c", approvalContext: "why" });',
    );
    const { scriptId } = await outcome;
    expect(requests).toMatchObject([
      {
        scriptId,
        tool: 'write',
        effect: 'write',
        line: 2,
        snippet: 'await tools.write({ path, content: "c", approvalContext: "why" });',
        context: 'why',
        input: { path: 'a\u202eb', content: 'c', approvalContext: 'why' },
        plan: [{ tool: 'write', line: 2 }],
      },
    ]);
    expect(JSON.parse(requests[0]!.inputJson)).toEqual(requests[0]!.input);
    expect(requests[0]!.rendered).not.toContain('\u202e');
    expect(deeds[0]!.input).toEqual(requests[0]!.input);
    expect((await outcome).operations[0]!.input).toEqual(requests[0]!.input);
  });

  it('the approved text runs even if the script changes its object after the call', async () => {
    const { outcome, deeds } = run(
      () => new Promise((resolve) => setTimeout(() => resolve('approve'), 20)),
      'const args = { path: "safe" }; const p = tools.write(args); args.path = "evil"; await p;',
    );
    await outcome;
    expect(deeds[0]!.input).toMatchObject({ path: 'safe' });
  });

  it('a user may edit the arguments, which are validated and run', async () => {
    const edit = (input: unknown) => () => ({ decision: 'approve', input }) as const;
    const edited = run(edit({ path: 'edited' }), 'return await tools.write({ path: "x", content: "abc" })');
    expect(valueOf(await edited.outcome)).toEqual({ path: 'edited', bytes: 0 });
    expect((await edited.outcome).operations[0]!.input).toEqual({ path: 'edited', content: '' });
    const wrong = run(edit({ path: 5 }), 'return await tools.write({ path: "x" })');
    expect(failureOf(await wrong.outcome)).toMatchObject({ code: 'ApprovalDeniedError' });
    expect(wrong.deeds).toEqual([]);
  });

  it('remember: script answers every further call of that tool in this script, and in no other', async () => {
    let asked = 0;
    const { own, outcome } = run(() => (asked++, { decision: 'approve', remember: 'script' }), attempt('a', 'b', 'c'));
    expect(valueOf(await outcome)).toEqual(['a', 'b', 'c']);
    expect(asked).toBe(1);
    expect(valueOf(await own.runScript(attempt('d')))).toEqual(['d']);
    expect(asked).toBe(2);
  });

  it('a callback that throws, or answers something else, is a denial', async () => {
    for (const approvals of [
      () => {
        throw new Error('broken');
      },
      async () => Promise.reject(new Error('broken')),
      () => 'maybe',
      () => undefined,
      () => ({ decision: 'approve', remember: 'forever' }),
    ]) {
      const { outcome, deeds } = run(approvals as never, attempt('a'));
      expect(valueOf(await outcome)).toEqual(['ApprovalDeniedError']);
      expect(deeds).toEqual([]);
    }
  });

  it('a missing decision is an ApprovalTimeoutError that the script can catch', async () => {
    const { outcome, deeds } = run(
      () => new Promise(() => {}),
      'try { await tools.write({ path: "x" }); } catch (e) { return [e instanceof ApprovalTimeoutError, e.name]; }',
      { limits: { approvalTimeoutMs: 50 } },
    );
    expect(valueOf(await outcome)).toEqual([true, 'ApprovalTimeoutError']);
    expect(deeds).toEqual([]);
    const uncaught = run(() => new Promise(() => {}), 'await tools.write({ path: "x" })', {
      limits: { approvalTimeoutMs: 50 },
    });
    expect(failureOf(await uncaught.outcome)).toMatchObject({ code: 'ApprovalTimeoutError', retryable: false });
    expect((await uncaught.outcome).operations).toMatchObject([{ status: 'denied' }]);
  });

  it('the wall clock is paused while the script waits only for approvals', async () => {
    const source = 'await tools.write({ path: "a" }); await tools.echo({ value: 1 }); return "done"';
    const within = (timeoutMs: number) => {
      const late = () => new Promise<Decision>((resolve) => setTimeout(() => resolve('approve'), timeoutMs * 1.5));
      return run(late, source, { limits: { timeoutMs } }).outcome;
    };
    const outcome = await withEnoughTime(1_000, within, ({ status }) => status === 'completed');
    expect(valueOf(outcome)).toBe('done');
    expect(outcome.metadata.approvalWaitMs).toBeGreaterThan(1_000);
  });

  it('the wall clock runs while a tool runs beside the approval', async () => {
    const source = 'await Promise.all([tools.write({ path: "a" }), tools.wait({ ms: 600_000 })])';
    const outcome = await withEnoughTime(
      300,
      (timeoutMs) => run(() => new Promise(() => {}), source, { limits: { timeoutMs } }).outcome,
      ({ operations }) => operations.length === 2,
    );
    expect(failureOf(outcome)).toMatchObject({ code: 'ScriptTimeoutError' });
    expect(outcome.operations.map(({ status }) => status)).toEqual(['not_started', 'aborted']);
  });

  it('a call that waits for approval holds no place', async () => {
    const approve: (() => void)[] = [];
    const waiting = () => new Promise<Decision>((resolve) => approve.push(() => resolve('approve')));
    const { outcome, own } = run(
      waiting,
      'const writes = [1, 2, 3].map((n) => tools.write({ path: "p" + n })); const e = await tools.echo({ value: "passed" }); context.emitProgress("echoed"); return [e, (await Promise.all(writes)).length]',
      {
        limits: { maxConcurrentToolCalls: 1 },
        onEvent: ({ payload }) => void (payload.type === 'script_progress' && approve.forEach((go) => go())),
      },
    );
    expect(valueOf(await outcome)).toEqual(['passed', 3]);
    expect(own.stats().sandbox.running).toBe(0);
  });

  it('a cancellation during the wait ends the script, and a later answer runs nothing', async () => {
    const { tools, deeds } = sampleTools();
    const stop = new AbortController();
    let answer: (decision: Decision) => void = () => {};
    const own = openHarness({
      tools,
      approvals: () => {
        setTimeout(() => stop.abort(), 10);
        return new Promise((resolve) => (answer = resolve));
      },
    });
    const outcome = await own.runScript('await tools.write({ path: "x" })', { signal: stop.signal });
    answer('approve');
    await own.runScript('await tools.wait({ ms: 10 })');
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations).toMatchObject([{ tool: 'write', status: 'not_started' }]);
    expect(deeds.filter(({ tool }) => tool === 'write')).toEqual([]);
  });

  it('are reported as events: requested, then resolved with the decider', async () => {
    const events: StreamEvent[] = [];
    const { own, outcome } = run(() => ({ decision: 'deny', note: 'too risky', remember: 'workspace' }), 'return 1', {
      onEvent: (event) => void events.push(event),
    });
    await outcome;
    await own.runScript('await tools.write({ path: "x" }).catch(() => {})');
    const told = events.map(({ payload }) => payload).filter(({ type }) => type.startsWith('approval_'));
    expect(told).toMatchObject([
      { type: 'approval_requested', approval: { tool: 'write', input_json: '{"path":"x","content":""}', line: 1 } },
      { type: 'approval_resolved', decision: 'deny', by: 'person', note: 'too risky', remember: 'workspace' },
    ]);
    expect((told[1] as { approval_id: string }).approval_id).toBe(
      (told[0] as { approval: { approval_id: string } }).approval.approval_id,
    );
  });

  it('a tool may decide for each call whether it needs one', async () => {
    const picky = defineTool({
      name: 'picky',
      description: 'x',
      effect: 'external',
      approval: ({ big }: { big: boolean }) => big,
      input: z.object({ big: z.boolean() }),
      execute: ({ big }) => big,
    });
    const own = openHarness({ tools: [picky], approvals: 'deny' });
    expect(
      valueOf(
        await own.runScript(
          'return [await tools.picky({ big: false }), await tools.picky({ big: true }).catch((e) => e.name)]',
        ),
      ),
    ).toEqual([false, 'ApprovalDeniedError']);
  });
});
