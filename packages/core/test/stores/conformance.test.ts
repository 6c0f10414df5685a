import { mkdtempSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileStore, memoryStore } from '#core/stores/index.js';
import { PrivateFolder } from '#core/durable-files/private-folder.js';
import { FileHeaps } from '#core/stores/heap-files.js';
import { MemoryHeaps } from '#core/stores/memory-heaps.js';
import {
  heapStoreConformance,
  storeConformance,
  type MakeHeaps,
  type OpenHeaps,
  type MakeStore,
} from '#core/testing/index.js';
import type { HarnessStore, HeapStore } from '#core/protocol/index.js';

const root = mkdtempSync(join(tmpdir(), 'stores-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let made = 0;

const laws = storeConformance().map((law) => [law.name, law] as const);

/** Opening the data of a store in memory again returns the store itself. */
const makeMemoryStore: MakeStore = ({ beside, ...options } = {}) => beside ?? memoryStore(options);

const folders = new WeakMap<HarnessStore, string>();

const makeFileStore: MakeStore = ({ beside, leasesOnly = false, ...options } = {}) => {
  const folder = (beside && folders.get(beside)) ?? join(root, `${made++}`, 'deep');
  const store = fileStore(folder, { ...options, knowsProcesses: !leasesOnly });
  folders.set(store, folder);
  return store;
};

describe('the memory store', () => {
  it.each(laws)('%s', (_name, law) => law.check(makeMemoryStore));
});

describe('the file store', () => {
  it.each(laws)('%s', (_name, law) => law.check(makeFileStore));
});

const heapLaws = heapStoreConformance().map((law) => [law.name, law] as const);

const makeMemoryHeaps: MakeHeaps = ({ beside, heapLimits, now } = {}) =>
  beside ?? { heaps: new MemoryHeaps(heapLimits, now), close: async () => {} };

describe('heaps in memory', () => {
  it.each(heapLaws)('%s', (_name, law) => law.check(makeMemoryHeaps));
});

const heapFolders = new WeakMap<OpenHeaps, string>();

const makeFileHeaps: MakeHeaps = ({ beside, heapLimits, now } = {}) => {
  const folder = (beside && heapFolders.get(beside)) ?? join(root, `${made++}`, 'deep');
  const open = { heaps: new FileHeaps(new PrivateFolder(folder), heapLimits, now), close: async () => {} };
  heapFolders.set(open, folder);
  return open;
};

describe('heaps in files', () => {
  it.each(heapLaws)('%s', (_name, law) => law.check(makeFileHeaps));
});

/** Each weakness, and a law that must detect it. */
const WEAKNESSES: readonly [law: string, weaken: (store: HarnessStore) => HarnessStore][] = [
  [
    'exactly one of many concurrent claims wins',
    (store) => ({
      ...store,
      claim: weakened(store.claim, {
        take: async (_id, epoch) => ({ epoch: epoch + 1, lines: [], slot: undefined, damage: undefined }),
      }),
    }),
  ],
  [
    'exactly one of many claims wins, across two handles',
    // Checks, and writes afterwards.
    (store) => {
      const take: HarnessStore['claim']['take'] = async (scriptId, fromEpoch, options) => {
        const epoch = (await store.claim.current(scriptId))?.epoch ?? 0;
        await delay(1);
        if (epoch !== fromEpoch) return undefined;
        const taken = await store.claim.take(scriptId, fromEpoch, options);
        return taken ?? { epoch: fromEpoch + 1, lines: [], slot: undefined, damage: undefined };
      };
      return { ...store, claim: weakened(store.claim, { take }) };
    },
  ],
  [
    'a claim returns every earlier append, and later appends of the old epoch do not count',
    // Reads the journal, and claims afterwards.
    (store) => {
      const take: HarnessStore['claim']['take'] = async (scriptId, fromEpoch, options) => {
        const before = await store.journal.read(scriptId);
        await delay(2);
        const taken = await store.claim.take(scriptId, fromEpoch, options);
        return taken && { ...taken, lines: before?.lines ?? [] };
      };
      return { ...store, claim: weakened(store.claim, { take }) };
    },
  ],
  ['a stale epoch cannot append', (store) => ({ ...store, journal: weakened(store.journal, { append: () => {} }) })],
  [
    'a held script is claimed only by force',
    (store) => {
      const take: HarnessStore['claim']['take'] = (scriptId, fromEpoch, options) =>
        store.claim.take(scriptId, fromEpoch, { ...options, force: true });
      return { ...store, claim: weakened(store.claim, { take }) };
    },
  ],
  [
    'a renewed lease continues; the renewal of another epoch reports a lost lease',
    (store) => ({ ...store, claim: weakened(store.claim, { renew: async () => true }) }),
  ],
  [
    'an image with a wrong hash is rejected',
    (store) => ({ ...store, images: weakened(store.images, { put: async () => {} }) }),
  ],
  [
    'delete is idempotent and deletes the claim',
    (store) => ({ ...store, journal: weakened(store.journal, { delete: async () => {} }) }),
  ],
];

function weakened<Port extends object>(port: Port, weak: Partial<Port>): Port {
  return new Proxy(port, {
    get: (target, key) => {
      const member: unknown = Reflect.get(key in weak ? weak : target, key);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

const HEAP_WEAKNESSES: readonly [law: string, weaken: (heaps: HeapStore) => Partial<HeapStore>][] = [
  [
    'a heap whose parent is not the newest of its thread is overtaken, and is not stored',
    (heaps) => ({ add: ({ threadId: _threadId, ...draft }) => heaps.add(draft) }),
  ],
  [
    'of many heaps with one parent in one thread exactly one is added, across two handles',
    // Checks, and writes afterwards.
    (heaps) => {
      const add: HeapStore['add'] = async ({ threadId, ...draft }) => {
        const newest = threadId === undefined ? undefined : await heaps.newest(draft.principal, threadId);
        if (newest?.heapId !== draft.parentId) return 'overtaken';
        await heaps.add({ ...draft, threadId });
        return 'added';
      };
      return { add };
    },
  ],
  [
    'a heap of another principal is neither read nor used as a parent',
    (heaps) => ({ read: (_, id) => heaps.read('ada', id) }),
  ],
  ['a thread is deleted with its heaps, and no others', () => ({ deleteThread: async () => {} })],
  [
    'a branch keeps the heaps that it inherited after its original is deleted, in their order',
    () => ({ inherit: async () => {} }),
  ],
  [
    'a branch stays readable after its original is deleted, and the rest of the original is gone',
    (heaps) => ({ deleteThread: (threadId) => heaps.deleteThread(threadId, { principal: 'nobody' }) }),
  ],
];

describe('the suite of heaps', () => {
  it.each(HEAP_WEAKNESSES)('finds a store that breaks "%s"', async (name, weaken) => {
    const law = heapStoreConformance().find((law) => law.name === name);
    const make: MakeHeaps = async (options) => {
      const { heaps, close } = await makeMemoryHeaps(options);
      return { heaps: weakened(heaps, weaken(heaps)), close };
    };
    await expect(law!.check(make)).rejects.toThrow();
  });
});

describe('the suite', () => {
  it.each(WEAKNESSES)('finds a store that breaks "%s"', async (name, weaken) => {
    const law = storeConformance().find((law) => law.name === name);
    await expect(law!.check(async (options) => weaken(await makeMemoryStore(options)))).rejects.toThrow();
  });
});
