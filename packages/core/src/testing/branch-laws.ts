import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert/strict';
import {
  EventOrderError,
  NotFoundError,
  StorageLimitError,
  ThreadBusyError,
  type ServiceStores,
  type Turn,
} from '../protocol/index.js';
import {
  DONE,
  runEvent,
  HOSTILE_TEXTS,
  heldRun,
  messagePayload,
  refuses,
  runDraft,
  storesLaw,
  userInput,
  type StoresLaw,
} from './service-laws.js';

/** Adds a completed turn, a question and its answer, to the thread or to a new thread. */
async function endedTurn(stores: ServiceStores, threadId: string | undefined, text: string): Promise<Turn> {
  const thread = threadId === undefined ? { create: { title: 'T', workspace: '/w' } } : { threadId };
  const { turn, fence } = await heldRun(stores, { thread, input: userInput(text) });
  await stores.threads.append([
    runEvent(turn, 0, messagePayload(`i_${text}`, `answer to ${text}`)),
    runEvent(turn, 1, DONE),
  ]);
  await stores.runs.finish(fence, { state: 'completed' });
  return turn;
}

async function threadTexts({ threads }: ServiceStores, threadId: string): Promise<string[]> {
  const { turns } = await threads.readItems(threadId);
  return turns.flatMap(({ items }) => items.map((item) => (item.type === 'message' ? item.content : item.type)));
}

/** The laws for threads that begin with the turns of another thread. */
export const branchLaws: readonly StoresLaw[] = [
  storesLaw(
    'a branch begins with the turns before the named turn, and the source thread is unchanged',
    async (stores) => {
      const one = await endedTurn(stores, undefined, 'one');
      const two = await endedTurn(stores, one.threadId, 'two');
      const three = await endedTurn(stores, one.threadId, 'three');
      const instructions = { agentId: 'coder', system: HOSTILE_TEXTS.join('|') };
      await stores.threads.saveInstructions(one.threadId, instructions);
      const before = await stores.threads.readItems(one.threadId);
      const branchOf = { threadId: one.threadId, turnId: three.turnId };
      const { run } = await stores.runs.create(
        runDraft({ thread: { create: { branchOf } }, input: userInput('else') }),
      );
      const expected = ['one', 'answer to one', 'two', 'answer to two'];
      deepStrictEqual(await threadTexts(stores, run.threadId), [...expected, 'else']);
      deepStrictEqual(await stores.threads.readItems(one.threadId), before);
      deepStrictEqual(await stores.threads.instructions(run.threadId), instructions);
      const thread = await stores.threads.get(run.threadId);
      deepStrictEqual([thread?.title, thread?.workspace, thread?.agentId], ['T', '/w', 'coder']);
      deepStrictEqual(thread?.branchOf, branchOf);
      const first = await stores.threads.create({ principal: 'ada', branchOf: { ...branchOf, turnId: one.turnId } });
      deepStrictEqual(await threadTexts(stores, first.threadId), []);
      const titled = await stores.threads.create({
        principal: 'ada',
        title: 'Other',
        workspace: '',
        branchOf: { ...branchOf, turnId: two.turnId },
      });
      deepStrictEqual(
        [titled.title, titled.workspace, await threadTexts(stores, titled.threadId)],
        ['Other', '', expected.slice(0, 2)],
      );
    },
  ),
  storesLaw('copied turns are runs of their own with their own events, times and final state', async (stores) => {
    const one = await endedTurn(stores, undefined, 'one');
    const two = await endedTurn(stores, one.threadId, 'two');
    const branchOf = { threadId: one.threadId, turnId: two.turnId };
    const { threadId } = await stores.threads.create({ principal: 'ada', branchOf });
    const [copy, ...others] = (await stores.runs.list({ threadId })).runs;
    const original = await stores.runs.get(one.runId);
    deepStrictEqual(others, []);
    const { runId, turnId } = copy!;
    notStrictEqual(runId, one.runId);
    deepStrictEqual(copy, { ...original, runId, turnId, threadId, isCopy: true });
    const events = [runEvent(copy!, 0, messagePayload('i_one', 'answer to one')), runEvent(copy!, 1, DONE)];
    deepStrictEqual((await stores.threads.readEvents(runId)).events, events);
    strictEqual(await stores.runs.claim({ owner: 'w', leaseMs: 10 }), undefined);
    deepStrictEqual((await stores.threads.delete(one.threadId)).length, 2);
    deepStrictEqual(await threadTexts(stores, threadId), ['one', 'answer to one']);
    const again = await stores.threads.create({ principal: 'ada', branchOf: { threadId, turnId } });
    deepStrictEqual(again.branchOf, { threadId, turnId });
  }),
  storesLaw('a branch keeps its turns when the threads it comes from are changed and deleted', async (stores) => {
    const one = await endedTurn(stores, undefined, 'one');
    const two = await endedTurn(stores, one.threadId, 'two');
    const branchOf = ({ threadId, turnId }: Turn) => ({ principal: 'ada', branchOf: { threadId, turnId } });
    const first = await stores.threads.create(branchOf(two));
    const [copy] = (await stores.runs.list({ threadId: first.threadId })).runs;
    const third = await endedTurn(stores, first.threadId, 'third');
    const second = await stores.threads.create(branchOf(third));
    const other = await stores.threads.create(branchOf(third));
    const texts = ['one', 'answer to one'];
    const found = async () => (await stores.threads.list({ text: 'ONE' })).threads.map(({ threadId }) => threadId);
    await stores.threads.rename(one.threadId, 'Other');
    await endedTurn(stores, one.threadId, 'later');
    deepStrictEqual(await threadTexts(stores, second.threadId), texts);
    strictEqual((await found()).length, 4);
    for (const threadId of [first.threadId, one.threadId]) {
      const { runs } = await stores.runs.list({ threadId });
      deepStrictEqual(
        await stores.threads.delete(threadId),
        runs.map(({ runId }) => runId),
      );
      deepStrictEqual(await threadTexts(stores, second.threadId), texts);
    }
    deepStrictEqual(await stores.threads.readEvents(copy!.runId), { events: [] });
    deepStrictEqual((await found()).toSorted(), [second.threadId, other.threadId].toSorted());
    await Promise.all([second, other].map(({ threadId }) => stores.threads.delete(threadId)));
    deepStrictEqual((await stores.runs.list()).runs, []);
  }),
  storesLaw('the ids of a deleted run are free again, while a branch still has its turn', async (stores) => {
    const ids = { runId: 'run_again', turnId: 'turn_again' };
    const { turn, fence } = await heldRun(stores, { ...ids, input: userInput('first') });
    await stores.runs.finish(fence, { state: 'completed' });
    const { threadId } = turn;
    const next = await endedTurn(stores, threadId, 'next');
    const branch = await stores.threads.create({ principal: 'ada', branchOf: { threadId, turnId: next.turnId } });
    await stores.threads.delete(threadId);
    const again = await stores.runs.create(runDraft({ ...ids, input: userInput('second') }));
    deepStrictEqual(await threadTexts(stores, again.run.threadId), ['second']);
    deepStrictEqual(await threadTexts(stores, branch.threadId), ['first']);
  }),
  storesLaw('a copied turn has the events of its original, also later ones, and takes none', async (stores) => {
    const { turn, fence } = await heldRun(stores, { input: userInput('one') });
    await stores.threads.append([runEvent(turn, 0, messagePayload('i', 'answer to one'))]);
    await stores.runs.finish(fence, { state: 'completed' });
    const { threadId } = turn;
    const { turnId } = await endedTurn(stores, threadId, 'two');
    const branch = await stores.threads.create({ principal: 'ada', branchOf: { threadId, turnId } });
    const [copy] = (await stores.runs.list({ threadId: branch.threadId })).runs;
    deepStrictEqual(await threadTexts(stores, branch.threadId), ['one', 'answer to one']);
    await refuses(() => stores.threads.append([runEvent(copy!, 1, DONE)]), EventOrderError);
    // The log of a run may be stored after the end of the run.
    await stores.threads.append([runEvent(turn, 1, messagePayload('j', 'and more')), runEvent(turn, 2, DONE)]);
    deepStrictEqual(await threadTexts(stores, branch.threadId), ['one', 'answer to one', 'and more']);
    const { events } = await stores.threads.readEvents(copy!.runId, { from: 2 });
    deepStrictEqual(events, [runEvent(copy!, 2, DONE)]);
    strictEqual(await stores.threads.nextSeq(copy!.runId), 3);
  }),
  storesLaw('a branch counts the bytes of its turns for its owner, until it is deleted', async (stores) => {
    const one = await endedTurn(stores, undefined, 'x'.repeat(10_000));
    const { turnId, threadId } = await endedTurn(stores, one.threadId, 'two');
    const branch = await stores.threads.create({ principal: 'ada', branchOf: { threadId, turnId } });
    const more = (bytesPerPrincipal: number) => () =>
      stores.runs.create(runDraft({ thread: { create: {} }, bounds: { bytesPerThread: 1_000, bytesPerPrincipal } }));
    await refuses(more(60_000), StorageLimitError);
    await stores.threads.delete(threadId);
    await refuses(more(30_000), StorageLimitError);
    await more(50_000)();
    const { turnId: next } = await endedTurn(stores, branch.threadId, 'y');
    const create = { branchOf: { threadId: branch.threadId, turnId: next } };
    const bounds = { bytesPerThread: 20_000, bytesPerPrincipal: 1_000_000 };
    await refuses(() => stores.runs.create(runDraft({ thread: { create }, bounds })), StorageLimitError);
    await stores.threads.delete(branch.threadId);
    await more(5_000)();
  }),
  storesLaw('a branch needs a thread of its owner and a turn of that thread, or nothing is created', async (stores) => {
    const one = await endedTurn(stores, undefined, 'one');
    const other = await endedTurn(stores, undefined, 'other');
    const right = { threadId: one.threadId, turnId: one.turnId };
    for (const [principal, branchOf] of [
      ['eve', right],
      ['ada', { ...right, threadId: 'thr_none' }],
      ['ada', { ...right, turnId: 'turn_none' }],
      ['ada', { ...right, turnId: other.turnId }],
    ] as const) {
      await refuses(() => stores.threads.create({ principal, branchOf }), NotFoundError);
      await refuses(() => stores.runs.create(runDraft({ principal, thread: { create: { branchOf } } })), NotFoundError);
    }
    strictEqual((await stores.threads.list()).threads.length, 2);
    strictEqual((await stores.runs.list()).runs.length, 2);
  }),
  storesLaw('a branch copies only turns that have ended, and may start before an open turn', async (stores) => {
    const one = await endedTurn(stores, undefined, 'one');
    const { threadId } = one;
    const open = await stores.runs.create(runDraft({ thread: { threadId } }));
    const later = await stores.runs.create(runDraft({ thread: { threadId } }));
    const branchOf = (turnId: string) => ({ principal: 'ada', branchOf: { threadId, turnId } });
    await refuses(() => stores.threads.create(branchOf(later.turn.turnId)), ThreadBusyError);
    strictEqual((await stores.threads.list()).threads.length, 1);
    const branch = await stores.threads.create(branchOf(open.turn.turnId));
    deepStrictEqual(await threadTexts(stores, branch.threadId), ['one', 'answer to one']);
  }),
  storesLaw('a branch with the named turn begins with the turns up to it', async (stores) => {
    const one = await endedTurn(stores, undefined, 'one');
    const { threadId } = one;
    const file = { scope: { kind: 'thread', id: threadId }, kind: 'file', name: 'f' } as const;
    await stores.documents.save({ ...file, text: 'of one' });
    const last = await stores.threads.create({
      principal: 'ada',
      branchOf: { threadId, turnId: one.turnId, withTurn: true },
    });
    await endedTurn(stores, threadId, 'two');
    const branchOf = { threadId, turnId: one.turnId, withTurn: true };
    const middle = await stores.threads.create({ principal: 'ada', branchOf });
    for (const branch of [last, middle]) {
      deepStrictEqual(branch.branchOf, branchOf);
      deepStrictEqual(await threadTexts(stores, branch.threadId), ['one', 'answer to one']);
      const copy = await stores.documents.read({ ...file, scope: { kind: 'thread', id: branch.threadId } });
      strictEqual(copy?.text, 'of one');
    }
  }),
  storesLaw('the same request with an idempotency key creates one branch', async (stores) => {
    const { threadId, turnId } = await endedTurn(stores, undefined, 'one');
    const draft = runDraft({ thread: { create: { branchOf: { threadId, turnId } } }, idempotencyKey: 'k' });
    const runs = await Promise.all([1, 2, 3].map(() => stores.runs.create(draft)));
    strictEqual(new Set(runs.map(({ run }) => run.threadId)).size, 1);
    strictEqual((await stores.threads.list()).threads.length, 2);
  }),
];
