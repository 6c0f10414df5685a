import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  NotFoundError,
  StorageLimitError,
  ToolscriptUsageError,
  type HeapDraft,
  type HeapLimits,
  type HeapStore,
} from '../protocol/index.js';
import { closingLaw, HOSTILE_TEXTS, refuses, TestClock, type PortLaw } from './service-laws.js';

/** A store of heaps, and what closes it. */
export interface OpenHeaps {
  readonly heaps: HeapStore;
  close(): Promise<void>;
}

export interface TestHeapsOptions {
  /** The clock for the times of heaps, in ms since 1970. */
  now?: (() => number) | undefined;
  heapLimits?: Partial<HeapLimits> | undefined;
  /** Opens the data of this store again instead of creating an empty one. */
  beside?: OpenHeaps | undefined;
}

/** Creates an empty store of heaps, or opens an existing one again. */
export type MakeHeaps = (options?: TestHeapsOptions) => OpenHeaps | Promise<OpenHeaps>;
export type HeapLaw = PortLaw<MakeHeaps>;

/** The laws for every `HeapStore`. Run each law in the test framework of your choice. */
export function heapStoreConformance(): readonly HeapLaw[] {
  return [...valueLaws, ...orderLaws, ...ownerLaws, ...limitLaws, ...deletionLaws, ...collectionLaws];
}

function law(name: string, check: (heaps: HeapStore, make: MakeHeaps) => Promise<void>): HeapLaw {
  return closingLaw<OpenHeaps, TestHeapsOptions>(name, ({ heaps }, make) => check(heaps, make));
}

function draft(heapId: string, change: Partial<HeapDraft> = {}): HeapDraft {
  return { heapId, principal: 'ada', head: `{"of":"${heapId}"}`, state: new Uint8Array([1, 2, 3]), ...change };
}

/** Adds heaps of one thread, each the parent of the next one. */
async function addChain(heaps: HeapStore, ids: readonly string[], change: Partial<HeapDraft> = {}): Promise<void> {
  let parentId: string | undefined;
  for (const id of ids) {
    const own = { threadId: 'thr_1', parentId, isDelta: parentId !== undefined, ...change };
    strictEqual(await heaps.add(draft(id, own)), 'added');
    parentId = id;
  }
}

const heapIds = async (heaps: HeapStore, heapId: string, principal = 'ada'): Promise<string[]> =>
  (await heaps.read(principal, heapId)).map((heap) => heap.heapId);

const newestHeap = async (heaps: HeapStore, threadId = 'thr_1', principal = 'ada'): Promise<string | undefined> =>
  (await heaps.newest(principal, threadId))?.heapId;

const valueLaws: readonly HeapLaw[] = [
  law('a heap is read back as it was added', async (_, make) => {
    const clock = new TestClock();
    const { heaps } = await make({ now: clock.now });
    const state = new Uint8Array(300_000).map((_byte, index) => index % 251);
    const images = ['a'.repeat(64), 'b'.repeat(64)];
    const whole = draft('heap_1', { threadId: 'thr_1', images, state });
    await heaps.add(whole);
    await heaps.add(draft('heap_2', { threadId: 'thr_1', parentId: 'heap_1', isDelta: true, head: '{}' }));
    const [first, second, ...more] = await heaps.read('ada', 'heap_2');
    deepStrictEqual(more, []);
    ok(Buffer.from(state).equals(first?.state ?? Buffer.from('none')));
    const { state: _first, ...info } = first!;
    const bytes = state.length + whole.head.length;
    const expected = { heapId: 'heap_1', principal: 'ada', threadId: 'thr_1', head: whole.head };
    deepStrictEqual(info, { ...expected, isDelta: false, images, bytes, createdAt: clock.nowMs });
    deepStrictEqual([...second!.state], [1, 2, 3]);
    const { state: _second, ...newest } = second!;
    deepStrictEqual(await heaps.newest('ada', 'thr_1'), newest);
    deepStrictEqual([newest.parentId, newest.isDelta, newest.images, newest.bytes], ['heap_1', true, [], 5]);
  }),
  law('a heap does not change when the bytes that were added or read change', async (heaps) => {
    const state = new Uint8Array([1, 2, 3]);
    await heaps.add(draft('heap_1', { state }));
    state[0] = 9;
    const [read] = await heaps.read('ada', 'heap_1');
    deepStrictEqual([...read!.state], [1, 2, 3]);
    read!.state.fill(0);
    deepStrictEqual([...(await heaps.read('ada', 'heap_1'))[0]!.state], [1, 2, 3]);
  }),
  law('a state may be empty, and a head may be any JSON', async (heaps) => {
    for (const [index, text] of HOSTILE_TEXTS.entries()) {
      const head = JSON.stringify({ text });
      await heaps.add(draft(`heap_${index}`, { head, state: new Uint8Array(0) }));
      const [read] = await heaps.read('ada', `heap_${index}`);
      deepStrictEqual([read?.head, read?.state.length, read?.bytes], [head, 0, Buffer.byteLength(head)]);
    }
  }),
  law('a second add with the same id changes nothing', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    strictEqual(await heaps.add(draft('heap_1', { threadId: 'thr_1', state: new Uint8Array(9) })), 'added');
    strictEqual((await heaps.read('ada', 'heap_1'))[0]?.state.length, 3);
    strictEqual(await newestHeap(heaps), 'heap_2');
  }),
  law('a heap is found through another handle', async (heaps, make) => {
    const first = await make();
    await first.heaps.add(draft('heap_1', { threadId: 'thr_1' }));
    const other = await make({ beside: first });
    strictEqual(await newestHeap(other.heaps), 'heap_1');
    deepStrictEqual(await heapIds(other.heaps, 'heap_1'), ['heap_1']);
    deepStrictEqual(await heapIds(heaps, 'heap_1'), []);
  }),
  law('a malformed id is refused by every function', async (heaps) => {
    for (const id of ['', '..', '../a', 'a b', "'", 'a\0', 'x'.repeat(129)]) {
      await refuses(() => heaps.add(draft(id)), ToolscriptUsageError);
      await refuses(() => heaps.add(draft('heap_1', { parentId: id })), ToolscriptUsageError);
      await refuses(() => heaps.add(draft('heap_1', { threadId: id })), ToolscriptUsageError);
      await refuses(() => heaps.add(draft('heap_1', { images: [id] })), ToolscriptUsageError);
      await refuses(() => heaps.read('ada', id), ToolscriptUsageError);
      await refuses(() => heaps.newest('ada', id), ToolscriptUsageError);
      await refuses(() => heaps.deleteThread(id), ToolscriptUsageError);
      const inheritance = { principal: 'ada', from: 'thr_1', to: 'thr_2', heapIds: [] };
      for (const change of [{ from: id }, { to: id }, { heapIds: [id] }])
        await refuses(() => heaps.inherit({ ...inheritance, ...change }), ToolscriptUsageError);
    }
    await refuses(() => heaps.add(draft('heap_1', { isDelta: true })), ToolscriptUsageError);
    deepStrictEqual(await heapIds(heaps, 'heap_1'), []);
  }),
];

const orderLaws: readonly HeapLaw[] = [
  law('a heap whose parent is not the newest of its thread is overtaken, and is not stored', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    for (const parentId of ['heap_1', undefined])
      strictEqual(await heaps.add(draft('heap_3', { threadId: 'thr_1', parentId })), 'overtaken');
    deepStrictEqual(await heapIds(heaps, 'heap_3'), []);
    strictEqual(await newestHeap(heaps), 'heap_2');
    strictEqual(await heaps.add(draft('heap_3', { threadId: 'thr_1', parentId: 'heap_2' })), 'added');
    strictEqual(await newestHeap(heaps), 'heap_3');
  }),
  law('of many heaps with one parent in one thread exactly one is added, across two handles', async (heaps, make) => {
    const first = await make();
    const second = await make({ beside: first });
    await first.heaps.add(draft('heap_0', { threadId: 'thr_1' }));
    for (let round = 0; round < 5; round++) {
      const parentId = (await first.heaps.newest('ada', 'thr_1'))!.heapId;
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? first : second).heaps.add(
            draft(`heap_${round}_${index}`, { threadId: 'thr_1', parentId }),
          ),
        ),
      );
      const winner = results.indexOf('added');
      strictEqual(results.filter((result) => result === 'added').length, 1);
      strictEqual(await newestHeap(second.heaps), `heap_${round}_${winner}`);
    }
    strictEqual(await newestHeap(heaps), undefined);
  }),
  law('of many first heaps of one thread exactly one is added', async (_, make) => {
    const first = await make();
    const second = await make({ beside: first });
    const results = await Promise.all(
      Array.from({ length: 8 }, (__, index) =>
        (index % 2 === 0 ? first : second).heaps.add(draft(`heap_${index}`, { threadId: 'thr_1' })),
      ),
    );
    strictEqual(results.filter((result) => result === 'added').length, 1);
  }),
  law('a heap without a thread is always added', async (heaps) => {
    await heaps.add(draft('heap_1'));
    for (const id of ['heap_2', 'heap_3'])
      strictEqual(await heaps.add(draft(id, { parentId: 'heap_1', isDelta: true })), 'added');
    deepStrictEqual(await heapIds(heaps, 'heap_2'), ['heap_1', 'heap_2']);
    deepStrictEqual(await heapIds(heaps, 'heap_3'), ['heap_1', 'heap_3']);
  }),
  law('another thread may branch from any heap, and both threads continue', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    const branch = draft('heap_b', { threadId: 'thr_2', parentId: 'heap_1', isDelta: true });
    strictEqual(await heaps.add(branch), 'added');
    strictEqual(await heaps.add(draft('heap_3', { threadId: 'thr_1', parentId: 'heap_2', isDelta: true })), 'added');
    deepStrictEqual(await heapIds(heaps, 'heap_b'), ['heap_1', 'heap_b']);
    deepStrictEqual([await newestHeap(heaps), await newestHeap(heaps, 'thr_2')], ['heap_3', 'heap_b']);
  }),
  law('a heap with an unknown parent is refused', async (heaps) => {
    await refuses(() => heaps.add(draft('heap_1', { parentId: 'heap_0' })), NotFoundError);
    await refuses(() => heaps.add(draft('heap_1', { parentId: 'heap_0', threadId: 'thr_1' })), NotFoundError);
    deepStrictEqual(await heapIds(heaps, 'heap_1'), []);
    strictEqual(await newestHeap(heaps), undefined);
  }),
  law('a read starts at the last whole state', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    await heaps.add(draft('heap_3', { threadId: 'thr_1', parentId: 'heap_2' }));
    await heaps.add(draft('heap_4', { threadId: 'thr_1', parentId: 'heap_3', isDelta: true }));
    deepStrictEqual(await heapIds(heaps, 'heap_4'), ['heap_3', 'heap_4']);
  }),
];

const ownerLaws: readonly HeapLaw[] = [
  law('a heap of another principal is neither read nor used as a parent', async (heaps) => {
    await heaps.add(draft('heap_1', { threadId: 'thr_1' }));
    deepStrictEqual(await heapIds(heaps, 'heap_1', 'bob'), []);
    strictEqual(await newestHeap(heaps, 'thr_1', 'bob'), undefined);
    const theirs = draft('heap_2', { principal: 'bob', parentId: 'heap_1', isDelta: true });
    await refuses(() => heaps.add(theirs), NotFoundError);
  }),
  law('principals with the same ids of threads and heaps do not meet, whatever their names contain', async (heaps) => {
    const principals = HOSTILE_TEXTS.filter((text, index) => HOSTILE_TEXTS.indexOf(text) === index);
    for (const principal of principals) {
      const head = JSON.stringify({ principal });
      strictEqual(await heaps.add(draft('heap_1', { principal, threadId: 'thr_1', head })), 'added');
    }
    for (const principal of principals) {
      const [read, ...more] = await heaps.read(principal, 'heap_1');
      deepStrictEqual([read?.principal, read?.head, more.length], [principal, JSON.stringify({ principal }), 0]);
      strictEqual((await heaps.newest(principal, 'thr_1'))?.principal, principal);
    }
    await heaps.deleteThread('thr_1', { principal: principals[1] });
    deepStrictEqual(await heapIds(heaps, 'heap_1', principals[1]), []);
    deepStrictEqual(await heapIds(heaps, 'heap_1', principals[2]), ['heap_1']);
  }),
];

const limitLaws: readonly HeapLaw[] = [
  law('a heap beyond a limit is refused, and what is stored stays', async (_, make) => {
    const { heaps } = await make({ heapLimits: { bytes: 100, totalBytes: 150 } });
    const sized = (id: string, bytes: number, change: Partial<HeapDraft> = {}) =>
      heaps.add(draft(id, { head: '', threadId: 'thr_1', state: new Uint8Array(bytes), ...change }));
    await refuses(() => sized('heap_1', 101), StorageLimitError);
    strictEqual(await newestHeap(heaps), undefined);
    await sized('heap_1', 100);
    await refuses(() => sized('heap_2', 51, { parentId: 'heap_1' }), StorageLimitError);
    await refuses(() => sized('heap_2', 49, { parentId: 'heap_1', head: 'é1' }), StorageLimitError);
    strictEqual(await newestHeap(heaps), 'heap_1');
    strictEqual(await sized('heap_2', 50, { parentId: 'heap_1' }), 'added');
    strictEqual(await sized('heap_1', 100, { principal: 'bob' }), 'added');
    await heaps.deleteThread('thr_1', { principal: 'ada' });
    strictEqual(await sized('heap_3', 100), 'added');
  }),
];

const deletionLaws: readonly HeapLaw[] = [
  law('a thread is deleted with its heaps, and no others', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    await addChain(heaps, ['heap_o'], { threadId: 'thr_2' });
    await heaps.add(draft('heap_f'));
    await heaps.deleteThread('thr_1');
    await heaps.deleteThread('thr_1');
    for (const id of ['heap_1', 'heap_2']) deepStrictEqual(await heapIds(heaps, id), []);
    strictEqual(await newestHeap(heaps), undefined);
    deepStrictEqual([await newestHeap(heaps, 'thr_2'), await heapIds(heaps, 'heap_f')], ['heap_o', ['heap_f']]);
    strictEqual(await heaps.add(draft('heap_n', { threadId: 'thr_1' })), 'added');
  }),
  law('a branch stays readable after its original is deleted, and the rest of the original is gone', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2', 'heap_3']);
    await heaps.add(draft('heap_b', { threadId: 'thr_2', parentId: 'heap_2', isDelta: true }));
    await heaps.deleteThread('thr_1');
    deepStrictEqual(await heapIds(heaps, 'heap_b'), ['heap_1', 'heap_2', 'heap_b']);
    deepStrictEqual(await heapIds(heaps, 'heap_3'), []);
    strictEqual(await newestHeap(heaps), undefined);
    strictEqual((await heaps.read('ada', 'heap_2')).at(-1)?.threadId, undefined);
    await heaps.deleteThread('thr_2');
    await heaps.collect({ before: Number.MAX_SAFE_INTEGER });
    for (const id of ['heap_1', 'heap_2', 'heap_b']) deepStrictEqual(await heapIds(heaps, id), []);
  }),
  law('a branch keeps the heaps that it inherited after its original is deleted, in their order', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2', 'heap_3']);
    await heaps.add(draft('heap_w', { threadId: 'thr_1', parentId: 'heap_3' }));
    const inheritance = { principal: 'ada', from: 'thr_1', to: 'thr_2', heapIds: ['heap_2', 'heap_w', 'heap_x'] };
    await heaps.inherit({ ...inheritance, principal: 'bob' });
    strictEqual(await newestHeap(heaps), 'heap_w');
    await heaps.inherit(inheritance);
    await heaps.inherit(inheritance);
    deepStrictEqual([await newestHeap(heaps), await newestHeap(heaps, 'thr_2')], ['heap_3', 'heap_w']);
    await heaps.deleteThread('thr_1');
    await heaps.collect({ before: Number.MAX_SAFE_INTEGER });
    deepStrictEqual(await heapIds(heaps, 'heap_2'), ['heap_1', 'heap_2']);
    deepStrictEqual([await heapIds(heaps, 'heap_3'), await heapIds(heaps, 'heap_w')], [[], ['heap_w']]);
    strictEqual(await heaps.add(draft('heap_b', { threadId: 'thr_2', parentId: 'heap_2' })), 'overtaken');
    strictEqual(await heaps.add(draft('heap_b', { threadId: 'thr_2', parentId: 'heap_w', isDelta: true })), 'added');
    await heaps.deleteThread('thr_2');
    for (const id of ['heap_2', 'heap_w', 'heap_b']) deepStrictEqual(await heapIds(heaps, id), []);
  }),
  law('an inherited heap is older than the own heaps of its branch', async (heaps) => {
    await addChain(heaps, ['heap_1', 'heap_2']);
    await heaps.add(draft('heap_b', { threadId: 'thr_2', parentId: 'heap_1', isDelta: true }));
    await heaps.inherit({ principal: 'ada', from: 'thr_1', to: 'thr_2', heapIds: ['heap_1'] });
    await heaps.deleteThread('thr_1');
    deepStrictEqual([await newestHeap(heaps, 'thr_2'), await heapIds(heaps, 'heap_2')], ['heap_b', []]);
    strictEqual((await heaps.read('ada', 'heap_1')).at(-1)?.threadId, 'thr_2');
    strictEqual(await heaps.add(draft('heap_c', { threadId: 'thr_2', parentId: 'heap_b', isDelta: true })), 'added');
  }),
  law('a deleted thread frees the images that only its heaps need', async (heaps) => {
    const [shared, own] = ['a'.repeat(64), 'b'.repeat(64)] as const;
    await heaps.add(draft('heap_1', { threadId: 'thr_1', images: [shared, own] }));
    await heaps.add(draft('heap_2', { threadId: 'thr_2', images: [shared] }));
    deepStrictEqual((await heaps.images()).toSorted(), [shared, own]);
    await heaps.deleteThread('thr_1');
    deepStrictEqual(await heaps.images(), [shared]);
  }),
];

const collectionLaws: readonly HeapLaw[] = [
  law('a collection of a thread keeps the newest heap, named heaps and what their states need', async (_, make) => {
    const clock = new TestClock();
    const { heaps } = await make({ now: clock.now });
    await addChain(heaps, ['heap_1', 'heap_2', 'heap_3']);
    await heaps.add(draft('heap_4', { threadId: 'thr_1', parentId: 'heap_3' }));
    await heaps.add(draft('heap_5', { threadId: 'thr_1', parentId: 'heap_4', isDelta: true }));
    const before = clock.nowMs + 1;
    strictEqual(await heaps.collect({ threadId: 'thr_1', named: ['heap_2'], before: clock.nowMs }), 0);
    strictEqual(await heaps.collect({ threadId: 'thr_1', principal: 'bob', before }), 0);
    strictEqual(await heaps.collect({ threadId: 'thr_1', principal: 'ada', named: ['heap_2'], before }), 1);
    deepStrictEqual(await heapIds(heaps, 'heap_3'), []);
    deepStrictEqual(await heapIds(heaps, 'heap_2'), ['heap_1', 'heap_2']);
    deepStrictEqual(await heapIds(heaps, 'heap_5'), ['heap_4', 'heap_5']);
    strictEqual(await heaps.collect({ threadId: 'thr_1', before }), 2);
    strictEqual(await newestHeap(heaps), 'heap_5');
    strictEqual(await heaps.add(draft('heap_6', { threadId: 'thr_1', parentId: 'heap_5', isDelta: true })), 'added');
  }),
  law('a collection without a thread deletes old heaps of no thread', async (_, make) => {
    const clock = new TestClock();
    const { heaps } = await make({ now: clock.now });
    await addChain(heaps, ['heap_1']);
    await heaps.add(draft('heap_old'));
    await heaps.add(draft('heap_base'));
    clock.nowMs += 10;
    await heaps.add(draft('heap_new', { parentId: 'heap_base', isDelta: true }));
    strictEqual(await heaps.collect({ before: clock.nowMs }), 1);
    deepStrictEqual(await heapIds(heaps, 'heap_old'), []);
    deepStrictEqual(await heapIds(heaps, 'heap_new'), ['heap_base', 'heap_new']);
    strictEqual(await newestHeap(heaps), 'heap_1');
  }),
  law('old threads are those of all principals whose ids begin with a text, without a new heap', async (_, make) => {
    const clock = new TestClock();
    const { heaps } = await make({ now: clock.now });
    const add = (heapId: string, threadId: string | undefined, change: Partial<HeapDraft> = {}) =>
      heaps.add(draft(heapId, { threadId, ...change }));
    await add('heap_1', 'mcp_old');
    await add('heap_1', 'mcp_old', { principal: 'bob' });
    await add('heap_2', 'mcp_used');
    for (const [index, other] of ['mcpx', 'MCP_a', 'thr_mcp_', 'mcp', undefined].entries())
      await add(`heap_o${index}`, other);
    clock.nowMs += 10;
    await add('heap_3', 'mcp_used', { parentId: 'heap_2' });
    const old = async (before: number) => (await heaps.oldThreads({ prefix: 'mcp_', before })).toSorted();
    deepStrictEqual(await old(clock.nowMs - 10), []);
    deepStrictEqual(await old(clock.nowMs), ['mcp_old']);
    deepStrictEqual(await old(clock.nowMs + 1), ['mcp_old', 'mcp_used']);
    await heaps.deleteThread('mcp_old');
    deepStrictEqual(await old(clock.nowMs), []);
  }),
];
