import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { SealedStore } from '#core/run/durability/sealed-store.js';
import { SuspensionSeal } from '#core/run/durability/suspension-envelope.js';
import { HOLDER, KEY } from './world.js';

const ID = 'scr_1';

/** A store with authenticated journals, and the number of times that it has read one. */
function open() {
  const store = memoryStore();
  let reads = 0;
  const read = store.journal.read.bind(store.journal);
  store.journal.read = (scriptId) => {
    reads++;
    return read(scriptId);
  };
  return { store, sealed: new SealedStore(store, new SuspensionSeal([KEY])), reads: () => reads };
}

describe('a store with authenticated journals', () => {
  it('stores the status of a claim that writes no line', async () => {
    const { store, sealed } = open();
    await sealed.claim.take(ID, 0, { ...HOLDER, status: { state: 'running', threadId: 'thr_1' } });
    expect((await store.journal.list({ threadId: 'thr_1' })).scripts).toMatchObject([
      { scriptId: ID, state: 'running' },
    ]);
  });

  it('stores the status of a claim with its line', async () => {
    const { store, sealed } = open();
    await sealed.claim.take(ID, 0, { ...HOLDER, lines: ['{"t":"x"}'], status: { state: 'ended', threadId: 'thr_1' } });
    expect((await store.journal.list({ state: 'ended' })).scripts).toMatchObject([{ scriptId: ID }]);
  });

  it('reads no journal of its own script again for each line', async () => {
    const { sealed, reads } = open();
    await sealed.claim.take(ID, 0, HOLDER);
    for (let line = 0; line < 5; line++) await sealed.journal.append(ID, 1, [`{"t":"line ${line}"}`]);
    expect(reads()).toBe(0);
    expect((await sealed.journal.read(ID))?.lines).toHaveLength(5);
    expect((await sealed.journal.read(ID))?.damage).toBeUndefined();
  });

  it('continues the journal of a script that it has released', async () => {
    const { sealed } = open();
    await sealed.claim.take(ID, 0, HOLDER);
    await sealed.journal.append(ID, 1, ['{"t":"one"}']);
    await sealed.claim.release(ID, 1);
    await Promise.all(['two', 'three'].map(async (t) => sealed.journal.append(ID, 1, [JSON.stringify({ t })])));
    const content = await sealed.journal.read(ID);
    expect(content?.lines.map((line) => (JSON.parse(line) as { t: string }).t)).toEqual(['one', 'two', 'three']);
    expect(content?.damage).toBeUndefined();
  });
});

it('a seal without a key has a key of its own, which opens what it sealed', () => {
  const seal = new SuspensionSeal([]);
  const header = {
    kind: 'toolscript.suspension',
    version: 1,
    scriptId: ID,
    epoch: 0,
    threadId: 'thr_1',
    createdAtMs: 0,
    images: [],
  } as const;
  const text = seal.seal({ ...header, images: [] }, { a: 1 }, new Uint8Array([1]));
  expect(seal.open(text)).toMatchObject({ header, data: { a: 1 } });
  expect(() => new SuspensionSeal([]).open(text)).toThrow('unknown key');
});
