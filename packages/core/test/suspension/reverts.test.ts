import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, memoryStore } from '#core/index.js';
import type { ApprovalPolicy, ToolCallContext } from '#core/protocol/index.js';
import { HOLDER, open, suspended, type Effects, sealed } from './world.js';

interface Behaviour {
  fails?: string;
  onRevert?: (text: string, context: ToolCallContext) => void;
  idempotent?: boolean;
}

/** `book` can be undone; `send` cannot. */
function bookingTools(effects: Effects, { fails, onRevert, idempotent = false }: Behaviour = {}) {
  return [
    defineTool({
      name: 'book',
      description: 'Books',
      effect: 'external',
      idempotent,
      aliases: { words: 'text' },
      input: z.object({ text: z.string() }),
      output: z.object({ booking: z.string() }),
      execute: ({ text }) => {
        effects.push(`book ${text}`);
        return { booking: `b-${text}` };
      },
      revert: ({ text }, { booking }, context) => {
        if (text === fails) throw new Error('the office is closed');
        onRevert?.(text, context);
        effects.push(`cancel ${text} ${booking}`);
      },
    }),
    defineTool({
      name: 'send',
      description: 'Sends',
      effect: 'external',
      input: z.object({ text: z.string() }),
      execute: ({ text }) => void effects.push(`send ${text}`),
    }),
    defineTool({ name: 'look', description: 'Looks', effect: 'read', execute: () => 1 }),
  ];
}

const CODE = `await tools.book({ words: 'a' }); await tools.look(); await tools.send({ text: 'x' }); await tools.book({ text: 'b' });`;

async function booked(behaviour: Behaviour = {}, approvals: ApprovalPolicy = 'auto') {
  const effects: Effects = [];
  const store = memoryStore();
  const harness = open({ store, approvals, tools: bookingTools(effects, behaviour) });
  const { scriptId } = await harness.runScript(CODE, { approvals: 'auto' });
  effects.length = 0;
  return { effects, store, harness, scriptId };
}

describe('revert', () => {
  it('is refused for a script that another process holds, and undoes nothing', async () => {
    const { effects, store, harness, scriptId } = await booked();
    await store.claim.take(scriptId, 1, HOLDER);
    expect(await harness.revert(scriptId)).toMatchObject({
      ok: false,
      error: { code: 'SuspensionError', message: expect.stringContaining('Another process') as string },
    });
    expect(effects).toEqual([]);
  });

  it('undoes the calls of a script newest first, with their results, each once', async () => {
    const keys: string[] = [];
    const onRevert = (_: string, { idempotencyKey, callId }: ToolCallContext) =>
      keys.push(`${callId} ${idempotencyKey}`);
    const { effects, harness, scriptId } = await booked({ onRevert });
    const reverted = await harness.revert(scriptId);
    expect(reverted).toMatchObject({ ok: true, calls: [{ tool: 'book', status: 'reverted' }, { status: 'reverted' }] });
    expect(effects).toEqual(['cancel b b-b', 'cancel a b-a']);
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key).toMatch(/^(\S+) \S+:\1:revert$/u);
    expect(await harness.revert(scriptId)).toEqual({ ok: true, calls: [] });
    expect(effects).toHaveLength(2);
  });

  it('lists the calls with effects, and why one is not undone', async () => {
    const { harness, scriptId } = await booked();
    expect(await harness.revertible(scriptId)).toMatchObject([
      { tool: 'book', status: 'revertible', input: { text: 'b' } },
      { tool: 'send', status: 'not_undone', reason: 'the tool cannot undo its calls' },
      { tool: 'book', status: 'revertible', input: { text: 'a' } },
    ]);
    await harness.revert(scriptId);
    expect((await harness.revertible(scriptId))?.map(({ status }) => status)).toEqual([
      'reverted',
      'not_undone',
      'reverted',
    ]);
  });

  it('stops at the first call that fails, and a later revert tries it again', async () => {
    const behaviour = { fails: 'a' };
    const { effects, harness, scriptId } = await booked(behaviour);
    const reverted = await harness.revert(scriptId);
    expect(reverted).toMatchObject({ calls: [{ status: 'reverted' }, { status: 'failed' }] });
    expect(JSON.stringify(reverted)).toContain('the office is closed');
    expect(effects).toEqual(['cancel b b-b']);
    behaviour.fails = '';
    await harness.revert(scriptId);
  });

  it.each<[string, ApprovalPolicy]>([
    ['denies', 'deny'],
    ['denies it by a rule', [{ tool: 'book', action: 'deny' }, { action: 'approve' }]],
    ['leaves the decision for later', () => 'suspend'],
  ])('does nothing if the user %s', async (_, approvals) => {
    const { effects, harness, scriptId } = await booked();
    const reverted = await harness.revert(scriptId, { approvals });
    expect(reverted).toMatchObject({ ok: true, calls: [{ status: 'failed' }] });
    expect(effects).toEqual([]);
    expect((await harness.revertible(scriptId))?.[0]?.status).toBe('revertible');
  });

  it('shows the user what is undone', async () => {
    const { harness, scriptId } = await booked();
    const shown: string[] = [];
    await harness.revert(scriptId, { approvals: ({ rendered }) => (shown.push(rendered), 'approve') });
    expect(shown[0]).toContain('Undo this call:');
    expect(shown[0]).toContain('"text": "b"');
  });

  it('is refused to another principal, and while another process holds the script', async () => {
    const { effects, store, harness, scriptId } = await booked();
    expect(await harness.revertible(scriptId, { principal: 'eve' })).toBeUndefined();
    expect(await harness.revert(scriptId, { principal: 'eve' })).toMatchObject({ ok: false });
    await store.claim.take(scriptId, (await store.claim.current(scriptId))!.epoch, { ...HOLDER, force: true });
    expect(await harness.revert(scriptId)).toMatchObject({ ok: false });
    expect(effects).toEqual([]);
  });

  it('is done by exactly one of two that run at once', async () => {
    const { effects, harness, scriptId } = await booked();
    await Promise.all([harness.revert(scriptId), harness.revert(scriptId)]);
    expect(effects).toEqual(['cancel b b-b', 'cancel a b-a']);
  });

  it.each([false, true])('that was killed is repeated only if the tool is idempotent: %s', async (idempotent) => {
    const { effects, store, harness, scriptId } = await booked({ idempotent });
    const [newest] = (await harness.revertible(scriptId))!;
    const { epoch } = (await store.claim.current(scriptId))!;
    const line = JSON.stringify({ t: 'revert', atMs: 1, callId: newest!.callId, state: 'started' });
    await sealed(store).journal.append(scriptId, epoch, [line]);
    expect((await harness.revertible(scriptId))?.[0]?.status).toBe(idempotent ? 'revertible' : 'unknown');
    await harness.revert(scriptId);
    expect(effects).toEqual(idempotent ? ['cancel b b-b', 'cancel a b-a'] : ['cancel a b-a']);
  });

  it('leaves a suspended script able to resume', async () => {
    const effects: Effects = [];
    const store = memoryStore();
    const ask: ApprovalPolicy = [{ tool: 'book', action: 'approve' }, { action: 'ask' }];
    const harness = open({ store, approvals: { rules: ask, ask: () => 'suspend' }, tools: bookingTools(effects) });
    const outcome = suspended(
      await harness.runScript(`await tools.book({ text: 'a' }); return tools.send({ text: 'x' });`),
    );
    const { scriptId } = outcome;
    expect(await harness.revert(scriptId, { approvals: 'auto' })).toMatchObject({
      ok: true,
      calls: [{ tool: 'book' }],
    });
    const [{ approvalId }] = outcome.pendingApprovals as unknown as [{ approvalId: string }];
    expect((await harness.resume(scriptId, { [approvalId]: 'approve' })).status).toBe('completed');
    expect(effects).toEqual(['book a', 'cancel a b-a', 'send x']);
  });

  it('must be a function of its tool', () => {
    const tool = { name: 'a', description: 'a', execute: () => 1, revert: true as never };
    expect(() => defineTool(tool)).toThrow('"revert" of the tool "a" must be a function.');
  });
});
