import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { defineTool, memoryStore } from '#core/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { decideAll, failureOf, keepCopy, open, suspended, tools, valueOf, type Effects } from './world.js';
import { withEnoughTime } from '@toolscript/testkit/enough-time';

/** A tool that takes the time that its call names. */
const slow = defineTool({
  name: 'slow',
  description: 'Waits',
  effect: 'read',
  approval: 'never',
  inputSchema: { type: 'object', properties: { ms: { type: 'number' } }, required: ['ms'] },
  execute: async (input: unknown) => delay((input as { ms: number }).ms, 'done'),
});

/** A tool whose call runs until it is released. */
function heldTool() {
  let started = () => {};
  let end = (_result: string) => {};
  const holding = new Promise<void>((resolve) => (started = resolve));
  const ended = new Promise<string>((resolve) => (end = resolve));
  const held = defineTool({
    name: 'held',
    description: 'Stays',
    effect: 'read',
    approval: 'never',
    inputSchema: { type: 'object' },
    execute: () => {
      started();
      return ended;
    },
  });
  return { held, holding, release: () => end('done') };
}

describe('a script that is resumed', () => {
  it('waits for a sandbox without a limit, because no other process could resume it', async () => {
    const { held, release, holding } = heldTool();
    const runtime = new QuickJsPool({ size: 1, slotsPerWorker: 1 });
    const store = memoryStore();
    const patient = open({ tools: [...tools(), held], store, runtime });
    const outcome = suspended(await patient.runScript('return await tools.note({ text: "a" })'));
    const hasty = open({ tools: [...tools(), held], store, runtime, limits: { queueWaitMs: 50 } });
    const other = patient.runScript('return await tools.held({})');
    await holding;
    expect(failureOf(await hasty.runScript('return 1')).code).toBe('HarnessBusyError');
    const resumed = hasty.resume(outcome.suspension, decideAll(outcome, 'approve'));
    await delay(200);
    release();
    expect(valueOf(await resumed)).toEqual({ noted: 'a' });
    expect(valueOf(await other)).toBe('done');
  });

  it('and cancelled before its state is restored reports its waiting calls as not started', async () => {
    const outcome = suspended(
      await open().runScript(
        'return await Promise.all([tools.note({ text: "a" }), tools.mark({ text: "b" }), tools.note({ text: "c" })])',
      ),
    );
    const { operations } = await open().resume(outcome.suspension, decideAll(outcome, 'approve'), {
      signal: AbortSignal.abort(),
    });
    expect(operations.map(({ tool, status }) => [tool, status])).toEqual([
      ['note', 'not_started'],
      ['mark', 'completed'],
      ['note', 'not_started'],
    ]);
  });
});

describe('a script that was run a second time before its process ended', () => {
  it('is recovered from its second run: the first one had done nothing', async () => {
    const source = 'await tools.mark({ text: "a" }); return await tools.read({})';
    const once = memoryStore();
    // Without a key, the lines have no MAC and can be put together here.
    const { scriptId } = await open({ store: once, suspensionKey: undefined }).runScript(source);
    const lines = (await once.journal.read(scriptId))!.lines.filter((line) => !line.startsWith('{"t":"ended"'));
    const store = await keepCopy(memoryStore(), scriptId, { lines: [...lines, ...lines] });
    const effects: Effects = [];
    expect(valueOf(await open({ store, effects, suspensionKey: undefined }).recover(scriptId))).toBe('x');
    expect(effects).toEqual([]);
  });
});

describe('a script that is resumed where tasks cannot be detached', () => {
  it('gets an error at once', async () => {
    const effects: Effects = [];
    const outcome = suspended(
      await open({ expose: { spawn: true } }).runScript(`
        await tools.note({ text: 'a' });
        const named = (error) => error.name;
        return [await tools.spawn.list().catch(named), await tools.spawn.exec('mark', { text: 'b' }).done.catch(named)];`),
    );
    const done = await open({ effects }).resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(valueOf(done)).toEqual(['ToolNotFoundError', 'ToolNotFoundError']);
    expect(effects).toEqual(['script: a']);
  });
});

describe('a detached task that runs while a user is asked', () => {
  it('neither keeps the wall clock running nor prevents the suspension of the script', async () => {
    const within = (timeoutMs: number) => {
      const harness = open({
        tools: [...tools(), slow],
        expose: { spawn: true },
        approvals: () => new Promise<never>(() => {}),
        suspendAfterMs: timeoutMs * 1.5,
        limits: { timeoutMs },
      });
      const ms = timeoutMs * 4;
      return harness.runScript(`await tools.spawn.exec("slow", { ms: ${ms} }); return await tools.note({ text: "a" })`);
    };
    const outcome = suspended(await withEnoughTime(400, within, ({ status }) => status === 'suspended'));
    expect(outcome.operations.map(({ status }) => status)).toEqual(['detached', 'awaiting_approval']);
    expect(outcome.metadata.approvalWaitMs).toBeGreaterThan(500);
  });
});

describe('an answer that is resumed twice', () => {
  it('is continued by the process that has the script; the other one reports this in a separate run', async () => {
    const effects: Effects = [];
    const harness = open({ effects });
    const collect = async (events: AsyncIterable<StreamEvent>) => {
      const all: StreamEvent[] = [];
      for await (const event of events) all.push(event);
      return all;
    };
    const answer = ['return await tools.note({ text: "a" })', 'return await tools.mark({ text: "b" })']
      .map((script) => `<tool-calls>\n${script}\n</tool-calls>\n`)
      .join('');
    const told = await collect(harness.processText(answer, { continueOnError: true }));
    const done = told.at(-1)!.payload as { script_id: string };
    const { approval } = told.find(({ payload }) => payload.type === 'approval_requested')!.payload as {
      approval: { approval_id: string };
    };
    const resume = () => harness.resumeText(done.script_id, { [approval.approval_id]: 'approve' });
    const [first, second] = await Promise.all([collect(resume()), collect(resume())]);
    expect(effects).toEqual(['script: a', 'mark: b']);
    expect(first.map(({ run_id, seq }) => [run_id, seq])).toEqual(
      first.map((_event, index) => [told[0]!.run_id, told.length + index]),
    );
    expect(second.map(({ payload }) => payload.type)).toEqual(['response_start', 'response_error', 'response_done']);
    expect(second.map(({ seq }) => seq)).toEqual([0, 1, 2]);
    expect(new Set(second.map(({ run_id }) => run_id))).not.toContain(told[0]!.run_id);
    const third = await harness.resume(done.script_id, { [approval.approval_id]: 'approve' });
    expect(failureOf(third).code).toBe('SuspensionError');
    expect(effects).toEqual(['script: a', 'mark: b']);
  });
});
