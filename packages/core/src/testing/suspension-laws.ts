import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { ToolscriptUsageError } from '../protocol/index.js';
import { approvalDraft, heldRun, LEASE, refuses, runDraft, storesLaw, type StoresLaw } from './service-laws.js';

/** Laws for runs that wait for approvals: part of what a `RunStore` must satisfy. */
export const suspensionLaws: readonly StoresLaw[] = [
  storesLaw('a suspended run has no holder, and waits with its approvals', async (stores) => {
    const { fence, run } = await heldRun(stores);
    const suspended = await stores.runs.suspend(fence, [approvalDraft('apr_1'), approvalDraft('apr_2')]);
    deepStrictEqual([suspended.state, suspended.owner], ['suspended', undefined]);
    strictEqual(await stores.runs.claim(LEASE), undefined);
    const { approvals } = await stores.threads.listApprovals({ runId: run.runId });
    deepStrictEqual(
      approvals.map(({ approvalId, state }) => [approvalId, state]),
      [
        ['apr_1', 'pending'],
        ['apr_2', 'pending'],
      ],
    );
    deepStrictEqual(await stores.runs.suspend(fence, [approvalDraft('apr_3')]), suspended);
    strictEqual((await stores.threads.listApprovals()).approvals.length, 2);
  }),
  storesLaw('after the last decision the run is queued, and its next holder gets the decisions', async (stores) => {
    const { fence } = await heldRun(stores);
    await stores.runs.suspend(fence, [approvalDraft('apr_1'), approvalDraft('apr_2')]);
    strictEqual((await stores.threads.decide('apr_1', 'approve', 'ada'))?.isRunQueued, false);
    strictEqual(await stores.runs.claim(LEASE), undefined);
    const edited = { decision: 'deny' as const, note: 'no' };
    strictEqual((await stores.threads.decide('apr_2', edited, 'bob'))?.isRunQueued, true);
    const claimed = await stores.runs.claim(LEASE);
    deepStrictEqual([claimed?.run.reason, claimed?.run.epoch], ['resumed', 2]);
    deepStrictEqual(
      claimed?.approvals.map(({ approvalId, state, decision, decidedBy }) => [approvalId, state, decision, decidedBy]),
      [
        ['apr_1', 'approved', 'approve', 'ada'],
        ['apr_2', 'denied', edited, 'bob'],
      ],
    );
  }),
  storesLaw(
    'a run that is suspended again keeps decisions, and cancels approvals that it no longer waits for',
    async (stores) => {
      const { fence, run } = await heldRun(stores);
      await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
      await stores.threads.decide('apr_1', 'approve', 'ada');
      const again = { runId: run.runId, epoch: (await stores.runs.claim(LEASE))!.run.epoch };
      strictEqual((await stores.runs.suspend(again, [approvalDraft('apr_1')])).state, 'queued');
      const third = { runId: run.runId, epoch: (await stores.runs.claim(LEASE))!.run.epoch };
      await stores.runs.suspend(third, [approvalDraft('apr_1'), approvalDraft('apr_2'), approvalDraft('apr_3')]);
      await stores.threads.decide('apr_2', 'deny', 'ada');
      await stores.threads.decide('apr_3', 'deny', 'ada');
      const fourth = { runId: run.runId, epoch: (await stores.runs.claim(LEASE))!.run.epoch };
      strictEqual((await stores.runs.suspend(fourth, [approvalDraft('apr_4')])).state, 'suspended');
      const { approvals } = await stores.threads.listApprovals({ runId: run.runId });
      deepStrictEqual(
        approvals.map(({ state }) => state),
        ['approved', 'denied', 'denied', 'pending'],
      );
    },
  ),
  storesLaw('a suspended run can be claimed by its id on request, and keeps its pending approvals', async (stores) => {
    const { fence, run } = await heldRun(stores);
    const { runId } = run;
    await stores.runs.suspend(fence, [approvalDraft('apr_1'), approvalDraft('apr_2')]);
    strictEqual(await stores.runs.claim({ ...LEASE, runId }), undefined);
    strictEqual(await stores.runs.claim({ ...LEASE, evenSuspended: true }), undefined);
    const elsewhere = { ...LEASE, runId, evenSuspended: true, workspaces: ['/elsewhere'] };
    strictEqual(await stores.runs.claim(elsewhere), undefined);
    const claimed = await stores.runs.claim({ ...LEASE, runId, evenSuspended: true });
    deepStrictEqual([claimed?.run.state, claimed?.run.reason, claimed?.run.epoch], ['running', 'resumed', 2]);
    strictEqual(await stores.runs.claim({ ...LEASE, runId, evenSuspended: true }), undefined);
    strictEqual((await stores.threads.decide('apr_1', 'approve', 'ada'))?.isRunQueued, false);
    const again = await stores.runs.suspend({ runId, epoch: 2 }, [approvalDraft('apr_2')]);
    strictEqual(again.state, 'suspended');
    const { approvals } = await stores.threads.listApprovals({ runId });
    deepStrictEqual(
      approvals.map(({ state }) => state),
      ['approved', 'pending'],
    );
  }),
  storesLaw('an approval that is already decided when it is created does not suspend its run', async (stores) => {
    const { fence } = await heldRun(stores);
    const draft = { ...approvalDraft('apr_1'), decided: { decision: 'approve' as const, by: 'rule' } };
    strictEqual((await stores.runs.suspend(fence, [draft])).state, 'queued');
    strictEqual((await stores.threads.approval('apr_1'))?.decidedBy, 'rule');
  }),
  storesLaw(
    'a suspension without approvals, or with an approval of another run, is rejected, and changes nothing',
    async (stores) => {
      const { fence } = await heldRun(stores);
      const other = await heldRun(stores);
      await stores.runs.suspend(other.fence, [approvalDraft('apr_theirs')]);
      await refuses(() => stores.runs.suspend(fence, []), ToolscriptUsageError);
      await refuses(
        () => stores.runs.suspend(fence, [approvalDraft('apr_mine'), approvalDraft('apr_theirs')]),
        ToolscriptUsageError,
      );
      strictEqual(await stores.threads.approval('apr_mine'), undefined);
      strictEqual((await stores.runs.get(fence.runId))?.state, 'running');
    },
  ),
  storesLaw('the end of a run cancels its pending approvals', async (stores) => {
    const { fence, run } = await heldRun(stores);
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    await stores.runs.requestCancel(run.runId);
    const claimed = await stores.runs.claim(LEASE);
    await stores.runs.finish({ runId: run.runId, epoch: claimed!.run.epoch }, { state: 'cancelled' });
    strictEqual((await stores.threads.approval('apr_1'))?.state, 'cancelled');
    strictEqual((await stores.threads.decide('apr_1', 'approve', 'ada'))?.isWinner, false);
  }),
];

/** Laws for runs with a requested cancellation: part of what a `RunStore` must satisfy. */
export const cancelLaws: readonly StoresLaw[] = [
  storesLaw('the holder learns of a cancellation at its next renewal', async (stores) => {
    const { fence, run } = await heldRun(stores);
    const asked = await stores.runs.requestCancel(run.runId);
    deepStrictEqual([asked?.state, typeof asked?.cancelRequestedAt], ['running', 'number']);
    deepStrictEqual(await stores.runs.requestCancel(run.runId), asked);
    deepStrictEqual(await stores.runs.renew(fence, 1_000), { isHeld: true, isCancelRequested: true });
  }),
  storesLaw(
    'a queued or suspended run whose cancellation was requested is claimed, so that its holder ends it',
    async (stores) => {
      const queued = await stores.runs.create(runDraft());
      await stores.runs.requestCancel(queued.run.runId);
      const { fence, run } = await heldRun(stores);
      await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
      strictEqual((await stores.runs.requestCancel(run.runId))?.state, 'queued');
      strictEqual((await stores.threads.approval('apr_1'))?.state, 'cancelled');
      for (const { runId } of [queued.run, run]) {
        const claimed = await stores.runs.claim(LEASE);
        deepStrictEqual([claimed?.run.runId, typeof claimed?.run.cancelRequestedAt], [runId, 'number']);
      }
    },
  ),
  storesLaw('a run that has ended, or does not exist, is not cancelled', async (stores) => {
    const { fence, run } = await heldRun(stores);
    const ended = await stores.runs.finish(fence, { state: 'completed' });
    deepStrictEqual(await stores.runs.requestCancel(run.runId), ended);
    for (const runId of ['run_none', '', "'"]) strictEqual(await stores.runs.requestCancel(runId), undefined);
  }),
  storesLaw(
    'a watcher is woken by a new run, a decision and a cancellation, through another handle too',
    async (stores, makeStores) => {
      const beside = await makeStores({ beside: stores });
      const controller = new AbortController();
      const wakes = stores.runs.watch({ signal: controller.signal })[Symbol.asyncIterator]();
      const changes = [
        async () => void (await beside.runs.create(runDraft({ runId: 'run_1' }))),
        async () => void (await stores.runs.create(runDraft())),
        async () => void (await beside.runs.requestCancel('run_1')),
      ];
      for (const change of changes) {
        const woken = wakes.next();
        await change();
        strictEqual((await woken).done, false);
      }
      const last = wakes.next();
      controller.abort();
      await last;
      strictEqual((await wakes.next()).done, true);
    },
  ),
];
