import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  IdempotencyConflictError,
  InvalidCursorError,
  NotFoundError,
  StaleEpochError,
  ThreadBusyError,
  ToolscriptUsageError,
  type RunFence,
  type RunStore,
} from '../protocol/index.js';
import {
  allPages,
  approvalDraft,
  GARBAGE_CURSORS,
  heldRun,
  HOSTILE_TEXTS,
  LEASE,
  refuses,
  runDraft,
  storesLaw,
  TestClock,
  userInput,
  type StoresLaw,
} from './service-laws.js';
import { needsLaws } from './needs-laws.js';
import { cancelLaws, suspensionLaws } from './suspension-laws.js';

/** The laws for every `RunStore`. Run each law in the test framework of your choice. */
export function runStoreConformance(): readonly StoresLaw[] {
  return [
    ...creationLaws,
    ...idempotencyLaws,
    ...claimLaws,
    ...leaseLaws,
    ...deathLaws,
    ...parkingLaws,
    ...needsLaws,
    ...endLaws,
    ...suspensionLaws,
    ...cancelLaws,
    ...listLaws,
  ];
}

const creationLaws: readonly StoresLaw[] = [
  storesLaw('a run is created with its thread, its turn and its input, and is queued', async ({ threads, runs }) => {
    const options = { agentId: 'coder', overrides: { limits: { timeoutMs: 5 } } };
    const thread = { create: { title: 'T', workspace: '/w', agentId: 'coder' } };
    const { run, turn, isNew } = await runs.create(runDraft({ thread, options }));
    strictEqual(isNew, true);
    deepStrictEqual([run.state, run.reason, run.epoch, run.workspace], ['queued', 'new', 0, '/w']);
    deepStrictEqual(run.options, options);
    deepStrictEqual([turn.runId, turn.turnId, turn.threadId], [run.runId, run.turnId, run.threadId]);
    deepStrictEqual(turn.input, userInput('hello'));
    deepStrictEqual(await runs.get(run.runId), run);
    const found = await threads.get(run.threadId);
    deepStrictEqual([found?.title, found?.workspace, found?.agentId, found?.principal], ['T', '/w', 'coder', 'ada']);
  }),
  storesLaw('ids are given or generated, and all differ', async ({ runs }) => {
    const given = { runId: 'run_mine', turnId: 'turn_mine', thread: { create: { threadId: 'thr_mine' } } };
    const { run } = await runs.create(runDraft(given));
    deepStrictEqual([run.runId, run.turnId, run.threadId], ['run_mine', 'turn_mine', 'thr_mine']);
    const made = await Promise.all(Array.from({ length: 20 }, () => runs.create(runDraft())));
    const ids = made.flatMap(({ run: { runId, turnId, threadId } }) => [runId, turnId, threadId]);
    strictEqual(new Set(ids).size, 60);
    for (const id of ids) ok(/^(?:run|turn|thr)_[A-Za-z0-9_-]{10,}$/u.test(id), id);
  }),
  storesLaw('an id that is in use is rejected, and nothing is created', async ({ threads, runs }) => {
    await runs.create(runDraft({ runId: 'run_1', turnId: 'turn_1', thread: { create: { threadId: 'thr_1' } } }));
    for (const change of [{ runId: 'run_1' }, { turnId: 'turn_1' }, { thread: { create: { threadId: 'thr_1' } } }])
      await refuses(() => runs.create(runDraft(change)), ToolscriptUsageError);
    strictEqual((await threads.list()).threads.length, 1);
    strictEqual((await runs.list()).runs.length, 1);
  }),
  storesLaw('a run can use only a thread of its own principal', async ({ runs }) => {
    const { run } = await runs.create(runDraft());
    const again = await runs.create(runDraft({ thread: { threadId: run.threadId } }));
    strictEqual(again.run.threadId, run.threadId);
    for (const change of [
      { principal: 'eve', thread: { threadId: run.threadId } },
      { thread: { threadId: 'thr_none' } },
    ])
      await refuses(() => runs.create(runDraft(change)), NotFoundError);
    strictEqual((await runs.list()).runs.length, 2);
  }),
  storesLaw('an invalid draft is rejected', async ({ runs }) => {
    const wrong = [{ principal: '' }, { input: [] }, { runId: '../x' }, { runId: 'a b' }, { thread: {} }, { more: 1 }];
    for (const change of wrong)
      await refuses(() => runs.create({ ...runDraft(), ...change } as never), ToolscriptUsageError);
    deepStrictEqual((await runs.list()).runs, []);
  }),
  storesLaw('input, options and names are read back unchanged, whatever they contain', async ({ runs }) => {
    for (const text of [...HOSTILE_TEXTS, 'é'.repeat(500_000)]) {
      const principal = `p${text}`;
      const options = { [`k${text}`]: text };
      const { run } = await runs.create(runDraft({ input: userInput(text), options, principal }));
      const claimed = await runs.claim({ ...LEASE, owner: text });
      deepStrictEqual(claimed?.turn.input, userInput(text));
      deepStrictEqual([claimed.run.options, claimed.run.principal, claimed.run.owner], [options, principal, text]);
      await runs.finish({ runId: run.runId, epoch: 1 }, { state: 'failed', error: { code: 'X', message: text } });
      strictEqual((await runs.get(run.runId))?.error?.message, text);
      strictEqual((await runs.list({ principal })).runs.length, 1);
    }
  }),
  storesLaw('arguments and results are copies: changing them does not change the store', async ({ runs }) => {
    const draft = runDraft({ options: { list: [1] } });
    const { run, turn } = await runs.create(draft);
    (draft.options!.list as number[]).push(2);
    (run.options.list as number[]).push(3);
    turn.input.length = 0;
    const claimed = await runs.claim(LEASE);
    deepStrictEqual([claimed?.run.options, claimed?.turn.input.length], [{ list: [1] }, 1]);
  }),
];

const idempotencyLaws: readonly StoresLaw[] = [
  storesLaw('the same key of the same principal gives the same run', async ({ threads, runs }) => {
    const draft = runDraft({ idempotencyKey: 'k', options: { a: 1, b: 2 } });
    const first = await runs.create(draft);
    const again = await runs.create({ ...draft, options: { b: 2, a: 1 } });
    deepStrictEqual([again.isNew, again.run, again.turn], [false, first.run, first.turn]);
    await runs.claim(LEASE);
    strictEqual((await runs.create(draft)).run.state, 'running');
    strictEqual((await threads.list()).threads.length, 1);
    for (const other of [{ principal: 'bob' }, { idempotencyKey: 'K' }])
      strictEqual((await runs.create({ ...draft, ...other })).isNew, true);
  }),
  storesLaw('the same key in another trace gives the same run', async ({ runs }) => {
    const traced = (traceparent: string) =>
      runDraft({ idempotencyKey: 'k', options: { a: 1, trace: { traceparent } } });
    const first = await runs.create(traced('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'));
    const again = await runs.create(traced('00-0af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01'));
    deepStrictEqual([again.isNew, again.run], [false, first.run]);
  }),
  storesLaw('the same key with another thread, input or options is rejected', async ({ runs }) => {
    const draft = runDraft({ idempotencyKey: 'k', options: { a: 1 } });
    const { run } = await runs.create(draft);
    const others = [
      { input: userInput('other') },
      { options: { a: 2 } },
      { options: undefined },
      { thread: { threadId: run.threadId } },
    ];
    for (const other of others) await refuses(() => runs.create({ ...draft, ...other }), IdempotencyConflictError);
    strictEqual((await runs.list()).runs.length, 1);
  }),
  storesLaw(
    'one of many concurrent requests with one key creates the run, across two handles',
    async (stores, makeStores) => {
      const beside = await makeStores({ beside: stores });
      const draft = runDraft({ idempotencyKey: 'k' });
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, index) => [stores, beside][index % 2]!.runs.create(draft)),
      );
      strictEqual(made.filter(({ isNew }) => isNew).length, 1);
      strictEqual(new Set(made.map(({ run }) => run.runId)).size, 1);
      strictEqual((await stores.runs.list()).runs.length, 1);
    },
  ),
  storesLaw('a key is free again after its thread was deleted', async ({ threads, runs }) => {
    const { run } = await runs.create(runDraft({ idempotencyKey: 'k' }));
    await threads.delete(run.threadId);
    strictEqual((await runs.create(runDraft({ idempotencyKey: 'k', input: userInput('other') }))).isNew, true);
  }),
];

const claimLaws: readonly StoresLaw[] = [
  storesLaw('runnable runs are claimed oldest first, each once', async ({ runs }) => {
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.push((await runs.create(runDraft())).run.runId);
    const claimed: (string | undefined)[] = [];
    for (let count = 0; count < 6; count++) claimed.push((await runs.claim(LEASE))?.run.runId);
    deepStrictEqual(claimed, [...made, undefined]);
  }),
  storesLaw('a principal with many runs does not hold up the others', async ({ runs }) => {
    const make = async (principal: string) => (await runs.create(runDraft({ principal }))).run.runId;
    const ada = [await make('ada'), await make('ada'), await make('ada')];
    const bob = [await make('bob'), await make('bob')];
    const cleo = await make('cleo');
    const claimed: (string | undefined)[] = [];
    for (let count = 0; count < 7; count++) claimed.push((await runs.claim(LEASE))?.run.runId);
    deepStrictEqual(claimed, [ada[0], bob[0], cleo, ada[1], ada[2], bob[1], undefined]);
  }),
  storesLaw('a principal with a long queue does not hold up the others', async ({ runs }) => {
    const make = async (principal: string) => (await runs.create(runDraft({ principal }))).run.runId;
    for (let made = 0; made < 110; made += 10) await Promise.all(Array.from({ length: 10 }, () => make('ada')));
    const bob = await make('bob');
    const claim = async (maxPerPrincipal?: number) => (await runs.claim({ ...LEASE, maxPerPrincipal }))?.run;
    strictEqual((await claim())?.principal, 'ada');
    strictEqual((await claim())?.runId, bob);
    strictEqual((await claim(2))?.principal, 'ada');
    strictEqual(await claim(2), undefined);
    const cleo = await make('cleo');
    strictEqual((await claim(2))?.runId, cleo);
    const others = await Promise.all(Array.from({ length: 5 }, (_, index) => make(`other ${index}`)));
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claim()));
    const ids = claimed.map((run) => run?.runId);
    strictEqual(new Set(ids).size, 10);
    ok(!ids.includes(undefined), 'a claim found nothing');
    ok(
      others.every((runId) => ids.includes(runId)),
      'a principal that holds no run has to wait',
    );
  }),
  storesLaw(
    'a principal holds at most as many runs as a claim allows, across two handles',
    async (stores, makeStores) => {
      const beside = await makeStores({ beside: stores });
      const made: string[] = [];
      for (let count = 0; count < 8; count++) made.push((await stores.runs.create(runDraft())).run.runId);
      const limited = { ...LEASE, maxPerPrincipal: 3 };
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, index) => [stores, beside][index % 2]!.runs.claim(limited)),
      );
      const held = claims.flatMap((claimed) => (claimed === undefined ? [] : [claimed.run.runId]));
      deepStrictEqual(held.toSorted(), made.slice(0, 3).toSorted());
      await stores.runs.finish({ runId: made[0]!, epoch: 1 }, { state: 'completed' });
      strictEqual((await beside.runs.claim(limited))?.run.runId, made[3]);
      strictEqual(await stores.runs.claim(limited), undefined);
      strictEqual((await stores.runs.claim({ ...limited, runId: made[7]! }))?.run.runId, made[7]);
    },
  ),
  storesLaw('expired leases do not count for the share of their principal', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    const limited = { ...LEASE, maxPerPrincipal: 2 };
    for (let count = 0; count < 3; count++) await runs.create(runDraft());
    for (let count = 0; count < 2; count++) await runs.claim(limited);
    strictEqual(await runs.claim(limited), undefined);
    clock.nowMs += LEASE.leaseMs;
    for (let count = 0; count < 2; count++) strictEqual((await runs.claim(limited))?.run.reason, 'interrupted');
    strictEqual(await runs.claim(limited), undefined);
  }),
  storesLaw('a claim contains the run with its holder, lease end, epoch and reason', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    const { run, turn } = await runs.create(runDraft());
    const claimed = await runs.claim({ owner: 'host 7', leaseMs: 500 });
    deepStrictEqual(claimed?.turn, turn);
    deepStrictEqual(claimed.approvals, []);
    const { state, reason, epoch, owner, leaseExpiresAt } = claimed.run;
    deepStrictEqual([state, reason, epoch, owner, leaseExpiresAt], ['running', 'new', 1, 'host 7', clock.nowMs + 500]);
    deepStrictEqual(await runs.get(run.runId), claimed.run);
  }),
  storesLaw('each run goes to one of many concurrent claims, across two handles', async (stores, makeStores) => {
    const beside = await makeStores({ beside: stores });
    for (let count = 0; count < 12; count++) await stores.runs.create(runDraft());
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, index) => [stores, beside][index % 2]!.runs.claim(LEASE)),
    );
    const ids = claims.flatMap((claimed) => (claimed === undefined ? [] : [claimed.run.runId]));
    deepStrictEqual([ids.length, new Set(ids).size], [12, 12]);
  }),
  storesLaw('a thread has one running run at a time, in order', async ({ runs }) => {
    const first = await runs.create(runDraft());
    const thread = { threadId: first.run.threadId };
    const second = await runs.create(runDraft({ thread }));
    const other = await runs.create(runDraft());
    strictEqual((await runs.claim(LEASE))?.run.runId, first.run.runId);
    strictEqual((await runs.claim(LEASE))?.run.runId, other.run.runId);
    strictEqual(await runs.claim(LEASE), undefined);
    await runs.finish({ runId: first.run.runId, epoch: 1 }, { state: 'completed' });
    strictEqual((await runs.claim(LEASE))?.run.runId, second.run.runId);
  }),
  storesLaw('a run is claimed for its workspace, or by its id', async ({ runs }) => {
    const make = async (workspace: string) =>
      (await runs.create(runDraft({ thread: { create: { workspace } } }))).run.runId;
    const [one, two, three] = [await make('/one'), await make('/two'), await make('/two')];
    strictEqual(await runs.claim({ ...LEASE, workspaces: [] }), undefined);
    strictEqual(await runs.claim({ ...LEASE, workspaces: ['', '%', '/'] }), undefined);
    strictEqual((await runs.claim({ ...LEASE, workspaces: ['/three', '/two'] }))?.run.runId, two);
    strictEqual((await runs.claim({ ...LEASE, runId: three }))?.run.runId, three);
    strictEqual(await runs.claim({ ...LEASE, runId: three }), undefined);
    strictEqual((await runs.claim(LEASE))?.run.runId, one);
  }),
  storesLaw('a run that is created with a claim runs at once, and no other worker gets it', async (stores) => {
    const { run, fence } = await heldRun(stores);
    deepStrictEqual([run.state, run.epoch, run.owner], ['running', 1, LEASE.owner]);
    strictEqual(await stores.runs.claim(LEASE), undefined);
    strictEqual((await stores.runs.finish(fence, { state: 'completed' })).state, 'completed');
  }),
  storesLaw('a run with a claim is rejected in a busy thread, and nothing is created', async (stores) => {
    const { run, fence } = await heldRun(stores);
    const change = { thread: { threadId: run.threadId }, claim: LEASE };
    await refuses(() => stores.runs.create(runDraft(change)), ThreadBusyError);
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    strictEqual((await stores.runs.create(runDraft(change))).run.state, 'running');
    strictEqual((await stores.runs.list({ threadId: run.threadId })).runs.length, 2);
  }),
  storesLaw('runs keep their order when the clock is set back', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    const made: string[] = [];
    for (let count = 0; count < 4; count++) {
      made.push((await runs.create(runDraft())).run.runId);
      clock.nowMs -= 3_600_000;
    }
    deepStrictEqual(
      (await runs.list()).runs.map(({ runId }) => runId),
      made,
    );
    for (const runId of made) strictEqual((await runs.claim(LEASE))?.run.runId, runId);
  }),
];

const leaseLaws: readonly StoresLaw[] = [
  storesLaw('a run whose lease has ended is claimed by another worker, as interrupted', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { run } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
    clock.nowMs += 999;
    strictEqual(await stores.runs.claim(LEASE), undefined);
    clock.nowMs += 1;
    const again = await stores.runs.claim({ owner: 'b', leaseMs: 1_000 });
    deepStrictEqual(
      [again?.run.runId, again?.run.epoch, again?.run.owner, again?.run.reason],
      [run.runId, 2, 'b', 'interrupted'],
    );
  }),
  storesLaw('the next run of a thread waits for a run whose lease has ended', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { run } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
    await stores.runs.create(runDraft({ thread: { threadId: run.threadId } }));
    clock.nowMs += 2_000;
    strictEqual((await stores.runs.claim(LEASE))?.run.runId, run.runId);
    strictEqual(await stores.runs.claim(LEASE), undefined);
  }),
  storesLaw('a renewed lease continues; a lost lease is reported, and changes nothing', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { fence } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
    for (let count = 0; count < 5; count++) {
      clock.nowMs += 900;
      deepStrictEqual(await stores.runs.renew(fence, 1_000), { isHeld: true, isCancelRequested: false });
      strictEqual(await stores.runs.claim(LEASE), undefined);
    }
    clock.nowMs += 1_500;
    strictEqual((await stores.runs.claim(LEASE))?.run.epoch, 2);
    for (const epoch of [0, 1, 3]) strictEqual((await stores.runs.renew({ ...fence, epoch }, 9)).isHeld, false);
    strictEqual((await stores.runs.get(fence.runId))?.leaseExpiresAt, clock.nowMs + LEASE.leaseMs);
    strictEqual((await stores.runs.renew({ runId: 'run_none', epoch: 1 }, 9)).isHeld, false);
  }),
  storesLaw('a holder with an expired, unclaimed lease can renew it and end its run', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { fence } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
    clock.nowMs += 5_000;
    strictEqual((await stores.runs.renew(fence, 1_000)).isHeld, true);
    clock.nowMs += 5_000;
    strictEqual((await stores.runs.finish(fence, { state: 'completed' })).state, 'completed');
  }),
  storesLaw(
    'a dead holder keeps its run for at most twice its lease after the clock was set back',
    async (_, makeStores) => {
      const clock = new TestClock();
      const stores = await makeStores({ now: clock.now });
      await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
      clock.nowMs -= 500;
      strictEqual(await stores.runs.claim(LEASE), undefined);
      clock.nowMs -= 86_400_000;
      strictEqual((await stores.runs.claim(LEASE))?.run.epoch, 2);
    },
  ),
  storesLaw('a stale epoch can do nothing', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { fence } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
    clock.nowMs += 5_000;
    const before = (await stores.runs.claim(LEASE))!.run;
    await refusesAll(stores.runs, fence);
    await refusesAll(stores.runs, { ...fence, epoch: 3 });
    await refusesAll(stores.runs, { runId: 'run_none', epoch: 1 });
    deepStrictEqual(await stores.runs.get(fence.runId), before);
  }),
  storesLaw('an invalid fence or lease is rejected', async (stores) => {
    const { fence } = await heldRun(stores);
    for (const wrong of [
      { ...fence, epoch: -1 },
      { ...fence, epoch: 0.5 },
      { ...fence, runId: "'" },
      { ...fence, more: 1 },
    ]) {
      await refuses(() => stores.runs.renew(wrong, 1_000), ToolscriptUsageError);
      await refuses(() => stores.runs.release(wrong), ToolscriptUsageError);
      await refuses(() => stores.runs.finish(wrong, { state: 'completed' }), ToolscriptUsageError);
      await refuses(() => stores.runs.suspend(wrong, [approvalDraft('apr_1')]), ToolscriptUsageError);
    }
    for (const leaseMs of [0, -1, 0.5, Number.NaN]) {
      await refuses(() => stores.runs.renew(fence, leaseMs), ToolscriptUsageError);
      await refuses(() => stores.runs.claim({ ...LEASE, leaseMs }), ToolscriptUsageError);
    }
    strictEqual((await stores.runs.get(fence.runId))?.state, 'running');
  }),
  storesLaw('a released run can be claimed again at once', async (stores) => {
    const { fence } = await heldRun(stores);
    await stores.runs.release(fence);
    await stores.runs.release(fence);
    strictEqual((await stores.runs.get(fence.runId))?.owner, undefined);
    const again = await stores.runs.claim(LEASE);
    deepStrictEqual([again?.run.epoch, again?.run.reason], [2, 'interrupted']);
  }),
  storesLaw(
    'a run names the first holder that has left it unfinished, until it is suspended',
    async (_, makeStores) => {
      const clock = new TestClock();
      const stores = await makeStores({ now: clock.now });
      const { run } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 1_000 } });
      strictEqual(run.leftBy, undefined);
      await stores.runs.release({ runId: run.runId, epoch: 1 });
      strictEqual((await stores.runs.claim({ owner: 'b', leaseMs: 1_000 }))?.run.leftBy, 'a');
      clock.nowMs += 2_000;
      strictEqual((await stores.runs.claim({ owner: 'c', leaseMs: 1_000 }))?.run.leftBy, 'a');
      await stores.runs.suspend({ runId: run.runId, epoch: 3 }, [approvalDraft('apr_1')]);
      strictEqual((await stores.runs.get(run.runId))?.leftBy, undefined);
      await stores.threads.decide('apr_1', 'approve', 'ada');
      strictEqual((await stores.runs.claim({ owner: 'd', leaseMs: 1_000 }))?.run.leftBy, undefined);
      clock.nowMs += 2_000;
      strictEqual((await stores.runs.claim({ owner: 'e', leaseMs: 1_000 }))?.run.leftBy, 'd');
    },
  ),
];

async function refusesAll(runs: RunStore, fence: RunFence): Promise<void> {
  await refuses(() => runs.finish(fence, { state: 'completed' }), StaleEpochError);
  await refuses(() => runs.suspend(fence, [approvalDraft('apr_x')]), StaleEpochError);
  await runs.release(fence);
}

const parkingLaws: readonly StoresLaw[] = [
  storesLaw('a parked run is listed with its reason, and nobody claims it', async (stores) => {
    const { runs } = stores;
    const { run, fence } = await heldRun(stores);
    const parked = await runs.park(fence, 'Workers died.');
    deepStrictEqual([parked.state, parked.parked, parked.owner], ['suspended', 'Workers died.', undefined]);
    deepStrictEqual(await runs.park(fence, 'Workers died.'), parked);
    const other = (await heldRun(stores)).run;
    strictEqual(await runs.claim(LEASE), undefined);
    deepStrictEqual((await runs.list({ stuck: true })).runs, [parked]);
    deepStrictEqual((await runs.list({ stuck: true, threadId: other.threadId })).runs, []);
    await refuses(() => runs.finish(fence, { state: 'completed' }), StaleEpochError);
    await refuses(() => runs.park({ ...fence, epoch: 7 }, 'x'), StaleEpochError);
    strictEqual((await runs.get(run.runId))?.parked, 'Workers died.');
  }),
  storesLaw(
    'resuming a parked run queues it as interrupted, without deaths; other runs do not change',
    async (stores) => {
      const { runs } = stores;
      const { run, fence } = await heldRun(stores);
      await runs.release(fence, { isDead: true });
      const held = (await runs.claim(LEASE))!.run;
      deepStrictEqual(await runs.resume(run.runId), held);
      await runs.park({ runId: run.runId, epoch: 2 }, HOSTILE_TEXTS.join(''));
      strictEqual((await runs.get(run.runId))?.parked, HOSTILE_TEXTS.join(''));
      const queued = await runs.resume(run.runId);
      deepStrictEqual(
        [queued?.state, queued?.reason, queued?.parked, queued?.deaths],
        ['queued', 'interrupted', undefined, undefined],
      );
      deepStrictEqual(await runs.resume(run.runId), queued);
      strictEqual((await runs.claim(LEASE))?.run.epoch, 3);
      strictEqual(await runs.resume('run_missing'), undefined);
    },
  ),
  storesLaw('a parked run whose cancellation is requested is queued', async (stores) => {
    const { runs } = stores;
    const { run, fence } = await heldRun(stores);
    await runs.park(fence, 'Workers died.');
    const { state, parked, reason } = (await runs.requestCancel(run.runId))!;
    deepStrictEqual([state, parked, reason], ['queued', undefined, 'interrupted']);
  }),
  storesLaw('a parked run that is claimed by its id is parked no more', async (stores) => {
    const { runs } = stores;
    const { run, fence } = await heldRun(stores);
    await runs.park(fence, 'Workers died.');
    const claimed = await runs.claim({ ...LEASE, runId: run.runId, evenSuspended: true });
    deepStrictEqual([claimed?.run.parked, claimed?.run.reason], [undefined, 'interrupted']);
  }),
  storesLaw('a probe changes nothing that a reader sees', async (stores) => {
    const { run } = await heldRun(stores);
    await stores.runs.probe();
    await stores.runs.probe();
    deepStrictEqual((await stores.runs.list()).runs, [run]);
  }),
];

const deathLaws: readonly StoresLaw[] = [
  storesLaw('a run counts the holders that died, and not those that released it', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs, threads } = await makeStores({ now: clock.now });
    const { runId } = (await runs.create(runDraft({ claim: { owner: 'a', leaseMs: 1_000 } }))).run;
    const claim = async () => (await runs.claim({ owner: 'b', leaseMs: 1_000 }))?.run.deaths;
    await runs.release({ runId, epoch: 1 });
    strictEqual(await claim(), undefined);
    await runs.release({ runId, epoch: 2 }, { isDead: true });
    strictEqual(await claim(), 1);
    clock.nowMs += 2_000;
    strictEqual(await claim(), 2);
    await runs.suspend({ runId, epoch: 4 }, [approvalDraft('apr_1')]);
    await threads.decide('apr_1', 'approve', 'ada');
    strictEqual(await claim(), undefined);
  }),
  storesLaw('progress of the holder ends the count of deaths; a stale holder makes none', async ({ runs }) => {
    const { runId } = (await runs.create(runDraft({ claim: LEASE }))).run;
    await runs.release({ runId, epoch: 1 }, { isDead: true });
    await runs.claim(LEASE);
    strictEqual((await runs.renew({ runId, epoch: 1 }, 1_000, { hasProgressed: true })).isHeld, false);
    strictEqual((await runs.get(runId))?.deaths, 1);
    strictEqual((await runs.renew({ runId, epoch: 2 }, 1_000)).isHeld, true);
    strictEqual((await runs.get(runId))?.deaths, 1);
    strictEqual((await runs.renew({ runId, epoch: 2 }, 1_000, { hasProgressed: true })).isHeld, true);
    strictEqual((await runs.get(runId))?.deaths, undefined);
  }),
  storesLaw('an expired lease is no death for a claimer that has seen the store fail', async (_, makeStores) => {
    const clock = new TestClock();
    const { runs } = await makeStores({ now: clock.now });
    await runs.create(runDraft({ claim: { owner: 'a', leaseMs: 1_000 } }));
    const claim = async (isAfterFault: boolean) => {
      clock.nowMs += 2_000;
      return (await runs.claim({ owner: 'b', leaseMs: 1_000, isAfterFault }))?.run;
    };
    const first = await claim(true);
    deepStrictEqual([first?.deaths, first?.reason, first?.leftBy], [undefined, 'interrupted', 'a']);
    strictEqual((await claim(false))?.deaths, 1);
  }),
];

const endLaws: readonly StoresLaw[] = [
  storesLaw('a run that has ended has no holder and cannot be claimed', async (stores) => {
    for (const state of ['completed', 'failed', 'cancelled', 'incomplete'] as const) {
      const { fence } = await heldRun(stores);
      const run = await stores.runs.finish(fence, { state });
      deepStrictEqual([run.state, run.owner, run.leaseExpiresAt, run.error], [state, undefined, undefined, undefined]);
      deepStrictEqual(await stores.runs.finish(fence, { state }), run);
      strictEqual((await stores.runs.renew(fence, 1_000)).isHeld, false);
      await refuses(() => stores.runs.suspend(fence, [approvalDraft('apr_x')]), StaleEpochError);
    }
    strictEqual(await stores.runs.claim(LEASE), undefined);
  }),
  storesLaw('a run ends once: a second end is rejected', async (stores) => {
    const { fence } = await heldRun(stores);
    await stores.runs.finish(fence, { state: 'failed', error: { code: 'E', message: 'm' } });
    await refuses(() => stores.runs.finish(fence, { state: 'completed' }), StaleEpochError);
    deepStrictEqual((await stores.runs.get(fence.runId))?.error, { code: 'E', message: 'm' });
  }),
  storesLaw('the holder of a deleted run learns that it holds nothing', async (stores) => {
    const { fence, run } = await heldRun(stores);
    await stores.threads.delete(run.threadId);
    strictEqual((await stores.runs.renew(fence, 1_000)).isHeld, false);
    await refusesAll(stores.runs, fence);
    strictEqual(await stores.runs.get(run.runId), undefined);
  }),
];

const listLaws: readonly StoresLaw[] = [
  storesLaw('a list contains the runs that match its query, oldest first', async (stores) => {
    const { fence, run } = await heldRun(stores);
    await stores.runs.finish(fence, { state: 'completed' });
    const other = await stores.runs.create(runDraft({ principal: 'bob' }));
    const list = async (query: object) => (await stores.runs.list(query)).runs.map(({ runId }) => runId);
    deepStrictEqual(await list({}), [run.runId, other.run.runId]);
    deepStrictEqual(await list({ state: 'queued' }), [other.run.runId]);
    deepStrictEqual(await list({ principal: 'ada' }), [run.runId]);
    deepStrictEqual(await list({ threadId: other.run.threadId }), [other.run.runId]);
    deepStrictEqual(await list({ principal: 'ada', state: 'queued' }), []);
    for (const principal of ['%', '_da', "' OR 1=1 --"]) deepStrictEqual(await list({ principal }), []);
  }),
  storesLaw('pages contain each run once, including those that are created meanwhile', async ({ runs }) => {
    for (let count = 0; count < 7; count++) await runs.create(runDraft());
    for (const limit of [1, 3, 7, 500]) {
      const known = (await runs.list({ limit: 500 })).runs.length;
      let added = 0;
      const all = await allPages(async (after) => {
        const { runs: entries, next } = await runs.list({ limit, after });
        ok(entries.length <= limit);
        if (added++ < 2) await runs.create(runDraft());
        return { entries: entries.map(({ runId }) => runId), next };
      });
      strictEqual(new Set(all).size, all.length);
      ok(all.length >= known);
    }
  }),
  storesLaw('an invalid cursor or limit is rejected', async ({ runs }) => {
    for (const after of GARBAGE_CURSORS) await refuses(() => runs.list({ after }), InvalidCursorError);
    for (const limit of [0, -1, 1.5, Number.NaN, 501]) await refuses(() => runs.list({ limit }), ToolscriptUsageError);
    await refuses(() => runs.list({ state: 'asleep' as never }), ToolscriptUsageError);
  }),
];
