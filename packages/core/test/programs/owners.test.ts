import { describe, expect, it } from 'vitest';
import { createHarness, memoryStore, ToolscriptUsageError } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

describe('the heap of a program', () => {
  it('of another principal is refused as if it did not exist', async () => {
    const harness = openPrograms({ typecheck: 'off' });
    const talk = new Conversation(harness, { principal: 'ann', threadId: 'thread_1' });
    await talk.run(`const secret = 1`);
    const refusal = async (heap: string, principal: string | undefined) => {
      const { error, operations } = await harness.runScript('return secret', { heap, principal, threadId: 'thread_1' });
      expect(operations).toEqual([]);
      return `${error?.code}: ${error?.message.replace(heap, 'ID')}`;
    };
    const unknown = await refusal('heap_none', 'ann');
    expect(unknown).toContain('HeapNotFoundError: There is no heap "ID", so nothing has run');
    expect(await refusal(talk.heap!, 'mallory')).toBe(unknown);
    expect(await refusal(talk.heap!, undefined)).toBe(unknown);
    expect(await talk.value('return secret')).toBe(1);
  });

  it('is kept only if its parent is the newest one of the thread, and the loser keeps its result', async () => {
    const harness = openPrograms({ typecheck: 'off' });
    const talk = new Conversation(harness, { threadId: 'thread_1' });
    await talk.run(`const list = [0]`);
    const slow = talk.fork();
    await talk.run(`list.push(1)`);
    const lost = await slow.run(`list.push(2); return list`);
    expect([lost.value, lost.heap]).toEqual([[0, 2], talk.heap]);
    expect(lost.diagnostics.find(({ code }) => code === 'variables-lost')?.message).toContain(
      'another script of the conversation ended first',
    );
    expect(await slow.value('return list')).toEqual([0, 1]);
  });

  it('without a thread is kept, although another script started from the same heap', async () => {
    const harness = openPrograms({ typecheck: 'off' });
    const talk = new Conversation(harness);
    await talk.run(`const list = [0]`);
    const ends = await Promise.all(
      [talk.fork(), talk.fork()].map((fork, n) => fork.value(`list.push(${n + 1}); return list`)),
    );
    expect(ends).toEqual([
      [0, 1],
      [0, 2],
    ]);
  });

  it('is read by another harness over the same store, with the same key only', async () => {
    const store = memoryStore();
    const suspensionKey = 'k'.repeat(32);
    const first = new Conversation(openPrograms({ store, suspensionKey }));
    await first.run(`const rows = [1]; const add = (n: number) => rows.push(n)`);
    const second = new Conversation(openPrograms({ store, suspensionKey }));
    second.heap = first.heap;
    expect(await second.value(`add(2); return rows`)).toEqual([1, 2]);
    const stranger = new Conversation(openPrograms({ store, suspensionKey: 'x'.repeat(32) }));
    stranger.heap = first.heap;
    const refused = await stranger.run(`return rows`);
    expect([refused.status, refused.error?.code]).toEqual(['failed', 'StoreError']);
  });

  it('that was changed in the store is refused, and nothing runs', async () => {
    const store = memoryStore();
    const heaps = store.heaps!;
    const changed = {
      ...store,
      heaps: {
        ...heaps,
        add: heaps.add.bind(heaps),
        newest: heaps.newest.bind(heaps),
        read: async (principal: string, heapId: string) =>
          (await heaps.read(principal, heapId)).map((heap) => ({
            ...heap,
            state: heap.state.subarray(0, heap.state.length >> 1),
          })),
      },
    };
    for (const suspensionKey of [undefined, 'k'.repeat(32)]) {
      const talk = new Conversation(openPrograms({ store: changed as never, suspensionKey, typecheck: 'off' }));
      await talk.run(`const rows = [1]`);
      const { error, operations } = await talk.run(`await tools.math.double({ n: 1 }); return typeof rows`);
      expect([error?.code, operations]).toEqual([suspensionKey === undefined ? 'HeapNotFoundError' : 'StoreError', []]);
    }
  });

  it('of another version is dropped, and the outcome reports it to the model', async () => {
    const store = memoryStore();
    const heaps = store.heaps!;
    const older = {
      ...store,
      heaps: {
        add: heaps.add.bind(heaps),
        newest: heaps.newest.bind(heaps),
        read: async (principal: string, heapId: string) =>
          (await heaps.read(principal, heapId)).map((heap) => ({ ...heap, images: ['0'.repeat(64)] })),
      },
    };
    const talk = new Conversation(openPrograms({ store: older as never, typecheck: 'off' }), { threadId: 'thread_1' });
    await talk.run(`const rows = [1]`);
    const next = await talk.run(`const fresh = 2; return typeof rows`);
    expect([next.value, next.diagnostics.map(({ code }) => code)]).toEqual(['undefined', ['variables-dropped']]);
    expect(next.scope).toEqual([{ name: 'fresh', type: 'unknown' }]);
  });

  it('is that of a script which another harness resumes, from its memory or along its tape', async () => {
    for (const limits of [{}, { maxReturnBytes: 1_000 }]) {
      const store = memoryStore();
      const suspensionKey = 'k'.repeat(32);
      const first = new Conversation(openPrograms({ store, suspensionKey }), { threadId: 'thread_1' });
      await first.run(`let paid = 0; const seen = new Map([['Ann', 1]])`);
      const waiting = await first.run(`paid += (await tools.pay({ to: 'Ann', euros: 30 })).paid; const after = paid`);
      const other = openPrograms({ store, suspensionKey, limits });
      const decisions = { [waiting.pendingApprovals![0]!.approvalId]: 'approve' } as const;
      const resumed = await other.resume(waiting.scriptId, decisions);
      expect([resumed.status, resumed.scope]).toEqual(['completed', [{ name: 'after', type: 'number' }]]);
      const next = new Conversation(other, { threadId: 'thread_1' });
      next.heap = resumed.heap;
      expect(await next.value(`return [paid, after, seen.get('Ann')]`)).toEqual([30, 30, 1]);
    }
  });

  it('does not exist in a harness whose scripts are separate', async () => {
    const harness = openPrograms({ scripts: 'separate' });
    const outcome = await harness.runScript('const rows = [1]; return rows');
    expect([outcome.heap, outcome.scope]).toEqual([undefined, undefined]);
  });

  it('needs a runtime and a store that can keep it', () => {
    const { heaps: _heaps, ...store } = memoryStore();
    expect(() => createHarness({ tools: [], scripts: 'one-program', store })).toThrow(ToolscriptUsageError);
  });
});
