import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { ToolscriptUsageError } from '../protocol/index.js';
import {
  allPages,
  approvalDraft,
  heldRun,
  HOSTILE_TEXTS,
  refuses,
  storesLaw,
  TestClock,
  type StoresLaw,
} from './service-laws.js';

/** Laws for approvals across threads: part of what a `ThreadStore` must satisfy. */
export const approvalLaws: readonly StoresLaw[] = [
  storesLaw('an approval is read back as it was requested', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { run, fence } = await heldRun(stores);
    const text = HOSTILE_TEXTS.join('|');
    const asked = { input: { text }, inputJson: JSON.stringify({ text }), rendered: text, line: 3, scriptId: 'scr_1' };
    const { request } = approvalDraft('apr_1', { ...asked, createdAt: 7, expiresAt: clock.nowMs + 5 });
    await stores.runs.suspend(fence, [{ request }, approvalDraft('apr_2', { createdAt: clock.nowMs })]);
    const found = await stores.threads.approval('apr_1');
    deepStrictEqual(found, {
      approvalId: 'apr_1',
      runId: run.runId,
      threadId: run.threadId,
      principal: 'ada',
      request,
      createdAt: 7,
      expiresAt: clock.nowMs + 5,
      state: 'pending',
    });
    const second = await stores.threads.approval('apr_2');
    deepStrictEqual([second?.createdAt, second?.expiresAt], [clock.nowMs, undefined]);
  }),
  storesLaw('pending approvals are listed across threads, by principal, oldest first', async (stores) => {
    for (const [index, principal] of ['ada', 'bob', 'ada'].entries()) {
      const { fence } = await heldRun(stores, { principal });
      await stores.runs.suspend(fence, [approvalDraft(`apr_${index}a`), approvalDraft(`apr_${index}b`)]);
    }
    await stores.threads.decide('apr_0a', 'deny', 'ada');
    const list = async (query: object) =>
      (await stores.threads.listApprovals(query)).approvals.map(({ approvalId }) => approvalId).join();
    strictEqual(await list({ state: 'pending', principal: 'ada' }), 'apr_0b,apr_2a,apr_2b');
    strictEqual(await list({ state: 'denied' }), 'apr_0a');
    strictEqual(await list({ principal: 'bob' }), 'apr_1a,apr_1b');
    strictEqual(await list({ principal: '%' }), '');
    const { runId, threadId } = (await stores.threads.approval('apr_1a'))!;
    strictEqual(await list({ runId }), 'apr_1a,apr_1b');
    strictEqual(await list({ threadId, state: 'expired' }), '');
    const all = await allPages(async (after) => {
      const { approvals, next } = await stores.threads.listApprovals({
        limit: 4,
        after,
      });
      return { entries: approvals, next };
    });
    strictEqual(all.length, 6);
  }),
  storesLaw(
    'one of many concurrent decisions wins, across two handles, and every caller learns the winner',
    async (stores, makeStores) => {
      const beside = await makeStores({ beside: stores });
      const { fence } = await heldRun(stores);
      await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
      const decided = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          [stores, beside][index % 2]!.threads.decide('apr_1', index % 3 === 0 ? 'approve' : 'deny', `person ${index}`),
        ),
      );
      const winners = decided.filter((each) => each?.isWinner === true);
      strictEqual(winners.length, 1);
      strictEqual(decided.filter((each) => each?.isRunQueued === true).length, 1);
      for (const each of decided) deepStrictEqual(each?.approval, winners[0]?.approval);
      deepStrictEqual(await stores.threads.approval('apr_1'), winners[0]?.approval);
    },
  ),
  storesLaw('a decision is stored unchanged, with its user and its time', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { fence } = await heldRun(stores);
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    const note = HOSTILE_TEXTS.join('|');
    const decision = { decision: 'approve' as const, input: { eur: 2 }, note, remember: 'workspace' as const };
    clock.nowMs += 5;
    const decided = await stores.threads.decide('apr_1', decision, note);
    const { state, decidedBy, decidedAt } = decided!.approval;
    deepStrictEqual(
      [state, decided!.approval.decision, decidedBy, decidedAt],
      ['approved', decision, note, clock.nowMs],
    );
    deepStrictEqual((await stores.threads.decide('apr_1', 'deny', 'late'))?.approval, decided?.approval);
  }),
  storesLaw('an invalid decision, or one about an unknown approval, decides nothing', async (stores) => {
    const { fence } = await heldRun(stores);
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    for (const decision of ['suspend', '', {}, { decision: 'maybe' }, { decision: 'approve', more: 1 }, null])
      await refuses(() => stores.threads.decide('apr_1', decision as never, 'ada'), ToolscriptUsageError);
    strictEqual(await stores.threads.decide('apr_none', 'approve', 'ada'), undefined);
    strictEqual((await stores.threads.approval('apr_1'))?.state, 'pending');
  }),
  storesLaw('an expired approval cannot be approved, and its run is queued', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { fence, run } = await heldRun(stores);
    const expiresAt = clock.nowMs + 100;
    await stores.runs.suspend(fence, [approvalDraft('apr_1', { expiresAt })]);
    clock.nowMs += 99;
    deepStrictEqual(await stores.threads.expireApprovals(), []);
    clock.nowMs += 1;
    const late = await stores.threads.decide('apr_1', 'approve', 'ada');
    deepStrictEqual([late?.isWinner, late?.isRunQueued, late?.approval.state], [false, true, 'expired']);
    strictEqual(late?.approval.decision, undefined);
    strictEqual((await stores.runs.get(run.runId))?.state, 'queued');
    deepStrictEqual(await stores.threads.expireApprovals(), []);
  }),
  storesLaw(
    'expiry decides each expired approval once, and queues a run that waits for nothing else',
    async (_, makeStores) => {
      const clock = new TestClock();
      const stores = await makeStores({ now: clock.now });
      const expiresAt = clock.nowMs + 100;
      const one = await heldRun(stores);
      await stores.runs.suspend(one.fence, [
        approvalDraft('apr_1', { expiresAt }),
        approvalDraft('apr_2', { expiresAt }),
      ]);
      const two = await heldRun(stores);
      await stores.runs.suspend(two.fence, [approvalDraft('apr_3', { expiresAt }), approvalDraft('apr_4')]);
      clock.nowMs += 100;
      const expired = await stores.threads.expireApprovals();
      deepStrictEqual(
        expired.map(({ approvalId, state }) => [approvalId, state]),
        [
          ['apr_1', 'expired'],
          ['apr_2', 'expired'],
          ['apr_3', 'expired'],
        ],
      );
      deepStrictEqual(await stores.threads.expireApprovals(), []);
      const states = [one, two].map(async ({ run }) => (await stores.runs.get(run.runId))?.state);
      deepStrictEqual(await Promise.all(states), ['queued', 'suspended']);
      strictEqual((await stores.threads.decide('apr_4', 'approve', 'ada'))?.isRunQueued, true);
    },
  ),
];
