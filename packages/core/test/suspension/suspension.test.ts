import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { defineTool, listScripts, memoryStore } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { ApprovalRequest, Decision, Outcome, StreamEvent } from '#core/protocol/index.js';
import { decideAll, failureOf, open, suspended, tools, valueOf, type Effects } from './world.js';
import { withEnoughTime } from '@toolscript/testkit/enough-time';

describe('a script whose calls are not decided here', () => {
  it('is suspended with all pending work, and holds no sandbox', async () => {
    const harness = open();
    const outcome = suspended(
      await harness.runScript(
        'console.log("asking"); text("so far"); await tools.read({}); return await Promise.all([tools.note({ text: "a" }), tools.note({ text: "b" })])',
      ),
    );
    expect(outcome.pendingApprovals.map(({ tool, input, line }) => ({ tool, input, line }))).toEqual([
      { tool: 'note', input: { text: 'a', by: 'script' }, line: 1 },
      { tool: 'note', input: { text: 'b', by: 'script' }, line: 1 },
    ]);
    expect(outcome.operations.map(({ status }) => status)).toEqual([
      'completed',
      'awaiting_approval',
      'awaiting_approval',
    ]);
    expect(outcome).toMatchObject({ output: 'so far', logs: [{ text: 'asking' }] });
    expect(harness.stats().sandbox.running).toBe(0);
    expect(outcome.suspension).not.toContain('asking');
  });

  it('resumes in another harness at the exact await, with its value, its operations and its logs', async () => {
    const effects: Effects = [];
    const source = `
      console.log('before');
      const first = await tools.mark({ text: 'once' });
      const second = await tools.note({ text: 'two' });
      console.log('after');
      return [first, second.noted];`;
    const outcome = suspended(await open({ effects }).runScript(source));
    const events: StreamEvent[] = [];
    const done = await open({ effects }).resume(outcome.suspension, decideAll(outcome, 'approve'), {
      onEvent: (event) => events.push(event),
    });
    expect(valueOf(done)).toEqual(['once', 'two']);
    expect(effects).toEqual(['mark: once', 'script: two']);
    expect(done.operations.map(({ tool, status, line }) => [tool, status, line])).toEqual([
      ['mark', 'completed', 3],
      ['note', 'completed', 4],
    ]);
    expect(done.logs.map(({ text }) => text)).toEqual(['before', 'after']);
    expect(done.metadata.toolCallsMade).toBe(2);
    expect(events.filter(({ payload }) => payload.type === 'script_log')).toHaveLength(1);
  });

  it('keeps its live state: closures, private fields, maps keyed by objects, generators, try and finally', async () => {
    const source = `
      class Purse { #coins = 3; spend(n) { this.#coins -= n; return this.#coins; } }
      const purse = new Purse(); const key = {}; const map = new Map([[key, 'kept']]);
      let count = 0; const bump = () => ++count; bump();
      const steps = [];
      async function* generate() {
        try { yield await tools.note({ text: 'in a generator' }); yield 'more'; } finally { steps.push('closed'); }
      }
      try {
        try {
          for await (const step of generate()) { steps.push(step.noted ?? step); bump(); }
        } catch (error) { steps.push('never'); } finally { steps.push('inner'); }
        await tools.note({ text: 'refused' });
      } catch (error) {
        steps.push(error instanceof ApprovalDeniedError, error.message);
      } finally { steps.push('outer'); }
      return { steps, count: bump(), coins: purse.spend(1), kept: map.get(key), when: new Date().getFullYear() > 2000 };`;
    const first = suspended(await open().runScript(source));
    const second = suspended(await open().resume(first.suspension, decideAll(first, 'approve')));
    const done = await open().resume(
      second.suspension,
      decideAll(second, { decision: 'deny' as const, note: 'not today' }),
    );
    expect(valueOf(done)).toEqual({
      steps: [
        'in a generator',
        'more',
        'closed',
        'inner',
        true,
        'A user refused the call to note: not today.',
        'outer',
      ],
      count: 4,
      coins: 2,
      kept: 'kept',
      when: true,
    });
  });

  it('can be decided one by one, in any order; omitted approvals stay pending', async () => {
    const effects: Effects = [];
    const source =
      'return await Promise.all(["a", "b", "c"].map((text) => tools.note({ text }).then(({ noted }) => noted, (e) => e.name)))';
    let outcome = suspended(await open({ effects }).runScript(source));
    const [, , third] = outcome.pendingApprovals;
    outcome = suspended(await open({ effects }).resume(outcome.suspension, { [third!.approvalId]: 'approve' }));
    expect(effects).toEqual(['script: c']);
    const [first, second] = outcome.pendingApprovals;
    expect(outcome.pendingApprovals.map(({ inputJson }) => inputJson)).toEqual([
      '{"text":"a","by":"script"}',
      '{"text":"b","by":"script"}',
    ]);
    outcome = suspended(await open({ effects }).resume(outcome.suspension, { [second!.approvalId]: 'deny' }));
    const done = await open({ effects }).resume(outcome.suspension, { [first!.approvalId]: 'approve' });
    expect(valueOf(done)).toEqual(['a', 'ApprovalDeniedError', 'c']);
    expect(effects).toEqual(['script: c', 'script: a']);
  });

  it('does not ask again about a call that lost its race while it waited', async () => {
    const source =
      'const won = await Promise.race([tools.read({}), tools.note({ text: "late" })]); return [won, (await tools.note({ text: "asked" })).noted]';
    const outcome = suspended(await open().runScript(source));
    expect(outcome.pendingApprovals.map(({ input }) => (input as { text: string }).text)).toEqual(['asked']);
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toEqual(['x', 'asked']);
  });

  it('is resumed once: exactly one of several concurrent resumes succeeds', async () => {
    for (const store of [undefined, memoryStore()]) {
      const effects: Effects = [];
      const shared = { effects, ...(store === undefined ? {} : { store }) };
      const outcome = suspended(await open(shared).runScript('return (await tools.note({ text: "a" })).noted'));
      const harnesses = Array.from({ length: 5 }, () => open(shared));
      const ends = await Promise.all(
        harnesses.map((harness) => harness.resume(outcome.suspension, decideAll(outcome, 'approve'))),
      );
      expect(ends.map(({ status }) => status).toSorted()).toEqual([
        'completed',
        'failed',
        'failed',
        'failed',
        'failed',
      ]);
      const lost = ends.find(({ status }) => status === 'failed')!;
      expect(failureOf(lost)).toMatchObject({ code: 'SuspensionError', message: expect.stringContaining('once') });
      expect(effects).toEqual(['script: a']);
    }
  });

  it('has the tools that exist when it resumes', async () => {
    const source =
      'try { return await tools.note({ text: "a" }) } catch (error) { return [error.name, error.message] }';
    const gone = suspended(await open().runScript(source));
    const without = open({ tools: tools().slice(1) });
    expect(valueOf(await without.resume(gone.suspension, decideAll(gone, 'approve')))).toEqual([
      'ToolNotFoundError',
      'There is no tool "note".',
    ]);
    const hidden = suspended(await open().runScript(source));
    const hiding = open({ expose: { tools: ['mark', 'read'] } });
    expect(valueOf(await hiding.resume(hidden.suspension, decideAll(hidden, 'approve')))).toEqual([
      'ToolNotFoundError',
      'There is no tool "note".',
    ]);
    const forbidden = suspended(await open().runScript(source));
    const strict = open({ approvals: [{ tool: 'note', action: 'deny' }] });
    expect(valueOf(await strict.resume(forbidden.suspension, decideAll(forbidden, 'approve')))).toEqual([
      'ApprovalDeniedError',
      'A rule refused the call to note: a rule forbids it.',
    ]);
    const changed = suspended(await open().runScript(source));
    const [note, ...others] = tools();
    const stricter = open({ tools: [{ ...note!, validateInput: () => ({ ok: false, issues: [] }) }, ...others] });
    expect(valueOf(await stricter.resume(changed.suspension, decideAll(changed, 'approve')))).toMatchObject({
      0: 'ToolValidationError',
    });
  });

  it('runs with a user’s replacement arguments, and reports them', async () => {
    const effects: Effects = [];
    const audit = vi.fn();
    const outcome = suspended(await open({ effects }).runScript('return await tools.note({ text: "a" })'));
    const edited = { decision: 'approve' as const, input: { text: 'better' }, note: 'wording' };
    const events: StreamEvent[] = [];
    const harness = open({ effects, audit });
    const done = await harness.resume(outcome.suspension, decideAll(outcome, edited), {
      onEvent: (event) => events.push(event),
    });
    expect(valueOf(done)).toEqual({ noted: 'better' });
    expect(effects).toEqual(['script: better']);
    expect(done.operations[0]!.input).toEqual({ text: 'better', by: 'script' });
    expect(audit.mock.calls.map(([entry]) => entry as unknown)).toMatchObject([
      {
        type: 'approval',
        scriptId: done.scriptId,
        decision: 'approve',
        by: 'person',
        inputJson: '{"text":"better","by":"script"}',
        replacedInputJson: '{"text":"a","by":"script"}',
        note: 'wording',
      },
      { type: 'call_started', tool: 'note', effect: 'external' },
      { type: 'call_ended', tool: 'note', status: 'completed' },
    ]);
    expect(events.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ type: 'approval_resolved', edited_input_json: '{"text":"better","by":"script"}' }),
    );
  });

  it('a structured call is audited like a script’s', async () => {
    const audit = vi.fn();
    const harness = open({ audit, approvals: 'auto' });
    await harness.callTool('note', { text: 'a' }, { principal: 'ann' });
    await harness.callTool('read', {});
    expect(audit.mock.calls.map(([entry]) => entry as unknown)).toMatchObject([
      { type: 'approval', principal: 'ann', decision: 'approve', by: 'policy' },
      { type: 'call_started', tool: 'note', principal: 'ann' },
      { type: 'call_ended', tool: 'note', status: 'completed' },
    ]);
  });

  it('keeps decisions for all calls to a tool, or of the plan, over a suspension', async () => {
    const loop =
      'const out = []; for (const text of ["a", "b", "c"]) out.push((await tools.note({ text })).noted); return out';
    const first = suspended(await open().runScript(loop));
    const all = { decision: 'approve' as const, remember: 'script' as const };
    expect(valueOf(await open().resume(first.suspension, decideAll(first, all)))).toEqual(['a', 'b', 'c']);

    const sneaky = `const [name] = ['note']; const a = await tools.note({ text: 'planned' });
      const b = await tools.note({ text: 'planned too' });
      return [a.noted, b.noted, (await tools[name]({ text: 'not planned' })).noted]`;
    const planned = suspended(await open().runScript(sneaky));
    const plan = { decision: 'approve' as const, remember: 'plan' as const };
    const left = suspended(await open().resume(planned.suspension, decideAll(planned, plan)));
    expect(left.pendingApprovals).toMatchObject([{ input: { text: 'not planned' }, line: 3 }]);
  });

  it('rejects another principal, another key, and a changed or truncated text, and can still be resumed correctly', async () => {
    const { suspension, ...outcome } = suspended(
      await open().runScript('return (await tools.note({ text: "a" })).noted', { principal: 'ann' }),
    );
    const decisions = decideAll({ ...outcome, suspension }, 'approve');
    const envelope = JSON.parse(suspension) as Record<string, unknown>;
    const sealed = Buffer.from(envelope['sealed'] as string, 'base64');
    sealed[100]! ^= 1;
    const wrong: [string, string | undefined][] = [
      [suspension, 'bob'],
      [suspension, undefined],
      [JSON.stringify({ ...envelope, principal: 'bob' }), 'bob'],
      [JSON.stringify({ ...envelope, scriptId: 'scr_other' }), 'ann'],
      [JSON.stringify({ ...envelope, epoch: 7 }), 'ann'],
      [JSON.stringify({ ...envelope, threadId: 'thr_other' }), 'ann'],
      [JSON.stringify({ ...envelope, images: [] }), 'ann'],
      [JSON.stringify({ ...envelope, sealed: sealed.toString('base64') }), 'ann'],
      [JSON.stringify({ ...envelope, sealed: '' }), 'ann'],
      [JSON.stringify({ ...envelope, nonce: 'AAAA' }), 'ann'],
      [JSON.stringify({ ...envelope, version: 2 }), 'ann'],
      [JSON.stringify({ ...envelope, more: 1 }), 'ann'],
      [suspension.slice(0, -10), 'ann'],
      ['', 'ann'],
      ['{}', 'ann'],
      ['[]', 'ann'],
    ];
    for (const [text, principal] of wrong) {
      const refused = await open().resume(text, {}, principal === undefined ? {} : { principal });
      expect(failureOf(refused).code, text.slice(0, 80)).toBe('SuspensionError');
      expect(failureOf(refused).message).toMatch(/^This suspension .*\.$/u);
    }
    const foreign = await open({ suspensionKey: 'another secret of at least 32 bytes' }).resume(
      suspension,
      {},
      { principal: 'ann' },
    );
    expect(failureOf(foreign).message).toContain('it was sealed with an unknown key');
    const rotated = open({
      suspensionKey: ['a newer secret of at least 32 bytes', 'a secret of more than thirty-two bytes'],
    });
    expect(valueOf(await rotated.resume(suspension, decisions, { principal: 'ann' }))).toBe('a');
  });

  it('rejects wrong decisions as mistakes of the host, by name', async () => {
    const outcome = suspended(await open().runScript('return await tools.note({ text: "a" })'));
    const [{ approvalId }] = outcome.pendingApprovals as [ApprovalRequest];
    const resume = (decisions: unknown) => open().resume(outcome.suspension, decisions as Record<string, Decision>);
    await expect(resume({ apr_nope: 'approve' })).rejects.toThrow(/no approval "apr_nope" is pending/u);
    await expect(resume({ [approvalId]: 'yes' })).rejects.toThrow(/must be "approve", "deny"/u);
    await expect(resume({ [approvalId]: { decision: 'approve', remember: 'forever' } })).rejects.toThrow(/remember/u);
    await expect(resume({ [approvalId]: { decision: 'approve', note: 1 } })).rejects.toThrow(/note is text/u);
    await expect(resume('approve')).rejects.toThrow(/must be an object/u);
    await expect(open().resume(7 as never)).rejects.toThrow(/as a string/u);
    await expect(open().resume(outcome.suspension, {}, { context: {} } as never)).rejects.toThrow(
      /unknown option "context"/u,
    );
  });

  it('can be resumed only by the same harness without a key of the host', async () => {
    const harness = open({ suspensionKey: undefined } as never);
    const outcome = suspended(await harness.runScript('return (await tools.note({ text: "a" })).noted'));
    const other = open({ suspensionKey: undefined } as never);
    expect(failureOf(await other.resume(outcome.suspension, {})).code).toBe('SuspensionError');
    expect(valueOf(await harness.resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('a');
  });

  it('keeps the context, the limits and the budget of its start', async () => {
    const source = `const before = context.sandbox.timeoutMs;
      await tools.note({ text: 'a' });
      const results = []; for (let i = 0; i < 5; i++) results.push(await tools.read({}).then(() => 'ok', (e) => e.name));
      return [before, context.workingDirectory, results]`;
    const options = { limits: { maxToolCalls: 3, timeoutMs: 7_000 }, context: { workingDirectory: '/here' } };
    const outcome = suspended(await open().runScript(source, options));
    expect(valueOf(await open().resume(outcome.suspension, decideAll(outcome, 'approve')))).toEqual([
      7_000,
      '/here',
      ['ok', 'ok', 'ToolBudgetExceededError', 'ToolBudgetExceededError', 'ToolBudgetExceededError'],
    ]);
  });

  it('waits for running reads, and sleeps for the remaining time after the resume', async () => {
    const slow = defineTool({
      name: 'slow',
      description: 'Reads slowly',
      effect: 'read',
      execute: () => delay(40, 'read'),
    });
    const source = 'return await Promise.all([tools.slow(), sleep(500), tools.note({ text: "a" })])';
    const harness = open({ tools: [...tools(), slow] });
    const outcome = suspended(await harness.runScript(source));
    expect(outcome.operations.map(({ status }) => status)).toEqual(['completed', 'awaiting_approval']);
    const done = await harness.resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(valueOf(done)).toEqual(['read', null, { noted: 'a' }]);
  });

  it('keeps the notes about its calls', async () => {
    const source =
      'const by = JSON.parse("null"); await tools.note({ text: "a", by }); return await tools.note({ text: "b", by })';
    const outcome = suspended(await open().runScript(source));
    expect(outcome.diagnostics).toMatchObject([{ code: 'null-as-absent' }]);
    const again = suspended(await open().resume(outcome.suspension, decideAll(outcome, 'approve')));
    expect(again.diagnostics).toEqual(outcome.diagnostics);
  });

  it('ends as cancelled or as suspended if it is cancelled during the suspension', async () => {
    for (const wait of [0, 1, 2, 5, 10, 20]) {
      const stop = new AbortController();
      const running = open().runScript('return await tools.note({ text: "a" })', { signal: stop.signal });
      await delay(wait);
      stop.abort();
      const outcome = await running;
      expect(['suspended', 'failed']).toContain(outcome.status);
      if (outcome.status === 'failed') expect(outcome.error.code).toBe('ScriptCancelledError');
    }
  });
});

describe('a callback that decides', () => {
  it('may suspend the script, after the other questions are answered', async () => {
    const asked: string[] = [];
    const approvals = (request: ApprovalRequest) => {
      asked.push((request.input as { text: string }).text);
      return asked.length === 1 ? ('suspend' as const) : ('approve' as const);
    };
    const effects: Effects = [];
    const source = 'return (await Promise.all([tools.note({ text: "a" }), tools.note({ text: "b" })])).length';
    const outcome = suspended(await open({ approvals, effects }).runScript(source));
    expect(outcome.pendingApprovals.map(({ input }) => input)).toMatchObject([{ text: 'a' }]);
    expect(effects).toEqual(['script: b']);
    expect(valueOf(await open({ effects }).resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe(2);
  });

  it.each(['await sleep(1);', ''])('is asked twice, and the script waits for both decisions: %s', async (between) => {
    const options = {
      approvals: () => new Promise<never>(() => {}),
      suspendAfterMs: 300,
    };
    suspended(
      await open(options).runScript(
        `const first = tools.note({ text: "a" }); ${between} return await Promise.all([first, tools.note({ text: "b" })]);`,
      ),
    );
  });

  it('has suspendAfterMs to answer; a later answer changes nothing', async () => {
    let answer: (decision: Decision) => void = () => {};
    const approvals = () => new Promise<Decision>((resolve) => (answer = resolve));
    const effects: Effects = [];
    const outcome = suspended(
      await open({ approvals, suspendAfterMs: 30, effects }).runScript(
        'return (await tools.note({ text: "a" })).noted',
      ),
    );
    expect(outcome.metadata.approvalWaitMs).toBeGreaterThanOrEqual(25);
    answer('approve');
    await delay(20);
    expect(effects).toEqual([]);
    expect(valueOf(await open({ effects }).resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('a');
  });

  it('that answers in time prevents the suspension', async () => {
    const approvals = () => delay(20, 'approve' as const);
    const outcome = await open({ approvals, suspendAfterMs: 5_000 }).runScript(
      'return (await tools.note({ text: "a" })).noted',
    );
    expect(valueOf(outcome)).toBe('a');
  });
});

describe('the clock', () => {
  it('stops during a suspension: a wait of 100 s uses none of a time budget of 60 s', async () => {
    const outcome = suspended(
      await open().runScript('const before = Date.now(); await tools.note({ text: "a" }); return Date.now() - before', {
        limits: { timeoutMs: 60_000 },
      }),
    );
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 100_000 });
    try {
      const done = await open().resume(outcome.suspension, decideAll(outcome, 'approve'));
      expect(valueOf(done)).toBeGreaterThanOrEqual(100_000);
      expect(done.metadata.approvalWaitMs).toBeGreaterThanOrEqual(100_000);
      expect(done.metadata.durationMs).toBeGreaterThanOrEqual(100_000);
    } finally {
      vi.useRealTimers();
    }
  });

  it('includes the time used before the suspension', async () => {
    const source = (ms: number) =>
      `await sleep(${ms * 0.6}); await tools.note({ text: "a" }); await sleep(${ms * 0.8}); return 1`;
    const outcome = suspended(
      await withEnoughTime(
        500,
        (timeoutMs) => open().runScript(source(timeoutMs), { limits: { timeoutMs } }),
        ({ status }) => status === 'suspended',
      ),
    );
    const done = await open().resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(failureOf(done)).toMatchObject({ code: 'ScriptTimeoutError', metadata: { clock: 'wall' } });
  });
});

describe('an answer with several scripts', () => {
  const ANSWER = `Let me ask.
<tool-calls>
return (await tools.note({ text: 'first' })).noted
</tool-calls>
Now the next one.
<tool-calls>
return (await tools.note({ text: 'second' })).noted
</tool-calls>
Done.`;

  async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
    const all: StreamEvent[] = [];
    for await (const event of events) all.push(event);
    return all;
  }

  const lastOf = (events: StreamEvent[]) =>
    events.at(-1)!.payload as Extract<StreamEvent['payload'], { type: 'response_done' }>;
  const asked = (events: StreamEvent[]) =>
    events.flatMap(({ payload }) => (payload.type === 'approval_requested' ? [payload.approval.approval_id] : []));

  it('keeps its text and its later scripts pending when a script is suspended, and a resume runs them in one response with one numbering', async () => {
    const effects: Effects = [];
    const store = memoryStore();
    const first = await collect(open({ effects, store }).processText(ANSWER));
    expect(lastOf(first)).toMatchObject({ status: 'suspended', script_id: expect.stringMatching(/^scr_/u) });
    expect(foldResponse(first)).toMatchObject({
      status: 'suspended',
      output_items: [
        { type: 'message' },
        { type: 'script_execution', status: 'suspended' },
        { type: 'message', content: '\nNow the next one.\n' },
        { type: 'script_execution', status: 'pending' },
        { type: 'message', content: '\nDone.' },
      ],
    });
    const second = await collect(
      open({ effects, store }).resumeText(lastOf(first).script_id!, { [asked(first)[0]!]: 'approve' }),
    );
    expect(lastOf(second)).toMatchObject({ status: 'suspended' });
    const third = await collect(
      open({ effects, store }).resumeText(lastOf(second).script_id!, { [asked(second)[0]!]: 'approve' }),
    );
    const all = [...first, ...second, ...third];
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index));
    expect(new Set(all.map(({ run_id: id }) => id)).size).toBe(1);
    const started = all.flatMap(({ payload }) => (payload.type === 'item_start' ? [payload.item_id] : []));
    expect(new Set(started).size).toBe(started.length);
    const response = foldResponse(all);
    expect(response.status).toBe('completed');
    expect(response.output_items.map((item) => [item.type, 'status' in item ? item.status : undefined])).toEqual([
      ['message', undefined],
      ['script_execution', 'completed'],
      ['message', undefined],
      ['script_execution', 'completed'],
      ['message', undefined],
      ['script_execution_output', 'completed'],
      ['script_execution_output', 'completed'],
    ]);
    expect(effects).toEqual(['script: first', 'script: second']);
  });

  it('starts each item once, however often the rest is suspended again', async () => {
    const store = memoryStore();
    const note = (text: string) => `<tool-calls>\nawait tools.note({ text: '${text}' })\n</tool-calls>\n`;
    const harness = open({ store });
    const all = await collect(harness.processText(note('a') + note('b') + note('c')));
    for (let round = 0; round < 3; round++) {
      const { script_id: id, approval_ids: [approval] = [] } = lastOf(all);
      all.push(...(await collect(harness.resumeText(id!, { [approval!]: 'approve' }))));
    }
    expect(lastOf(all).status).toBe('completed');
    const started = all.flatMap(({ payload }) => (payload.type === 'item_start' ? [payload.item_id] : []));
    expect(started.length).toBeGreaterThan(6);
    expect(new Set(started).size).toBe(started.length);
  });

  it('is stored with its rest, or not at all: while it still arrives, no other process can resume a part of it', async () => {
    const store = memoryStore();
    const [first, ...rest] = ANSWER.split('Now');
    let finish: (text: string) => void = () => {};
    const remaining = new Promise<string>((resolve) => (finish = resolve));
    async function* arriving() {
      yield first!;
      yield await remaining;
    }
    const effects: Effects = [];
    const seen: StreamEvent[] = [];
    const reading = collect(open({ effects, store }).processText(arriving(), { onEvent: (event) => seen.push(event) }));
    await vi.waitFor(() => expect(seen.map(({ payload }) => payload.type)).toContain('item_update'), {
      timeout: 60_000,
    });
    expect((await listScripts(store)).map(({ state }) => state)).toEqual([]);
    finish(['Now', ...rest].join(''));
    const events = await reading;
    expect((await listScripts(store)).map(({ state }) => state)).toEqual(['suspended']);
    const harness = open({ effects, store, approvals: 'auto' });
    await collect(harness.resumeText(lastOf(events).script_id!, { [asked(events)[0]!]: 'approve' }));
    expect(effects).toEqual(['script: first', 'script: second']);
  });

  it('does not run later scripts if a denial fails the first one', async () => {
    const store = memoryStore();
    const first = await collect(open({ store }).processText(ANSWER));
    const rest = await collect(open({ store }).resumeText(lastOf(first).script_id!, { [asked(first)[0]!]: 'deny' }));
    expect(lastOf(rest).status).toBe('failed');
    const { output_items: items } = foldResponse([...first, ...rest]);
    expect(items.map((item) => ('status' in item ? item.status : ''))).toEqual([
      '',
      'error',
      '',
      'error',
      '',
      'failed',
      'failed',
    ]);
    expect(items.at(-1)).toMatchObject({ error: { code: 'ScriptSkippedError' } });
  });

  it('returns the first script’s outcome from resume, and runs the rest too', async () => {
    const effects: Effects = [];
    const outcomes: Outcome[] = [];
    const first = await collect(
      open({ effects }).processText(ANSWER, { onOutcome: (outcome) => void outcomes.push(outcome) }),
    );
    const { suspension } = suspended(outcomes[0]!);
    const outcome = await open({ effects, approvals: 'auto' }).resume(suspension, { [asked(first)[0]!]: 'approve' });
    expect(valueOf(outcome)).toBe('first');
    expect(effects).toEqual(['script: first', 'script: second']);
  });

  it('is resumed once by the script’s id in a harness without a store that suspended it', async () => {
    const effects: Effects = [];
    const harness = open({ effects });
    const first = await collect(harness.processText(ANSWER));
    expect(JSON.stringify(first)).not.toContain('sealed');
    const decisions = { [asked(first)[0]!]: 'approve' as const };
    const second = await collect(harness.resumeText(lastOf(first).script_id!, decisions));
    expect(lastOf(second)).toMatchObject({ status: 'suspended', approval_ids: asked(second) });
    const again = await harness.resume(lastOf(first).script_id!, decisions);
    expect(again).toMatchObject({
      scriptId: lastOf(first).script_id,
      error: { code: 'SuspensionError', message: expect.stringContaining('already resumed') as unknown },
    });
    expect(effects).toEqual(['script: first']);
  });

  it('cannot be resumed by an unknown id in a harness without a store', async () => {
    const outcome = await open().resume('scr_nobody');
    expect(outcome).toMatchObject({ scriptId: 'scr_nobody', error: { code: 'SuspensionError' } });
    expect(failureOf(outcome).message).toBe(
      'This harness knows no suspended script "scr_nobody". Resume it by its `suspension`, or give the harness a store.',
    );
  });

  it('reports the outcome of each script from resume and resumeText, like processText', async () => {
    for (const way of ['resume', 'resumeText', 'a refused resume', 'a refused resumeText'] as const) {
      const told: string[] = [];
      const onOutcome = ({ status, scriptId }: Outcome) => void told.push(`${scriptId} ${status}`);
      const harness = open({ approvals: undefined as never });
      const first = await collect(harness.processText(ANSWER, { onOutcome }));
      const id = lastOf(first).script_id!;
      expect(told.splice(0)).toEqual([`${id} suspended`]);
      const decisions = { [asked(first)[0]!]: 'approve' as const };
      if (way.startsWith('a refused')) await harness.resume(id, decisions);
      if (way.endsWith('Text'))
        await collect(harness.resumeText(id, way === 'resumeText' ? decisions : {}, { onOutcome }));
      else await harness.resume(id, way === 'resume' ? decisions : {}, { onOutcome });
      if (way.startsWith('a refused')) expect(told).toEqual([`${id} failed`]);
      else expect(told).toEqual([`${id} completed`, expect.stringMatching(/^scr_\w+ suspended$/u)]);
    }
  });

  it('reports the outcome of an ended script from recover like that of a running one', async () => {
    const store = memoryStore();
    const { scriptId } = await open({ store }).runScript('await tools.mark({ text: "a" }); return 1');
    const told: Outcome[] = [];
    const outcome = await open({ store }).recover(scriptId, { onOutcome: (reported) => void told.push(reported) });
    expect(told).toEqual([outcome]);
  });

  it('ends as a failed response if its suspension cannot be resumed', async () => {
    const events = await collect(open().resumeText('{}', {}));
    expect(events.map(({ payload }) => payload.type)).toEqual(['response_start', 'response_error', 'response_done']);
  });
});

describe('a harness that is closed', () => {
  it('releases its scripts to other processes with its store', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const held = tools(effects).map((tool) =>
      tool.name === 'read' ? { ...tool, execute: () => new Promise(() => {}) } : tool,
    );
    const outcome = suspended(
      await open({ effects, store }).runScript(
        'await tools.mark({ text: "a" }); await tools.note({ text: "b" }); await tools.read({}); return "done"',
      ),
    );
    const closing = open({ effects, store, tools: held });
    const resuming = closing.resume(outcome.suspension, decideAll(outcome, 'approve'));
    await vi.waitFor(() => expect(effects).toHaveLength(2), { timeout: 60_000 });
    await closing.close();
    expect(failureOf(await resuming).code).toBe('ScriptCancelledError');
    expect(await listScripts(store)).toMatchObject([{ state: 'interrupted' }]);
    expect(valueOf(await open({ effects, store }).recover(outcome.scriptId))).toBe('done');
    expect(effects).toEqual(['mark: a', 'script: b']);
  });
});

describe('detached tasks', () => {
  it('continue while their script is suspended, and their result is available when it resumes in the same harness', async () => {
    const harness = open({ expose: { spawn: true } });
    const source = `const task = tools.spawn.exec('mark', { text: 'in the background' });
      await tools.note({ text: 'a' });
      return await task.done`;
    const outcome = suspended(await harness.runScript(source));
    expect(valueOf(await harness.resume(outcome.suspension, decideAll(outcome, 'approve')))).toBe('in the background');
  });

  it('that still run in another process are unknown to the script that is resumed here', async () => {
    const slow = { ...tools()[1]!, execute: () => delay(60_000, 'late', { ref: false }) };
    const mine = [...tools().filter(({ name }) => name !== 'mark'), slow];
    const outcome = suspended(
      await open({ tools: mine, expose: { spawn: true } }).runScript(
        `const task = tools.spawn.exec('mark', { text: 'x' }); await tools.note({ text: 'a' });
         return await task.done.catch((error) => [error.name, error.data.status])`,
      ),
    );
    expect(outcome.operations.map(({ status }) => status)).toEqual(['detached', 'awaiting_approval']);
    const done = await open({ expose: { spawn: true } }).resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(valueOf(done)).toEqual(['ToolExecutionError', 'unknown']);
    expect(done.operations.map(({ status }) => status)).toEqual(['unknown', 'completed']);
  });

  it('that waited for a decision when their script ended were never started', async () => {
    // A user who is asked can still decide later.
    const outcome = await open({ expose: { spawn: true }, approvals: undefined }).runScript(
      'tools.spawn.exec("note", { text: "a" }).done.catch(() => {}); return 1',
    );
    expect(outcome).toMatchObject({ status: 'completed', operations: [{ status: 'not_started' }] });
  });
});
