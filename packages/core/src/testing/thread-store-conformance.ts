import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  EventOrderError,
  InvalidCursorError,
  NotFoundError,
  StaleEpochError,
  ToolscriptUsageError,
  type StreamEvent,
  type ThreadQuery,
  type ThreadStore,
} from '../protocol/index.js';
import { approvalLaws } from './approval-laws.js';
import { branchLaws } from './branch-laws.js';
import {
  allPages,
  approvalDraft,
  DONE,
  runEvent,
  runEvents,
  GARBAGE_CURSORS,
  heldRun,
  HOSTILE_TEXTS,
  LEASE,
  messagePayload,
  refuses,
  runDraft,
  storesLaw,
  TestClock,
  userInput,
  type StoresLaw,
} from './service-laws.js';

/** The laws for every `ThreadStore`. Run each law in the test framework of your choice. */
export function threadStoreConformance(): readonly StoresLaw[] {
  return [...threadLaws, ...branchLaws, ...listLaws, ...searchLaws, ...appendLaws, ...itemLaws, ...approvalLaws];
}

const threadLaws: readonly StoresLaw[] = [
  storesLaw('a thread is read back as it was created', async (_, makeStores) => {
    const clock = new TestClock();
    const { threads } = await makeStores({ now: clock.now });
    const thread = await threads.create({ principal: 'ada', title: 'T', workspace: '/w', agentId: 'coder' });
    ok(/^thr_[A-Za-z0-9_-]{10,}$/u.test(thread.threadId), thread.threadId);
    const { threadId } = thread;
    const time = { createdAt: clock.nowMs, updatedAt: clock.nowMs };
    deepStrictEqual(thread, { threadId, principal: 'ada', title: 'T', workspace: '/w', agentId: 'coder', ...time });
    deepStrictEqual(await threads.get(threadId), thread);
    const plain = await threads.create({ principal: 'ada', threadId: 'thr_plain' });
    deepStrictEqual([plain.title, plain.workspace, plain.agentId], ['', '', undefined]);
  }),
  storesLaw('a thread, a run and an approval are found for their owner alone, if an owner is named', async (stores) => {
    const { run, fence } = await heldRun(stores, { principal: 'ada' });
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    for (const principal of ['ada', undefined]) {
      strictEqual((await stores.threads.get(run.threadId, { principal }))?.threadId, run.threadId);
      strictEqual((await stores.runs.get(run.runId, { principal }))?.runId, run.runId);
      strictEqual((await stores.threads.approval('apr_1', { principal }))?.approvalId, 'apr_1');
    }
    for (const principal of ['bob', '', '%', 'ADA', 'x'.repeat(10_000), ...HOSTILE_TEXTS]) {
      strictEqual(await stores.threads.get(run.threadId, { principal }), undefined);
      strictEqual(await stores.runs.get(run.runId, { principal }), undefined);
      strictEqual(await stores.threads.approval('apr_1', { principal }), undefined);
    }
  }),
  storesLaw('missing entries are undefined or empty, whatever their id', async ({ threads, runs }) => {
    for (const id of ['thr_none', ...HOSTILE_TEXTS, 'x'.repeat(1_000_000)]) {
      strictEqual(await threads.get(id), undefined);
      strictEqual(await threads.rename(id, 'x'), undefined);
      strictEqual(await threads.instructions(id), undefined);
      strictEqual(await threads.approval(id), undefined);
      strictEqual(await runs.get(id), undefined);
      deepStrictEqual(await threads.delete(id), []);
      strictEqual(await threads.nextSeq(id), 0);
      deepStrictEqual(await threads.readEvents(id), { events: [] });
      deepStrictEqual(await threads.readItems(id), { turns: [] });
    }
  }),
  storesLaw(
    'a thread shows what its runs do: one that waits first, then one that runs, then its queue',
    async (stores) => {
      const { run, fence } = await heldRun(stores);
      const thread = { threadId: run.threadId };
      const state = async () => {
        const [listed] = (await stores.threads.list()).threads;
        deepStrictEqual(await stores.threads.get(run.threadId), listed);
        return listed?.activeState;
      };
      strictEqual(await state(), 'running');
      const later = await stores.runs.create(runDraft({ thread }));
      strictEqual(await state(), 'running');
      strictEqual((await stores.threads.get(run.threadId))?.lastState, 'queued');
      await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
      strictEqual(await state(), 'suspended');
      const claimed = await stores.runs.claim({ ...LEASE, runId: later.run.runId });
      await stores.runs.finish({ runId: later.run.runId, epoch: claimed!.run.epoch }, { state: 'completed' });
      strictEqual(await state(), 'suspended');
      strictEqual((await stores.threads.get(run.threadId))?.lastState, 'completed');
      await stores.runs.requestCancel(run.runId);
      strictEqual(await state(), 'queued');
    },
  ),
  storesLaw('a used or invalid id is rejected', async ({ threads }) => {
    await threads.create({ principal: 'ada', threadId: 'thr_1' });
    for (const threadId of ['thr_1', '', 'a b', '../x', 'a\0', 'é', 'x'.repeat(129)])
      await refuses(() => threads.create({ principal: 'eve', threadId }), ToolscriptUsageError);
    strictEqual((await threads.get('thr_1'))?.principal, 'ada');
    strictEqual((await threads.list()).threads.length, 1);
  }),
  storesLaw('titles, workspaces and owners are read back unchanged, whatever they contain', async ({ threads }) => {
    for (const text of [...HOSTILE_TEXTS, 'é'.repeat(500_000)]) {
      const { threadId } = await threads.create({ principal: `p${text}`, title: text, workspace: text });
      const found = await threads.get(threadId);
      deepStrictEqual([found?.principal, found?.title, found?.workspace], [`p${text}`, text, text]);
      strictEqual((await threads.rename(threadId, `new ${text}`))?.title, `new ${text}`);
      strictEqual((await threads.get(threadId))?.title, `new ${text}`);
      const listed = await threads.list({ principal: `p${text}`, workspace: text });
      deepStrictEqual(
        listed.threads.map((thread) => thread.threadId),
        [threadId],
      );
    }
  }),
  storesLaw('instructions are stored unchanged, and replaced as a whole', async ({ threads }) => {
    const { threadId } = await threads.create({ principal: 'ada' });
    strictEqual(await threads.instructions(threadId), undefined);
    for (const system of [...HOSTILE_TEXTS, 'x'.repeat(1_000_000)]) {
      const announced = { rules: 'r', tools: { add: 'h' }, changes: 1 };
      const instructions = { agentId: 'a', model: 'm', carrier: 'tool', system, tools: '{}', announced };
      await threads.saveInstructions(threadId, instructions);
      deepStrictEqual(await threads.instructions(threadId), instructions);
    }
    await threads.saveInstructions(threadId, { agentId: 'b' });
    deepStrictEqual(await threads.instructions(threadId), { agentId: 'b' });
    strictEqual((await threads.get(threadId))?.agentId, 'b');
    for (const id of ['thr_none', ...HOSTILE_TEXTS])
      await refuses(() => threads.saveInstructions(id, { agentId: 'b' }), NotFoundError);
  }),
  storesLaw('a holder that has lost its run saves no instructions', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { run, fence } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 10 } });
    await stores.threads.saveInstructions(run.threadId, { agentId: 'mine' }, fence);
    clock.nowMs += 100;
    await stores.runs.claim(LEASE);
    const late = () => stores.threads.saveInstructions(run.threadId, { agentId: 'late' }, fence);
    await refuses(late, StaleEpochError);
    deepStrictEqual(await stores.threads.instructions(run.threadId), { agentId: 'mine' });
  }),
  storesLaw('a thread is deleted with everything under it, and nothing else is', async (stores) => {
    const { threads, runs } = stores;
    const kept = await heldRun(stores);
    const { run, fence } = await heldRun(stores);
    for (const each of [kept, { run, fence }]) {
      await threads.append(runEvents(each.run, 3));
      await runs.suspend(each.fence, [approvalDraft(`apr_${each.run.runId}`)]);
    }
    const second = await runs.create(runDraft({ thread: { threadId: run.threadId } }));
    const heap = { heapId: 'heap_1', principal: 'ada', head: '{}', state: new Uint8Array(1) };
    await stores.heaps.add({ ...heap, threadId: run.threadId });
    await stores.heaps.add({ ...heap, heapId: 'heap_2', threadId: 'thr_other' });
    deepStrictEqual(new Set(await threads.delete(run.threadId)), new Set([run.runId, second.run.runId]));
    deepStrictEqual(await threads.delete(run.threadId), []);
    deepStrictEqual(await stores.heaps.read('ada', 'heap_1'), []);
    strictEqual((await stores.heaps.newest('ada', 'thr_other'))?.heapId, 'heap_2');
    strictEqual(await threads.get(run.threadId), undefined);
    strictEqual(await runs.get(run.runId), undefined);
    strictEqual(await threads.approval(`apr_${run.runId}`), undefined);
    deepStrictEqual(await threads.readEvents(run.runId), { events: [] });
    deepStrictEqual(await threads.readItems(run.threadId), { turns: [] });
    await refuses(() => threads.append(runEvents(run, 1)), NotFoundError);
    strictEqual((await threads.readEvents(kept.run.runId)).events.length, 3);
    strictEqual((await threads.approval(`apr_${kept.run.runId}`))?.state, 'pending');
    strictEqual((await threads.list()).threads.length, 1);
  }),
  storesLaw('operations that start before the stores close are completed', async (stores, makeStores) => {
    const beside = await makeStores({ beside: stores });
    const begun = [stores.threads.create({ principal: 'ada' }), stores.runs.create(runDraft())];
    await stores.close();
    await Promise.all(begun);
    strictEqual((await (await makeStores({ beside })).threads.list()).threads.length, 2);
  }),
  storesLaw('one handle reads the writes of the other', async (stores, makeStores) => {
    const beside = await makeStores({ beside: stores });
    const { run, fence } = await heldRun(stores);
    strictEqual((await beside.threads.list()).threads[0]?.threadId, run.threadId);
    await beside.threads.append(runEvents(run, 2), { epoch: fence.epoch });
    strictEqual((await stores.threads.readEvents(run.runId)).events.length, 2);
    await beside.threads.rename(run.threadId, 'from beside');
    strictEqual((await stores.threads.get(run.threadId))?.title, 'from beside');
    await stores.runs.suspend(fence, [approvalDraft('apr_1')]);
    strictEqual((await beside.threads.decide('apr_1', 'approve', 'ada'))?.isRunQueued, true);
    strictEqual((await stores.runs.get(run.runId))?.state, 'queued');
    await beside.threads.delete(run.threadId);
    strictEqual(await stores.threads.get(run.threadId), undefined);
  }),
];

async function titles(threads: ThreadStore, query: ThreadQuery = {}): Promise<string[]> {
  return (await threads.list(query)).threads.map(({ title }) => title);
}

const listLaws: readonly StoresLaw[] = [
  storesLaw('the thread that changed last is listed first, also when the clock is set back', async (_, makeStores) => {
    const clock = new TestClock();
    const { threads, runs } = await makeStores({ now: clock.now });
    const ids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd']) {
      ids.push((await threads.create({ principal: 'ada', title })).threadId);
      clock.nowMs -= 60_000;
    }
    deepStrictEqual(await titles(threads), ['d', 'c', 'b', 'a']);
    await threads.rename(ids[0]!, 'A');
    deepStrictEqual(await titles(threads), ['A', 'd', 'c', 'b']);
    const { run } = await runs.create(runDraft({ thread: { threadId: ids[1]! } }));
    deepStrictEqual(await titles(threads), ['b', 'A', 'd', 'c']);
    await threads.saveInstructions(ids[2]!, { agentId: 'x' });
    await threads.append(runEvents(run, 1));
    deepStrictEqual(await titles(threads), ['b', 'c', 'A', 'd']);
    strictEqual((await threads.get(ids[1]!))?.updatedAt, clock.nowMs);
  }),
  storesLaw('a list contains the threads of an owner and of a workspace', async ({ threads }) => {
    await threads.create({ principal: 'ada', title: '1', workspace: '/w' });
    await threads.create({ principal: 'bob', title: '2', workspace: '/w' });
    await threads.create({ principal: 'ada', title: '3' });
    deepStrictEqual(await titles(threads, { principal: 'ada' }), ['3', '1']);
    deepStrictEqual(await titles(threads, { workspace: '/w' }), ['2', '1']);
    deepStrictEqual(await titles(threads, { principal: 'ada', workspace: '' }), ['3']);
    for (const principal of ['', 'ADA', '%', 'a_a', 'ada\0']) deepStrictEqual(await titles(threads, { principal }), []);
  }),
  storesLaw('pages contain each thread once, while others are created', async ({ threads }) => {
    for (let count = 0; count < 9; count++) await threads.create({ principal: 'ada', title: `${count}` });
    for (const limit of [1, 2, 9, 500]) {
      const before = await titles(threads, { limit: 500 });
      const all = await allPages(async (after) => {
        const page = await threads.list({ limit, after });
        ok(page.threads.length <= limit);
        await threads.create({ principal: 'ada', title: 'new' });
        return { entries: page.threads.map(({ title }) => title), next: page.next };
      });
      deepStrictEqual(all, before);
    }
  }),
  storesLaw('no page repeats a thread that changes while pages are read', async ({ threads }) => {
    for (let count = 0; count < 9; count++) await threads.create({ principal: 'ada', threadId: `thr_${count}` });
    const all = await allPages(async (after) => {
      const page = await threads.list({ limit: 2, after });
      const entries = page.threads.map(({ threadId }) => threadId);
      await threads.rename(entries[0]!, 'changed');
      return { entries, next: page.next };
    });
    deepStrictEqual([all.length, new Set(all).size], [9, 9]);
  }),
  storesLaw('an invalid cursor, limit or query is rejected', async ({ threads }) => {
    for (const after of GARBAGE_CURSORS) {
      await refuses(() => threads.list({ after }), InvalidCursorError);
      await refuses(() => threads.readItems('thr_1', { after }), InvalidCursorError);
      await refuses(() => threads.listApprovals({ after }), InvalidCursorError);
    }
    for (const limit of [0, -1, 0.5, Number.NaN, 501, '5' as never])
      await refuses(() => threads.list({ limit }), ToolscriptUsageError);
    await refuses(() => threads.list({ unknown: 1 } as never), ToolscriptUsageError);
  }),
];

const searchLaws: readonly StoresLaw[] = [
  storesLaw('a search finds titles and messages of users, without regard to case', async ({ threads, runs }) => {
    await threads.create({ principal: 'ada', title: 'Über Öl' });
    await runs.create(runDraft({ thread: { create: { title: 'two' } }, input: userInput('Please fix\nthe BUG') }));
    deepStrictEqual(await titles(threads, { text: 'über ö' }), ['Über Öl']);
    deepStrictEqual(await titles(threads, { text: 'U\u0308BER' }), ['Über Öl']);
    deepStrictEqual(await titles(threads, { text: 'fix\nthe bug' }), ['two']);
    deepStrictEqual(await titles(threads, { text: 'three' }), []);
    deepStrictEqual(await titles(threads, { text: 'bug', principal: 'bob' }), []);
    strictEqual((await titles(threads, { text: '' })).length, 2);
  }),
  storesLaw('a search finds answers and the files of calls, in a branch too', async (stores) => {
    const { threads, runs } = stores;
    const { run, fence } = await heldRun(stores);
    const call = (seq: number, input: unknown) =>
      runEvent(run, seq, { type: 'tool_call_start', call_id: `c${seq}`, tool: 't', input, effect: 'read' });
    const events = [
      runEvent(run, 0, messagePayload('i', 'The ANSWER is 42')),
      call(1, { path: 'src/Größe.ts' }),
      call(2, { fileKey: 'notes/plan' }),
      call(3, { patch: '*** Begin Patch\n*** Update File: lib/old.py\n-a\n*** End Patch' }),
      call(4, { path: 7, patch: null, text: 'unnamed' }),
      runEvent(run, 5, {
        type: 'item_done',
        item_id: 'r',
        final_item: { type: 'reasoning', id: 'r', content: 'thought' },
      }),
      runEvent(run, 6, DONE),
    ];
    await threads.append(events.slice(0, 3));
    await threads.append(events);
    await runs.finish(fence, { state: 'completed' });
    const { threadId, turnId } = run;
    const branch = await threads.create({
      principal: run.principal,
      title: 'branch',
      branchOf: { threadId, turnId, withTurn: true },
    });
    for (const text of ['the answer', 'SRC/GRÖßE', 'notes/plan', 'lib/old.py'])
      deepStrictEqual(await titles(threads, { text }), [branch.title, 'a thread'], text);
    for (const text of ['unnamed', 'thought', 'begin patch'])
      deepStrictEqual(await titles(threads, { text }), [], text);
  }),
  storesLaw('a list has the threads whose active or newest run is in a state', async (stores) => {
    const { threads, runs } = stores;
    const title = (name: string) => ({ thread: { create: { title: name } } });
    await threads.create({ principal: 'ada', title: 'empty' });
    const first = await heldRun(stores, title('waits'));
    await runs.suspend(first.fence, [approvalDraft('apr_1')]);
    const second = await heldRun(stores, title('failed'));
    await runs.finish(second.fence, { state: 'failed' });
    for (let index = 0; index < 12; index++) await runs.create(runDraft(title(`queued ${index}`)));
    await runs.create(runDraft({ thread: { threadId: first.run.threadId } }));
    deepStrictEqual(await titles(threads, { state: 'suspended' }), ['waits']);
    deepStrictEqual(await titles(threads, { state: 'failed' }), ['failed']);
    deepStrictEqual(await titles(threads, { state: 'running' }), []);
    deepStrictEqual(await titles(threads, { state: 'failed', text: 'waits' }), []);
    const page = await threads.list({ state: 'queued', limit: 5 });
    strictEqual(page.threads.length, 5);
    const rest = await threads.list({ state: 'queued', after: page.next });
    deepStrictEqual([rest.threads.length, rest.next], [7, undefined]);
    await refuses(() => threads.list({ state: 'unknown' as never }), ToolscriptUsageError);
  }),
  storesLaw('a search matches every character literally', async ({ threads }) => {
    const hostile = HOSTILE_TEXTS.filter((text) => text.trim() !== '' && !/^[\da-z]+$/u.test(text));
    for (const text of hostile) await threads.create({ principal: 'ada', title: `<${text}>` });
    for (const text of hostile) deepStrictEqual(await titles(threads, { text: `<${text}>` }), [`<${text}>`], text);
    for (const text of ['%', '_', '*']) deepStrictEqual(await titles(threads, { text }), ['<100% _any_ *? [a-z] \\%>']);
    deepStrictEqual(await titles(threads, { text: '1%y_' }), []);
    deepStrictEqual(await titles(threads, { text: 'x'.repeat(1_000_000) }), []);
  }),
];

const appendLaws: readonly StoresLaw[] = [
  storesLaw('events are read back unchanged and in order', async (stores) => {
    const { run } = await heldRun(stores);
    const odd = {
      ...runEvent(run, 0, messagePayload('i', HOSTILE_TEXTS.join('|'))),
      trace: { id: '\0', deep: [null] },
    };
    const events = [odd, runEvent(run, 1, messagePayload('j', 'é'.repeat(500_000))), ...runEvents(run, 40, 2)];
    strictEqual(await stores.threads.append(events.slice(0, 1)), 1);
    strictEqual(await stores.threads.append(events.slice(1)), events.length);
    deepStrictEqual(await readAll(stores.threads, run.runId), events);
    strictEqual((await stores.threads.get(run.threadId))?.title, 'a thread');
  }),
  storesLaw('events are read from a seq, page by page', async (stores) => {
    const { run } = await heldRun(stores);
    await stores.threads.append(runEvents(run, 10));
    const seqs = async (range: object) => {
      const { events, next } = await stores.threads.readEvents(run.runId, range);
      return [events.map(({ seq }) => seq).join(), next];
    };
    deepStrictEqual(await seqs({ from: 3, limit: 2 }), ['3,4', 5]);
    deepStrictEqual(await seqs({ from: 8, limit: 2 }), ['8,9', undefined]);
    deepStrictEqual(await seqs({ from: 10 }), ['', undefined]);
    deepStrictEqual(await seqs({ from: 99 }), ['', undefined]);
    for (const range of [{ from: -1 }, { from: 0.5 }, { limit: 0 }, { limit: 1_001 }])
      await refuses(() => stores.threads.readEvents(run.runId, range), ToolscriptUsageError);
  }),
  storesLaw('a page of large events ends early, and contains at least one event', async (stores) => {
    const { run } = await heldRun(stores);
    for (let seq = 0; seq < 6; seq++)
      await stores.threads.append([runEvent(run, seq, messagePayload('i', 'x'.repeat(700_000)))]);
    const page = await stores.threads.readEvents(run.runId);
    ok(page.events.length >= 1 && page.events.length < 6, `${page.events.length} events`);
    strictEqual((await readAll(stores.threads, run.runId)).length, 6);
  }),
  storesLaw('events that are already stored are skipped, as a whole batch or in part', async (stores) => {
    const { run } = await heldRun(stores);
    const events = runEvents(run, 8);
    await stores.threads.append(events.slice(0, 4));
    strictEqual(await stores.threads.append(events.slice(0, 4)), 4);
    strictEqual(await stores.threads.append(events.slice(1, 3)), 4);
    strictEqual(await stores.threads.append(events.slice(2, 6)), 6);
    strictEqual(await stores.threads.nextSeq(run.runId), 6);
    strictEqual(await stores.threads.append(events), 8);
    strictEqual(await stores.threads.nextSeq(run.runId), 8);
    deepStrictEqual(await readAll(stores.threads, run.runId), events);
  }),
  storesLaw('a gap, and another event at the same seq, are rejected with the whole batch', async (stores) => {
    const { run } = await heldRun(stores);
    const events = runEvents(run, 6);
    await refuses(() => stores.threads.append(events.slice(1)), EventOrderError);
    await stores.threads.append(events.slice(0, 3));
    await refuses(() => stores.threads.append(events.slice(4)), EventOrderError);
    const other = runEvent(run, 2, messagePayload('i', 'other'));
    await refuses(() => stores.threads.append([other]), EventOrderError);
    await refuses(() => stores.threads.append([other, events[3]!]), EventOrderError);
    deepStrictEqual(await readAll(stores.threads, run.runId), events.slice(0, 3));
  }),
  storesLaw('events that are not a batch of one run are rejected', async (stores) => {
    const { run } = await heldRun(stores);
    const second = await heldRun(stores);
    const [zero, one, two] = runEvents(run, 3) as [StreamEvent, StreamEvent, StreamEvent];
    const wrong = [[], [zero, two], [one, zero], [zero, zero], [zero, runEvent(second.run, 1)], [{ ...zero, seq: -1 }]];
    for (const batch of [
      ...wrong,
      [{ ...zero, payload: { type: 'nonsense' } }],
      [null],
      'text',
      [{ ...zero, run_id: "'" }],
    ])
      await refuses(() => stores.threads.append(batch as never), ToolscriptUsageError);
    await refuses(() => stores.threads.append(runEvents({ ...run, runId: 'run_none' }, 1)), NotFoundError);
    deepStrictEqual((await stores.threads.readEvents(run.runId)).events, []);
  }),
  storesLaw('with an epoch, only the holder appends, from its claim to the end of the run', async (_, makeStores) => {
    const clock = new TestClock();
    const stores = await makeStores({ now: clock.now });
    const { run, fence } = await heldRun(stores, { claim: { owner: 'a', leaseMs: 10 } });
    const append = (seq: number, epoch: number) => stores.threads.append(runEvents(run, 1, seq), { epoch });
    strictEqual(await append(0, 1), 1);
    for (const epoch of [0, 2]) await refuses(() => append(1, epoch), StaleEpochError);
    clock.nowMs += 100;
    strictEqual(await append(1, 1), 2);
    await stores.runs.claim(LEASE);
    for (const seq of [1, 2]) await refuses(() => append(seq, 1), StaleEpochError);
    strictEqual(await append(2, 2), 3);
    await stores.runs.finish({ ...fence, epoch: 2 }, { state: 'completed' });
    await refuses(() => append(3, 2), StaleEpochError);
    strictEqual((await stores.threads.readEvents(run.runId)).events.length, 3);
  }),
  storesLaw('without an epoch, a log’s events are appended whoever holds the run', async (stores) => {
    const { run, fence } = await heldRun(stores);
    await stores.runs.finish(fence, { state: 'completed' });
    strictEqual(await stores.threads.append(runEvents(run, 2)), 2);
  }),
  storesLaw('two concurrent writers, across two handles, lose and duplicate nothing', async (stores, makeStores) => {
    const beside = await makeStores({ beside: stores });
    const { run } = await heldRun(stores);
    const events = runEvents(run, 60);
    const write = async (threads: ThreadStore) => {
      for (let end = 1; end <= events.length; end++) await threads.append(events.slice(Math.max(0, end - 5), end));
    };
    await Promise.all([write(stores.threads), write(beside.threads)]);
    deepStrictEqual(await readAll(stores.threads, run.runId), events);
  }),
];

async function readAll(threads: ThreadStore, runId: string): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = await threads.readEvents(runId, { from });
    all.push(...page.events);
    from = page.next;
  }
  return all;
}

const itemLaws: readonly StoresLaw[] = [
  storesLaw('items are the input of each turn, and the fold of its events', async (stores) => {
    const first = await heldRun(stores);
    await stores.threads.append([runEvent(first.run, 0, messagePayload('a', 'one')), runEvent(first.run, 1, DONE)]);
    await stores.runs.finish(first.fence, { state: 'completed' });
    const thread = { threadId: first.run.threadId };
    const second = await heldRun(stores, { thread, input: userInput('more') });
    const announced = { type: 'message', id: 'sys', role: 'system', content: 'news' } as const;
    const start = { type: 'response_start', input: [announced, ...userInput('more')] } as const;
    const { turns } = await stores.threads.readItems(thread.threadId);
    deepStrictEqual(turns[1]?.items, userInput('more'));
    await stores.threads.append([runEvent(second.run, 0, start), runEvent(second.run, 1, messagePayload('b', 'two'))]);
    const after = (await stores.threads.readItems(thread.threadId)).turns;
    const texts = after.map(({ items }) => items.map((item) => 'content' in item && item.content));
    deepStrictEqual(texts, [
      ['hello', 'one'],
      ['news', 'more', 'two'],
    ]);
    deepStrictEqual(
      after.map(({ turnId, runId, state }) => [turnId, runId, state]),
      [
        [first.run.turnId, first.run.runId, 'completed'],
        [second.run.turnId, second.run.runId, 'running'],
      ],
    );
  }),
  storesLaw('a turn shows that its cancellation was requested', async ({ threads, runs }) => {
    const { run } = await runs.create(runDraft());
    const request = async () => (await threads.readItems(run.threadId)).turns[0]?.cancelRequestedAt;
    strictEqual(await request(), undefined);
    const cancelled = await runs.requestCancel(run.runId);
    ok(cancelled?.cancelRequestedAt !== undefined);
    strictEqual(await request(), cancelled.cancelRequestedAt);
  }),
  storesLaw('items are read in pages of turns', async ({ threads, runs }) => {
    const { threadId } = await threads.create({ principal: 'ada' });
    for (let count = 0; count < 5; count++)
      await runs.create(runDraft({ thread: { threadId }, input: userInput(`${count}`) }));
    const all = await allPages(async (after) => {
      const { turns, next } = await threads.readItems(threadId, {
        limit: 2,
        after,
      });
      return { entries: turns.map(({ items }) => 'content' in items[0]! && items[0].content), next };
    });
    deepStrictEqual(all, ['0', '1', '2', '3', '4']);
  }),
];
