import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, fileStore, memoryStore, pruneScripts } from '#core/index.js';
import type { HeapDraft, HeapStore } from '#core/protocol/index.js';
import { SealedStore } from '#core/run/durability/sealed-store.js';
import { SuspensionSeal } from '#core/run/durability/suspension-envelope.js';
import { newFolder } from '@toolscript/testkit/folder';
import { heapStoreConformance } from '#core/testing/index.js';
import { MemoryHeaps } from '#core/stores/memory-heaps.js';
import { SealedHeaps } from '#core/run/durability/sealed-heaps.js';

const SECRET = 'the secret of the user';
const KEY = 'k'.repeat(32);

function draft(heapId: string, change: Partial<HeapDraft> = {}): HeapDraft {
  const head = JSON.stringify({ names: [SECRET] });
  return { heapId, principal: 'ada', threadId: 'thr_1', head, state: Buffer.from(SECRET), ...change };
}

function sealed(heaps: HeapStore, ...keys: string[]): HeapStore {
  const store = { ...memoryStore(), heaps };
  return new SealedStore(store, new SuspensionSeal(keys.length === 0 ? [KEY] : keys)).heaps!;
}

describe('sealed heaps', () => {
  const laws = heapStoreConformance().filter(({ name }) => !/limit|read back as it was|may be any JSON/u.test(name));
  it.each(laws.map((law) => [law.name, law] as const))('%s', (_name, law) =>
    law.check(({ beside, heapLimits, now } = {}) => {
      const heaps = new SealedHeaps(new MemoryHeaps(heapLimits, now), new SuspensionSeal([KEY]));
      return beside ?? { heaps, close: async () => {} };
    }),
  );

  it('show the store nothing of their names and values', async () => {
    const heaps = new MemoryHeaps();
    await sealed(heaps).add(draft('heap_1'));
    const [stored] = await heaps.read('ada', 'heap_1');
    expect(Buffer.from(stored!.state).includes(SECRET)).toBe(false);
    expect(Buffer.from(stored!.head.slice(1, -1), 'base64').includes(SECRET)).toBe(false);
    const [opened] = await sealed(heaps).read('ada', 'heap_1');
    expect([Buffer.from(opened!.state).toString(), opened!.head]).toEqual([SECRET, draft('heap_1').head]);
  });

  it('are opened with each key of the list, and refused without their key', async () => {
    const heaps = new MemoryHeaps();
    await sealed(heaps).add(draft('heap_1'));
    const other = 'o'.repeat(32);
    expect((await sealed(heaps, other, KEY).newest('ada', 'thr_1'))?.head).toBe(draft('heap_1').head);
    await expect(sealed(heaps, other).newest('ada', 'thr_1')).rejects.toThrow('unknown key');
    await expect(sealed(heaps, other).read('ada', 'heap_1')).rejects.toThrow('unknown key');
  });

  it.each<[string, (stored: HeapDraft) => Partial<HeapDraft>]>([
    [
      'a byte of the state',
      ({ state }) => ({ state: state.map((byte, at) => (at === state.length - 20 ? byte ^ 1 : byte)) }),
    ],
    ['the length of the state', ({ state }) => ({ state: state.subarray(0, 20) })],
    ['the head', ({ head }) => ({ head: head.replace(/.{4}"$/u, 'AAAA"') })],
    ['the principal', () => ({ principal: 'bob' })],
    ['the id', () => ({ heapId: 'heap_2' })],
    ['the images', () => ({ images: ['a'.repeat(64)] })],
    ['the state, which is now the head', ({ head }) => ({ state: Buffer.from(head.slice(1, -1), 'base64') })],
  ])('are refused after a program without the key has changed %s', async (_what, change) => {
    const heaps = new MemoryHeaps();
    await sealed(heaps).add(draft('heap_1'));
    const [stored] = await heaps.read('ada', 'heap_1');
    const copy = new MemoryHeaps();
    const changed = { ...stored!, ...change(stored!) };
    await copy.add(changed);
    await expect(sealed(copy).read(changed.principal, changed.heapId)).rejects.toThrow(/changed|truncated/u);
  });
});

describe('the bytes of heaps', () => {
  const sized = (heapId: string, bytes: number) =>
    draft(heapId, { threadId: undefined, head: '', state: Buffer.alloc(bytes) });

  it('are limited for one heap', async () => {
    const heaps = memoryStore({ heapLimits: { bytes: 10 } }).heaps!;
    await expect(heaps.add(sized('heap_1', 11))).rejects.toThrow(
      'would take 11 bytes; one script may store at most 10',
    );
  });

  it('are limited for all heaps of a principal', async () => {
    const heaps = memoryStore({ heapLimits: { totalBytes: 15 } }).heaps!;
    await heaps.add(sized('heap_1', 10));
    await expect(heaps.add(sized('heap_2', 6))).rejects.toThrow('would take 16 bytes; at most 15 are allowed');
  });
});

describe('heaps in files', () => {
  it('are complete or missing after a crash between their file and their thread', async () => {
    const folder = newFolder();
    const { heaps } = fileStore(folder);
    await heaps!.add(draft('heap_1'));
    const name = createHash('sha256').update('"ada"').digest('hex');
    const thread = join(folder, 'heaps', name, 'threads', 'thr_1');
    const before = readFileSync(thread);
    await heaps!.add(draft('heap_2', { parentId: 'heap_1' }));
    writeFileSync(thread, before);
    const again = fileStore(folder).heaps!;
    expect((await again.newest('ada', 'thr_1'))?.heapId).toBe('heap_1');
    expect(await again.add(draft('heap_3', { parentId: 'heap_1' }))).toBe('added');
    expect(await again.add(draft('heap_2', { parentId: 'heap_1' }))).toBe('overtaken');
    expect((await again.newest('ada', 'thr_1'))?.heapId).toBe('heap_3');
    await again.deleteThread('thr_1');
    expect(readdirSync(join(folder, 'heaps', name, 'states'))).toEqual([]);
  });

  it('have no name of a principal in their paths', async () => {
    const folder = newFolder();
    await fileStore(folder).heaps!.add(draft('heap_1', { principal: '../../ada' }));
    const names = readdirSync(join(folder, 'heaps')).filter((name) => !name.endsWith('.lock'));
    expect(names).toEqual([createHash('sha256').update('"../../ada"').digest('hex')]);
    rmSync(folder, { recursive: true });
  });
});

describe('the images that heaps need', () => {
  it('stay when scripts are pruned, until no heap needs them', async () => {
    const store = memoryStore();
    const image = Buffer.from('an engine');
    const name = createHash('sha256').update(image).digest('hex');
    await store.images.put(name, image);
    await store.heaps!.add(draft('heap_1', { images: [name] }));
    await pruneScripts(store);
    expect(await store.images.has(name)).toBe(true);
    await store.heaps!.deleteThread('thr_1');
    await pruneScripts(store);
    expect(await store.images.has(name)).toBe(false);
  });
});

describe('heaps of no conversation', () => {
  it('are deleted with old scripts, and those of conversations stay', async () => {
    const store = memoryStore();
    await store.heaps!.add(draft('heap_1'));
    await store.heaps!.add(draft('heap_own', { threadId: undefined }));
    await pruneScripts(store);
    expect(await store.heaps!.read('ada', 'heap_own')).toHaveLength(1);
    await pruneScripts(store, { heapsAfterMs: -1 });
    expect(await store.heaps!.read('ada', 'heap_own')).toEqual([]);
    expect(await store.heaps!.read('ada', 'heap_1')).toHaveLength(1);
  });
});

describe('heaps of a session of a gateway', () => {
  const asks = defineTool({
    name: 'asks',
    description: 'Needs a decision',
    effect: 'write',
    approval: 'always',
    input: z.object({}),
    execute: async () => 'done',
  });

  it.each(['pruned', 'ended'] as const)(
    'stay while a script of the session is suspended, and are gone after it, when the session is %s',
    async (by) => {
      const store = memoryStore();
      const harness = createHarness({ tools: [asks], scripts: 'one-program', store });
      onTestFinished(() => harness.close());
      const threadId = 'mcp_1';
      const end = async () => {
        if (by === 'pruned') await pruneScripts(store, { heapsAfterMs: -1 });
        else await harness.endProgram(threadId);
      };
      const { heap } = await harness.runScript('let n = 1;', { threadId });
      const kept = await harness.runScript('let n = 2;', { threadId: 'thr_1' });
      const { scriptId } = await harness.runScript('await tools.asks({});\nn += 1;\nreturn n', { heap, threadId });
      const details = await harness.inspect(scriptId);
      await end();
      const decisions = Object.fromEntries(
        details!.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve' as const]),
      );
      expect(await harness.resume(scriptId, decisions)).toMatchObject({ status: 'completed', value: 2 });
      expect((await store.heaps!.newest('', threadId))?.parentId).toBe(heap);
      await end();
      expect(await store.heaps!.newest('', threadId)).toBeUndefined();
      expect(await store.heaps!.read('', heap!)).toEqual([]);
      expect((await store.heaps!.newest('', 'thr_1'))?.heapId).toBe(kept.heap);
    },
  );

  it('stay while a script of the session runs, also without a store', async () => {
    const threadId = 'mcp_1';
    const ends = defineTool({
      name: 'ends',
      description: 'Ends the session',
      effect: 'read',
      input: z.object({}),
      execute: async () => harness.endProgram(threadId).then(() => 1),
    });
    const harness = createHarness({ tools: [ends], scripts: 'one-program' });
    onTestFinished(() => harness.close());
    const { heap } = await harness.runScript('let n = 1;', { threadId });
    const options = { heap, threadId, yieldAfterMs: 60_000 };
    const ended = await harness.runScript('n += await tools.ends({}) as number; return n', options);
    expect([ended.status, ended.diagnostics]).toEqual(['completed', []]);
    await harness.endProgram(threadId);
    expect((await harness.runScript('return n', { heap: ended.heap, threadId })).error?.code).toBe('HeapNotFoundError');
  });
});
