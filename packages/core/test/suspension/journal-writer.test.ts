import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import type { AppendOptions, HarnessStore, Operation } from '#core/protocol/index.js';
import { Leases, StoreJournal } from '#core/run/durability/store-journal.js';
import { contextWith } from '../support/run-context.js';

const ID = 'scr_1';
const STATUS = { state: 'suspended', threadId: 'thr_1' } as const;

const operation: Operation = {
  callId: `${ID}_call_0`,
  tool: 'write',
  input: {},
  effect: 'write',
  status: 'unknown',
  startedAtMs: 0,
  durationMs: 0,
};

/** A journal that is written to a store in memory. `after` is called after each append. */
function open(after: (options: AppendOptions | undefined) => void = () => {}) {
  const store: HarnessStore = memoryStore();
  const append = store.journal.append.bind(store.journal);
  store.journal.append = (scriptId, epoch, lines, options) => {
    void append(scriptId, epoch, lines, options);
    after(options);
  };
  const leases = new Leases(store, { owner: 'a test', leaseMs: 60_000 });
  const journal = new StoreJournal({ leases, durability: 'process' }, contextWith(), { scriptId: ID, epoch: 0 });
  journal.started({} as never);
  return { store, journal };
}

describe('the journal of a script', () => {
  it('of a run that was interrupted has no end, even if the script has ended meanwhile', async () => {
    const { store, journal } = open();
    await journal.intended(operation, false);
    journal.leave();
    await journal.ended({ atMs: 1, status: 'completed' }, () => undefined);
    const { scripts } = await store.journal.list();
    expect(scripts).toMatchObject([{ scriptId: ID, state: 'interrupted' }]);
    expect((await store.journal.read(ID))?.lines).toHaveLength(2);
  });

  it('has a suspension that the store kept although it reported a failure, which is passed on as a doubt', async () => {
    const { store, journal } = open((options) => {
      if (typeof options?.slot === 'string') throw new Error('the answer was lost');
    });
    const doubts: unknown[] = [];
    await journal.suspended('the suspension', STATUS, (error) => doubts.push(error));
    expect(doubts.map(String)).toEqual(['Error: the answer was lost']);
    expect(await store.journal.read(ID)).toMatchObject({ slot: 'the suspension' });
    expect(await store.claim.current(ID)).toMatchObject({ isHeld: false });
  });

  it('has no suspension that the store does not have', async () => {
    const { store, journal } = open();
    store.journal.append = () => {
      throw new Error('the disk is full');
    };
    await expect(journal.suspended('the suspension', STATUS, () => expect.fail('no doubt'))).rejects.toThrow('full');
  });
});

describe('the claims of a harness', () => {
  it('are renewed for a script that was claimed again, also after its earlier claim was released', async () => {
    const store: HarnessStore = memoryStore();
    const renewed = new Promise<number>((resolve) => {
      store.claim.renew = async (_scriptId, epoch) => {
        resolve(epoch);
        return true;
      };
    });
    const leases = new Leases(store, { owner: 'a test', leaseMs: 3 });
    leases.hold(ID, 1, () => {});
    leases.hold(ID, 2, () => {});
    await leases.release(ID, 1);
    expect(await renewed).toBe(2);
    await leases.release(ID, 2);
    await leases.close();
  });
});
