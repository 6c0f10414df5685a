import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { listScripts, memoryStore } from '#core/index.js';
import type { HarnessStore, JournalContent } from '#core/protocol/index.js';
import { decideAll, failureOf, open, suspended, valueOf, type Effects } from './world.js';

type Append = HarnessStore['journal']['append'];

/** A store in memory that passes its appends through `change`, with the number of the append, from 0. */
function storeWith(change: (append: Append, count: number) => Append): HarnessStore {
  const { claim, images, journal } = memoryStore();
  let count = 0;
  return {
    claim,
    images,
    journal: {
      append: (...args) => change((...own) => journal.append(...own), count++)(...args),
      read: (id) => journal.read(id),
      list: (query) => journal.list(query),
      delete: (id) => journal.delete(id),
    },
  };
}

const full = () => {
  throw new Error('no space left on device');
};

const kinds = (content: JournalContent | undefined) =>
  (content?.lines ?? []).map((line) => (JSON.parse(line) as { t: string }).t);

describe('a store that fails', () => {
  it('never lets a call run without a stored intent, even if several start in one tick', async () => {
    const effects: Effects = [];
    const seen: Effects[] = [];
    const store = storeWith((append, count) => async (...args) => {
      await delay(20);
      seen.push([...effects]);
      if (count === 0) full();
      await append(...args);
    });
    await open({ effects, store }).runScript(
      'return await Promise.all([tools.mark({ text: "a" }), tools.mark({ text: "b" })])',
    );
    expect(seen[0]).toEqual([]);
    // The second run of the script has a separate journal.
    expect(effects).toEqual(['mark: a', 'mark: b']);
  });

  it('never has a journal with a gap: nothing is written after a failed write', async () => {
    const effects: Effects = [];
    const store = storeWith((append, count) => (count === 2 ? full : append));
    const outcome = await open({ effects, store }).runScript(`
      await tools.mark({ text: 'a' });
      try { await tools.mark({ text: 'b' }); } catch {}
      await tools.mark({ text: 'c' });
      return await tools.note({ text: 'd' });`);
    expect(failureOf(outcome)).toMatchObject({ code: 'StoreError', retryable: false });
    expect(effects).toEqual(['mark: a']);
    const lines = await store.journal.read(outcome.scriptId);
    expect(kinds(lines)).toEqual(['started', 'intent', 'delivered']);
  });

  it('does not affect a script if it failed before anything was stored or done', async () => {
    const effects: Effects = [];
    const store = storeWith((append, count) => (count === 0 ? full : append));
    const outcome = await open({ effects, store }).runScript('return await tools.mark({ text: "a" })');
    expect(valueOf(outcome)).toBe('a');
    expect(effects).toEqual(['mark: a']);
    expect(kinds(await store.journal.read(outcome.scriptId))[0]).toBe('started');
  });

  it('resumes no script before its decisions are stored, and the script keeps waiting', async () => {
    const effects: Effects = [];
    let isFull = false;
    const store = storeWith((append) => (isFull ? full : append));
    const harness = open({ effects, store });
    const outcome = suspended(await harness.runScript('return await tools.note({ text: "a" })'));
    isFull = true;
    const refused = await harness.resume(outcome.suspension, decideAll(outcome, 'approve'));
    expect(failureOf(refused).code).toBe('StoreError');
    expect(effects).toEqual([]);
    isFull = false;
    expect((await listScripts(store)).map(({ state }) => state)).toEqual(['suspended']);
    expect(valueOf(await harness.resume(outcome.scriptId, decideAll(outcome, 'approve')))).toEqual({ noted: 'a' });
    expect(effects).toEqual(['script: a']);
  });
});
