import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileStore, memoryStore } from '#core/stores/index.js';
import { storeConformance } from '#core/testing/index.js';
import type { HarnessStore } from '#core/protocol/index.js';

const root = mkdtempSync(join(tmpdir(), 'stores-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let made = 0;

const laws = storeConformance().map((law) => [law.name, law] as const);

describe('the memory store', () => {
  it.each(laws)('%s', (_name, law) => law.check(memoryStore));
});

describe('the file store', () => {
  it.each(laws)('%s', (_name, law) => law.check((options) => fileStore(join(root, `${made++}`, 'deep'), options)));
});

/** Each weakness, and a law that must see it. */
const WEAKNESSES: readonly [law: string, weaken: (store: HarnessStore) => HarnessStore][] = [
  [
    'exactly one of many concurrent takers wins',
    (store) => ({ ...store, claim: weakened(store.claim, { take: async () => true }) }),
  ],
  ['a stale epoch cannot append', (store) => ({ ...store, journal: weakened(store.journal, { append: () => {} }) })],
  [
    'images refuse bytes of another hash',
    (store) => ({ ...store, images: weakened(store.images, { put: async () => {} }) }),
  ],
  [
    'delete is idempotent and forgets the claim',
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

describe('the suite', () => {
  it.each(WEAKNESSES)('finds a store that breaks "%s"', async (name, weaken) => {
    const law = storeConformance().find((law) => law.name === name);
    await expect(law!.check((options) => weaken(memoryStore(options)))).rejects.toThrow();
  });
});
