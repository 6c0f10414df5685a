import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  createHarness,
  defineTool,
  fileStore,
  listScripts,
  memoryStore,
  recoverScripts,
  type HarnessOptions,
} from '#core/index.js';
import type { Decision, StreamEvent } from '#core/protocol/index.js';
import { newFolder } from '@toolscript/testkit/folder';
import { KEY, open, suspended, type Effects } from './world.js';

const NAMES = { callId: 'call_of_the_model', threadId: 'thr_1', turnId: 'turn_1' };

async function ask(options: Partial<HarnessOptions> & { effects?: Effects } = {}) {
  const harness = open(options);
  const events: StreamEvent[] = [];
  const operation = await harness.callTool(
    'note',
    { text: 'a' },
    { ...NAMES, onEvent: (event) => void events.push(event) },
  );
  return { harness, operation, events };
}

describe('a structured call whose process died between its claim and its first line', () => {
  const stores = {
    memory: memoryStore,
    files: () => fileStore(join(newFolder(), 'scripts'), { knowsProcesses: false }),
  };
  const HOLDER = { owner: 'died', leaseMs: 30_000 };

  it.each(Object.entries(stores))(
    'is made by the next process, and never by the first (%s)',
    async (_name, newStore) => {
      const store = newStore();
      const scriptId = 'scr_of_a_call';
      expect(await store.claim.take(scriptId, 0, HOLDER)).toMatchObject({ epoch: 1 });
      const held = await open({ store }).callTool('note', { text: 'a' }, { ...NAMES, scriptId });
      expect(held).toMatchObject({ isInterruptedByStore: true });
      await store.claim.release(scriptId, 1);
      const effects: Effects = [];
      const harness = open({ store, effects });
      const operation = await harness.callTool('note', { text: 'a' }, { ...NAMES, scriptId });
      expect(operation).toMatchObject({ status: 'awaiting_approval', scriptId });
      await expect((async () => store.journal.append(scriptId, 1, ['{}']))()).rejects.toThrow('stale');
      const [request] = operation.pendingApprovals!;
      expect(await harness.resume(scriptId, { [request!.approvalId]: 'approve' })).toMatchObject({
        status: 'completed',
      });
      expect(effects).toEqual(['script: a']);
    },
  );

  it('is left alone if its first process stores a line at the last moment', async () => {
    const store = memoryStore();
    const scriptId = 'scr_of_a_call';
    await store.claim.take(scriptId, 0, HOLDER);
    await store.claim.release(scriptId, 1);
    const read = store.journal.read.bind(store.journal);
    store.journal.read = async (id) => {
      const content = await read(id);
      if (content === undefined) await store.journal.append(scriptId, 1, ['{}']);
      return content;
    };
    const operation = await open({ store }).callTool('note', { text: 'a' }, { ...NAMES, scriptId });
    expect(operation).toMatchObject({ isInterruptedByStore: true });
    expect((await read(scriptId))!.lines).toEqual(['{}']);
  });

  it('is not made once it was abandoned', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const scriptId = 'scr_of_a_call';
    expect(await open({ store }).abandon(scriptId)).toBe(true);
    const operation = await open({ store, effects }).callTool('note', { text: 'a' }, { ...NAMES, scriptId });
    expect(operation).toMatchObject({ isInterruptedByStore: true });
    expect(effects).toEqual([]);
  });
});

describe('a structured call without a decision', () => {
  it('is suspended with its request, has no effect, and is resumed by its script’s id', async () => {
    const effects: Effects = [];
    const { harness, operation, events } = await ask({ effects });
    expect(operation).toMatchObject({
      callId: NAMES.callId,
      tool: 'note',
      status: 'awaiting_approval',
      input: { text: 'a', by: 'script' },
      pendingApprovals: [{ callId: NAMES.callId, tool: 'note', inputJson: '{"text":"a","by":"script"}' }],
    });
    expect(operation).not.toHaveProperty('line');
    expect(operation.pendingApprovals![0]!.line).toBeUndefined();
    expect(effects).toEqual([]);
    const asked = events.map(({ payload }) => payload).filter(({ type }) => type === 'approval_requested');
    expect(asked).toMatchObject([{ approval: { call_id: NAMES.callId, script_id: operation.scriptId } }]);
    const [request] = operation.pendingApprovals!;
    const done = await harness.resume(operation.scriptId!, { [request!.approvalId]: 'approve' });
    expect(done).toMatchObject({
      status: 'completed',
      value: { noted: 'a' },
      operations: [{ callId: NAMES.callId, tool: 'note', status: 'completed', result: { noted: 'a' } }],
    });
    expect(effects).toEqual(['script: a']);
  });

  it.each([
    ['deny', 'denied', 'ApprovalDeniedError', []],
    [{ decision: 'approve', input: { text: 'b' } }, 'completed', undefined, ['script: b']],
  ] as const)(
    'ends as the decision %j says, also in another process of the same store',
    async (decision, status, code, done) => {
      const effects: Effects = [];
      const store = memoryStore();
      const { operation } = await ask({ effects, store });
      const [request] = operation.pendingApprovals!;
      const outcome = await open({ effects, store }).resume(operation.scriptId!, {
        [request!.approvalId]: decision as Decision,
      });
      expect(outcome.operations).toMatchObject([{ callId: NAMES.callId, status }]);
      expect(outcome.operations[0]!.error?.code).toBe(code);
      expect(outcome).toMatchObject(
        code === undefined
          ? { status: 'completed', value: { noted: 'b' } }
          : { status: 'failed', error: { code, toolName: 'note', callId: NAMES.callId } },
      );
      if (code !== undefined) expect(outcome).not.toHaveProperty('value');
      expect(effects).toEqual(done);
    },
  );

  it('is resumed once from its sealed form without a store', async () => {
    const effects: Effects = [];
    const { operation } = await ask({ effects });
    const decisions = { [operation.pendingApprovals![0]!.approvalId]: 'approve' as const };
    const outcomes = await Promise.all(
      [open({ effects }), open({ effects })].map((harness) => harness.resume(operation.suspension!, decisions)),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['completed', 'failed']);
    expect(effects).toEqual(['script: a']);
  });

  it('suspends where the callback answers "suspend", and runs where it approves', async () => {
    const effects: Effects = [];
    const { operation } = await ask({ effects, approvals: () => Promise.resolve('suspend' as never) });
    expect(operation.status).toBe('awaiting_approval');
    const { operation: approved } = await ask({ effects, approvals: () => Promise.resolve('approve') });
    expect(approved).toMatchObject({ callId: NAMES.callId, status: 'completed', result: { noted: 'a' } });
    expect(effects).toEqual(['script: a']);
  });

  it('is resumed by an aborted signal with one operation that has not started', async () => {
    const effects: Effects = [];
    const { harness, operation } = await ask({ effects, store: memoryStore() });
    const decisions = { [operation.pendingApprovals![0]!.approvalId]: 'approve' as const };
    const outcome = await harness.resume(operation.scriptId!, decisions, { signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'ScriptCancelledError' },
      operations: [
        { callId: NAMES.callId, tool: 'note', status: 'not_started', error: { code: 'ToolExecutionError' } },
      ],
    });
    expect(effects).toEqual([]);
  });

  it('is made in a harness whose scripts are disabled', async () => {
    const effects: Effects = [];
    const { harness, operation } = await ask({ effects, mode: 'disabled' });
    const done = await harness.resume(operation.scriptId!, { [operation.pendingApprovals![0]!.approvalId]: 'approve' });
    expect(done.status).toBe('completed');
    expect(effects).toEqual(['script: a']);
  });

  it('reports wrong arguments like a call from a script', async () => {
    const harness = open();
    expect(await harness.callTool('note', { txt: 'a' }, NAMES)).toMatchObject({
      callId: NAMES.callId,
      status: 'failed',
      error: { code: 'ToolValidationError', message: expect.stringContaining('txt') as unknown },
    });
    expect(await harness.callTool('note', undefined, NAMES)).toMatchObject({ status: 'failed' });
  });
});

describe('a structured call with effects, in a harness with a store', () => {
  it('needs no arguments where its tool takes none', async () => {
    const tool = defineTool({
      name: 'tick',
      description: 'x',
      effect: 'write',
      approval: 'never',
      execute: () => 'tock',
    });
    const harness = createHarness({ tools: [tool], store: memoryStore(), suspensionKey: KEY });
    onTestFinished(() => harness.close());
    expect(await harness.callTool('tick', undefined)).toMatchObject({ status: 'completed', result: 'tock' });
  });

  it('leaves no data after it has completed', async () => {
    const effects: Effects = [];
    const store = memoryStore();
    const operation = await open({ effects, store }).callTool('mark', { text: 'a' }, NAMES);
    expect(operation).toMatchObject({ callId: NAMES.callId, status: 'completed', result: 'a' });
    expect((await listScripts(store)).filter(({ state }) => state !== 'ended')).toEqual([]);
  });

  it('whose process ended is never repeated: its outcome is unknown, and is reported so', async () => {
    const store = memoryStore({ leaseMs: 1 } as never);
    let calls = 0;
    const tool = defineTool({
      name: 'charge',
      description: 'Charges',
      effect: 'external',
      approval: 'never',
      input: z.object({ amount: z.number() }),
      execute: () => {
        calls += 1;
        return new Promise<never>(() => {});
      },
    });
    const dying = createHarness({ tools: [tool], store, suspensionKey: KEY });
    void dying.callTool('charge', { amount: 1 }, NAMES).catch(() => {});
    await expect.poll(() => calls).toBe(1);
    const [left] = await listScripts(store);
    const harness = createHarness({ tools: [tool], store, suspensionKey: KEY });
    onTestFinished(async () => {
      await Promise.all([dying.close(), harness.close()]);
    });
    const types: string[] = [];
    const onEvent = ({ payload }: StreamEvent) => void types.push(payload.type);
    const outcome = await harness.recover(left!.scriptId, { force: true, onEvent });
    // The call has no item of a script.
    expect(types.filter((type) => type.startsWith('item_'))).toEqual([]);
    expect(outcome.operations).toMatchObject([{ callId: NAMES.callId, tool: 'charge', status: 'unknown' }]);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolExecutionError', toolName: 'charge' } });
    expect(calls).toBe(1);
    expect(await recoverScripts(harness, store)).toBe(0);
  });
});

it('does not change the ids of a suspended script', async () => {
  const harness = open();
  const outcome = suspended(await harness.runScript('return await tools.note({ text: "a" })'));
  expect(outcome.pendingApprovals).toMatchObject([{ line: 1, callId: expect.stringContaining('call') as unknown }]);
});
