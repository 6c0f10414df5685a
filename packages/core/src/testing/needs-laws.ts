import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { ToolscriptUsageError, type RunStore } from '../protocol/index.js';
import {
  approvalDraft,
  heldRun,
  LEASE,
  refuses,
  runDraft,
  storesLaw,
  TestClock,
  type StoresLaw,
} from './service-laws.js';

const OLD = { workerId: 'wrk_old', opens: ['agent:coder', 'bridge:3', 'key:a'], leaseMs: 60_000 };
const NEEDS = ['agent:coder', 'key:b'];

/** The laws of what runs need and workers open. */
export const needsLaws: readonly StoresLaw[] = [
  storesLaw('a worker claims only runs whose needs it opens, by age and by id', async ({ runs }) => {
    const { run } = await runs.create(runDraft({ needs: NEEDS.toReversed() }));
    deepStrictEqual(run.needs, NEEDS);
    const free = (await runs.create(runDraft())).run;
    for (const opens of [[], ['agent:coder'], ['key:b'], ['agent:coder', 'key:bb', 'key:B']]) {
      strictEqual(await runs.claim({ ...LEASE, opens, runId: run.runId }), undefined);
      strictEqual((await runs.claim({ ...LEASE, opens }))?.run.runId, free.runId);
      const { epoch } = (await runs.get(free.runId))!;
      await runs.release({ runId: free.runId, epoch });
    }
    strictEqual((await runs.claim({ ...LEASE, opens: ['key:b', 'key:a', 'agent:coder'] }))?.run.runId, run.runId);
    strictEqual((await runs.claim(LEASE))?.run.runId, free.runId);
  }),
  storesLaw('a run after many that no worker opens is claimed, for every principal', async ({ runs }) => {
    await Promise.all(Array.from({ length: 150 }, () => runs.create(runDraft({ needs: ['agent:gone'] }))));
    for (const principal of ['ada', 'bob']) await runs.create(runDraft({ principal, needs: ['agent:coder'] }));
    const claim = () => runs.claim({ ...LEASE, opens: OLD.opens, maxPerPrincipal: 5 });
    deepStrictEqual([(await claim())?.run.principal, (await claim())?.run.principal], ['ada', 'bob']);
    strictEqual(await claim(), undefined);
  }),
  storesLaw('a claim adds what the scripts of the claimer need', async (stores) => {
    const { runs } = stores;
    const { run } = await runs.create(runDraft({ needs: ['agent:coder'] }));
    const claimed = await runs.claim({ ...LEASE, opens: OLD.opens, needs: ['key:a', 'agent:coder'] });
    deepStrictEqual(claimed?.run.needs, ['agent:coder', 'key:a']);
    await runs.suspend({ runId: run.runId, epoch: 1 }, [approvalDraft('apr_1')]);
    deepStrictEqual((await runs.get(run.runId))?.needs, ['agent:coder', 'key:a']);
    await stores.threads.decide('apr_1', 'approve', 'ada');
    strictEqual(await runs.claim({ ...LEASE, opens: ['agent:coder', 'key:b'] }), undefined);
    const next = await runs.claim({ ...LEASE, opens: ['agent:coder', 'key:a', 'key:b'], needs: ['key:b'] });
    deepStrictEqual([next?.run.reason, next?.run.needs], ['resumed', ['agent:coder', 'key:a', 'key:b']]);
  }),
  storesLaw(
    'the needs of a run hold after its holder has died, and if it is claimed while it is suspended',
    async (_, makeStores) => {
      const clock = new TestClock();
      const { runs } = await makeStores({ now: clock.now });
      const { run } = await runs.create(runDraft());
      await runs.claim({ ...LEASE, needs: ['key:a'] });
      clock.nowMs += LEASE.leaseMs + 1;
      strictEqual(await runs.claim({ ...LEASE, opens: ['key:b'] }), undefined);
      strictEqual((await runs.claim({ ...LEASE, opens: ['key:a'] }))?.run.reason, 'interrupted');
      await runs.suspend({ runId: run.runId, epoch: 2 }, [approvalDraft('apr_1')]);
      const asked = { ...LEASE, runId: run.runId, evenSuspended: true };
      strictEqual(await runs.claim({ ...asked, opens: ['key:b'] }), undefined);
      strictEqual((await runs.claim({ ...asked, opens: ['key:a'] }))?.run.epoch, 3);
    },
  ),
  storesLaw('any worker claims a cancelled run that no announced worker opens', async ({ runs }) => {
    const { run } = await runs.create(runDraft({ needs: NEEDS }));
    await runs.requestCancel(run.runId);
    deepStrictEqual(await stuckIds(runs), []);
    await runs.announce({ ...OLD, workerId: 'wrk_able', opens: NEEDS });
    strictEqual(await runs.claim({ ...LEASE, opens: [] }), undefined);
    await runs.withdraw('wrk_able');
    await runs.announce(OLD);
    strictEqual((await runs.claim({ ...LEASE, opens: [] }))?.run.runId, run.runId);
  }),
  storesLaw('malformed needs are rejected', async ({ runs }) => {
    for (const need of ['', 'a b', 'a\0', '\ud800', 'é', 'x'.repeat(201)]) {
      await refuses(() => runs.create(runDraft({ needs: [need] })), ToolscriptUsageError);
      await refuses(() => runs.claim({ ...LEASE, opens: [need] }), ToolscriptUsageError);
      await refuses(() => runs.announce({ ...OLD, opens: [need] }), ToolscriptUsageError);
    }
  }),
  storesLaw('an announced worker is listed until it withdraws or its notice ends', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    const second = { ...OLD, workerId: 'wrk_second', workspaces: ['/w'], leaseMs: 90_000 };
    for (const worker of [second, { ...OLD, opens: [] }, OLD]) await runs.announce(worker);
    deepStrictEqual(await runs.workers(), [OLD, second]);
    clock.nowMs += 70_000;
    deepStrictEqual(await runs.workers(), [second]);
    await runs.withdraw(second.workerId);
    await runs.withdraw(second.workerId);
    deepStrictEqual(await runs.workers(), []);
  }),
  storesLaw('a run that no announced worker opens is stuck until one opens it', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    const { run } = await runs.create(runDraft({ needs: ['agent:coder', 'key:a', 'key:b'] }));
    const other = (await runs.create(runDraft({ needs: ['key:a'] }))).run;
    deepStrictEqual(await stuckIds(runs), [run.runId, other.runId]);
    await runs.announce(OLD);
    deepStrictEqual(await stuckIds(runs), [run.runId]);
    // Two workers that together open everything do not open the run.
    await runs.announce({ ...OLD, workerId: 'wrk_2', opens: ['key:b', 'agent:coder'] });
    deepStrictEqual(await stuckIds(runs), [run.runId]);
    await runs.announce({ ...OLD, workerId: 'wrk_3', opens: ['key:b', 'key:a', 'agent:coder'], leaseMs: 10_000 });
    deepStrictEqual(await stuckIds(runs), []);
    clock.nowMs += 10_001;
    deepStrictEqual(await stuckIds(runs), [run.runId]);
    strictEqual((await runs.claim({ ...LEASE, runId: run.runId }))?.run.runId, run.runId);
    deepStrictEqual(await stuckIds(runs), []);
  }),
  storesLaw(
    'a queued run of a workspace that no worker serves is stuck; a run that its program has left is not',
    async (_, makeStores) => {
      const clock = new TestClock();
      const { runs } = await makeStores({ now: clock.now });
      await runs.announce({ ...OLD, workspaces: ['/w'], leaseMs: 10 * LEASE.leaseMs });
      const of = (workspace: string) => ({ thread: { create: { workspace } } });
      const left = (await runs.create(runDraft({ ...of('/other'), claim: LEASE }))).run;
      const died = (await runs.create(runDraft({ ...of('/w'), claim: LEASE, needs: ['key:gone'] }))).run;
      await runs.create(runDraft(of('/w')));
      const queued = (await runs.create(runDraft(of('/other')))).run;
      deepStrictEqual(await stuckIds(runs), [queued.runId]);
      clock.nowMs += LEASE.leaseMs + 1;
      deepStrictEqual(await stuckIds(runs), [died.runId, queued.runId]);
      strictEqual((await runs.claim({ ...LEASE, runId: left.runId }))?.run.reason, 'interrupted');
    },
  ),
  storesLaw('parked and unopened runs are listed in pages, oldest first', async (stores) => {
    const { runs } = stores;
    const created = [];
    for (let index = 0; index < 5; index += 1) {
      const { run, fence } = await heldRun(stores, index % 2 === 0 ? {} : { claim: undefined, needs: ['key:gone'] });
      created.push(run.runId);
      if (index % 2 === 0) await runs.park(fence, 'Workers died.');
    }
    const found = [];
    let after: string | undefined;
    do {
      const page = await runs.list({ stuck: true, limit: 2, after });
      found.push(...page.runs.map(({ runId }) => runId));
      after = page.next;
    } while (after !== undefined);
    deepStrictEqual(found, created);
    deepStrictEqual(
      (await runs.list({ stuck: true, state: 'queued' })).runs.map(({ runId }) => runId),
      [created[1], created[3]],
    );
  }),
];

async function stuckIds(runs: RunStore): Promise<string[]> {
  return (await runs.list({ stuck: true })).runs.map(({ runId }) => runId);
}
