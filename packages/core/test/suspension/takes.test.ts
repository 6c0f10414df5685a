import { setTimeout as delay } from 'node:timers/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, fileStore, listScripts, memoryStore, recoverScripts } from '#core/index.js';
import type { ApprovalRequest } from '#core/protocol/index.js';
import { decideAll, failureOf, HOLDER, keepCopy, open, suspended, tools, valueOf, type Effects } from './world.js';

const TWO = `
  const [a, b] = await Promise.all([tools.note({ text: 'a' }), tools.note({ text: 'b' }).catch((error) => error.name)]);
  return [a.noted, b.noted ?? b];`;

/** A tool that reports its call, and ends when the test requests it. */
function gated(effects: Effects) {
  let called: () => void = () => {};
  let end: () => void = () => {};
  const isCalled = new Promise<void>((resolve) => (called = resolve));
  const mayEnd = new Promise<void>((resolve) => (end = resolve));
  const tool = defineTool({
    name: 'gate',
    description: 'Ends when it is told to',
    effect: 'write',
    approval: 'never',
    input: z.object({}),
    async execute() {
      effects.push('gate');
      called();
      await mayEnd;
      return 'open';
    },
  });
  return { tool, isCalled, end: () => end() };
}

describe('a decision', () => {
  it('is stored by one process, shown in the list, and applies when any process resumes', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const { scriptId, ...outcome } = suspended(await open({ store, effects }).runScript(TWO));
    const [first, second] = outcome.pendingApprovals;
    const decides = open({ store });
    expect(await decides.decide(scriptId, { [first!.approvalId]: 'approve' })).toEqual({
      ok: true,
      undecided: [second!.approvalId],
    });
    const [listed] = await listScripts(store);
    expect(listed).toMatchObject({ state: 'suspended' });
    expect(listed!.approvals.map(({ decided }) => decided)).toEqual(['approve', undefined]);
    expect(await decides.decide(scriptId, { [second!.approvalId]: 'deny' })).toEqual({ ok: true, undecided: [] });
    expect(effects).toEqual([]);
    expect(valueOf(await open({ store, effects }).recover(scriptId))).toEqual(['a', 'ApprovalDeniedError']);
    expect(effects).toEqual(['script: a']);
  });

  it('is waited for by a resume at the same moment', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const { scriptId, ...outcome } = suspended(
      await open({ store, effects }).runScript('return (await tools.note({ text: "a" })).noted'),
    );
    let isStored = () => {};
    let mayRelease = () => {};
    const stored = new Promise<void>((resolve) => (isStored = resolve));
    const released = new Promise<void>((resolve) => (mayRelease = resolve));
    const release: typeof store.claim.release = async (...claim) => {
      isStored();
      await released;
      return store.claim.release(...claim);
    };
    const claim: typeof store.claim = {
      current: (...asked) => store.claim.current(...asked),
      take: (...asked) => store.claim.take(...asked),
      renew: (...held) => store.claim.renew(...held),
      release,
    };
    const decided = open({ store: { ...store, claim } }).decide(
      scriptId,
      decideAll({ scriptId, ...outcome }, 'approve'),
    );
    await stored;
    expect(await open({ store }).inspect(scriptId)).toMatchObject({ approvals: [{ decided: 'approve' }] });
    const resumed = open({ store, effects }).resume(scriptId, {});
    await delay(100);
    mayRelease();
    expect(await decided).toEqual({ ok: true, undecided: [] });
    expect(valueOf(await resumed)).toBe('a');
    expect(effects).toEqual(['script: a']);
  });

  it('that is later replaces an earlier one, until the script resumes', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const harness = open({ store, effects });
    const { scriptId, ...outcome } = suspended(
      await harness.runScript('return await tools.note({ text: "a" }).catch((error) => error.name)'),
    );
    const [asked] = outcome.pendingApprovals;
    await harness.decide(scriptId, { [asked!.approvalId]: 'approve' });
    expect(valueOf(await harness.resume(scriptId, { [asked!.approvalId]: 'deny' }))).toBe('ApprovalDeniedError');
    expect(effects).toEqual([]);
    expect(await harness.decide(scriptId, {})).toMatchObject({ ok: false, error: { code: 'SuspensionError' } });
  });

  it('about a call that its process did not reach is not asked again after a crash', async () => {
    const store = memoryStore();
    const source = `
      const keep = (call) => call.catch((error) => error.data?.status ?? error.name);
      return await Promise.all([keep(tools.note({ text: 'a' })), keep(tools.note({ text: 'b' }))]);`;
    const effects: Effects = [];
    const { scriptId, ...outcome } = suspended(await open({ store, effects }).runScript(source));
    await open({ store, effects }).resume(scriptId, decideAll({ scriptId, ...outcome }, 'approve'));
    const { lines } = (await store.journal.read(scriptId))!;
    const firstIntent = lines.findIndex((line) => line.startsWith('{"t":"intent"'));
    expect(lines.filter((line) => line.startsWith('{"t":"intent"'))).toHaveLength(2);
    const died = await keepCopy(memoryStore(), scriptId, { lines: lines.slice(0, firstIntent + 1) });
    const again: Effects = [];
    expect(valueOf(await open({ store: died, effects: again }).recover(scriptId))).toEqual(['unknown', { noted: 'b' }]);
    expect(again).toEqual(['script: b']);
  });

  it('that a callback made is not asked again after a crash, even if its call had not started', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const { tool, isCalled, end } = gated(effects);
    const asked: string[] = [];
    const approvals = (request: ApprovalRequest) => {
      asked.push(request.tool);
      return 'approve' as const;
    };
    const more = { store, approvals, tools: [...tools(effects), tool], limits: { maxConcurrentToolCalls: 1 } };
    const source = `
      const gate = tools.gate({}).catch((error) => error.data.status);
      return Promise.all([gate, tools.note({ text: 'a' })]);`;
    const running = open(more).runScript(source);
    await isCalled;
    await expect.poll(() => asked).toEqual(['note']);
    const [{ scriptId } = { scriptId: '' }] = await listScripts(store);
    await expect.poll(async () => (await store.journal.read(scriptId))?.lines.join()).toContain('"t":"decided"');
    expect(effects).toEqual(['gate']);
    expect(valueOf(await open(more).recover(scriptId, { force: true }))).toEqual(['unknown', { noted: 'a' }]);
    expect(asked).toEqual(['note']);
    end();
    expect(failureOf(await running)).toMatchObject({ code: 'StoreError', retryable: false });
    expect(effects).toEqual(['gate', 'script: a']);
  });

  it('about a script of another principal, or a missing one, is rejected', async () => {
    const store = memoryStore();
    const harness = open({ store });
    const { scriptId } = suspended(await harness.runScript('await tools.note({ text: "a" })', { principal: 'ada' }));
    for (const [id, run] of [
      [scriptId, {}],
      [scriptId, { principal: 'eve' }],
      ['scr_none', { principal: 'ada' }],
    ] as const)
      expect(await harness.decide(id, {}, run)).toMatchObject({ ok: false, error: { code: 'SuspensionError' } });
    expect(await harness.decide(scriptId, {}, { principal: 'ada' })).toMatchObject({ ok: true });
    await expect(harness.decide(scriptId, { apr_x: 'approve' }, { principal: 'ada' })).rejects.toThrow('no approval');
    await expect(open().decide(scriptId, {})).rejects.toThrow('decide needs a harness with a store');
  });
});

describe('all interrupted scripts', () => {
  it('are recovered a few at a time, each as its own principal, and suspended ones stay suspended', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const first = open({ store, effects });
    const outcomes = [];
    for (let index = 0; index < 7; index++) {
      const principal = index % 2 === 0 ? 'ada' : 'eve';
      const source = `await tools.mark({ text: '${index}' }); return await tools.note({ text: '${index}' })`;
      outcomes.push(suspended(await first.runScript(source, { principal })));
    }
    const died = memoryStore();
    for (const [index, { scriptId }] of outcomes.entries()) {
      const content = (await store.journal.read(scriptId))!;
      const status = { state: 'running', principal: index % 2 === 0 ? 'ada' : 'eve' } as const;
      await keepCopy(died, scriptId, { lines: content.lines.filter((line) => !line.startsWith('{"t":"suspended"')) });
      await died.claim.take(scriptId, 1, { ...HOLDER, status });
      await died.claim.release(scriptId, 2);
    }
    let running = 0;
    let most = 0;
    const harness = open({ store: died, effects: [] });
    const counted = {
      recover: async (...args: Parameters<typeof harness.recover>) => {
        most = Math.max(most, ++running);
        const outcome = await harness.recover(...args);
        running -= 1;
        return outcome;
      },
    };
    const ends: string[] = [];
    const tried = await recoverScripts(counted, died, { atOnce: 3, onOutcome: ({ status }) => ends.push(status) });
    expect({ tried, most, ends }).toEqual({ tried: 7, most: 3, ends: Array.from({ length: 7 }, () => 'suspended') });
    expect((await listScripts(died, { state: 'suspended' })).length).toBe(7);
    expect(await recoverScripts(harness, died)).toBe(0);
  });
});

describe('a script of the store', () => {
  it('is resumed by its id in exactly one of several processes', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const outcome = suspended(await open({ store, effects }).runScript('return await tools.note({ text: "a" })'));
    const decisions = decideAll(outcome, 'approve');
    const all = await Promise.all([1, 2, 3].map(() => open({ store, effects }).resume(outcome.scriptId, decisions)));
    expect(all.map(({ status }) => status).toSorted()).toEqual(['completed', 'failed', 'failed']);
    expect(effects).toEqual(['script: a']);
    expect(failureOf(await open({ store }).resume(outcome.scriptId, decisions)).code).toBe('SuspensionError');
    expect(failureOf(await open({ store }).resume('scr_none', {})).message).toContain('There is no script');
  });

  it('that is claimed by force stops at its former holder before its next effect, and repeats nothing', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const { tool, isCalled, end } = gated(effects);
    const more = { store, tools: [...tools(effects), tool] };
    const source = `
      await tools.mark({ text: 'a' });
      const gate = await tools.gate({}).catch((error) => error.data.status);
      return [gate, await tools.mark({ text: 'b' })];`;
    const running = open(more).runScript(source);
    await isCalled;
    const [{ scriptId, state } = { scriptId: '', state: '' }] = await listScripts(store);
    expect(state).toBe('running');
    expect(failureOf(await open(more).recover(scriptId)).message).toMatch(/^Another process is already running/u);
    expect(valueOf(await open(more).recover(scriptId, { force: true }))).toEqual(['unknown', 'b']);
    end();
    expect(failureOf(await running)).toMatchObject({ code: 'StoreError', retryable: false });
    expect(effects).toEqual(['mark: a', 'gate', 'mark: b']);
  });

  it('that is claimed by force stops at its former holder at the next renewal of the lease', async () => {
    const store = memoryStore();
    const more = { store, leaseMs: 1_000 };
    const waiting = "await tools.mark({ text: 'a' }); await sleep(60_000); return 1";
    const running = open({ ...more, limits: { timeoutMs: 60_000 } }).runScript(waiting);
    await expect.poll(async () => (await listScripts(store)).length).toBe(1);
    const [listed] = await listScripts(store);
    const lines = async () => (await store.journal.read(listed!.scriptId))?.lines.join();
    await expect.poll(lines).toContain('"t":"delivered"');
    expect(await store.claim.take(listed!.scriptId, 1, HOLDER)).toBeDefined();
    expect(failureOf(await running)).toMatchObject({ code: 'StoreError', retryable: false });
  });

  it('whose holder is alive is not claimed while its lease is renewed, however long it runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolscript-lease-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = () => fileStore(join(folder, 'kept'), { knowsProcesses: false });
    const effects: Effects = [];
    const { tool, isCalled, end } = gated(effects);
    const more = { tools: [...tools(effects), tool] };
    const held = store();
    const renew = vi.spyOn(held.claim, 'renew');
    const running = open({ ...more, store: held, leaseMs: 9_000 }).runScript('return await tools.gate({})');
    await isCalled;
    const [{ scriptId } = { scriptId: '' }] = await listScripts(store());
    const other = open({ ...more, store: store() });
    // A renewal each third of the lease.
    while (renew.mock.calls.length < 4) {
      expect(failureOf(await other.recover(scriptId)).message).toMatch(/^Another process is already running/u);
      await delay(100);
    }
    end();
    expect(valueOf(await running)).toBe('open');
    expect(effects).toEqual(['gate']);
  });
});
