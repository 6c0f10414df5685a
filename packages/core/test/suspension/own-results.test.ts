import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import type { HarnessStore } from '#core/protocol/index.js';
import { decideAll, keepCopy, open, suspended, valueOf } from './world.js';

/** A script that changes a result, waits for a decision, and then changes the result and a new one. */
const SOURCE = `
  const notes = await Promise.all([tools.note({ text: 'b' }), tools.note({ text: 'a' })]);
  notes[0].seen = 1;
  const third = await tools.note({ text: 'c' });
  notes.push(third);
  third.last = true;
  notes[0].seen++;
  notes.sort((left, right) => left.noted < right.noted ? -1 : 1);
  return notes;`;
const VALUE = [{ noted: 'a' }, { noted: 'b', seen: 2 }, { noted: 'c', last: true }];

const RESULTS = [{ noted: 'b' }, { noted: 'a' }, { noted: 'c' }];

describe('the results of a script that was suspended', () => {
  it('keep the script’s changes, and can be changed further', async () => {
    const first = suspended(await open().runScript(SOURCE));
    const second = suspended(await open().resume(first.suspension, decideAll(first, 'approve')));
    const done = await open().resume(second.suspension, decideAll(second, 'approve'));
    expect(valueOf(done)).toEqual(VALUE);
    expect(done.operations.map(({ result }) => result)).toEqual(RESULTS);
  });

  it('come unchanged from its journal in a replay', async () => {
    const store = memoryStore();
    const first = suspended(await open({ store }).runScript(SOURCE));
    const second = suspended(await open({ store }).resume(first.suspension, decideAll(first, 'approve')));
    const { scriptId } = second;
    const copy = await withoutImages(store, scriptId);
    const done = await open({ store: copy }).resume(second.suspension, decideAll(second, 'approve'));
    expect(valueOf(done)).toEqual(VALUE);
    expect(done.operations.map(({ result }) => result)).toEqual(RESULTS);
    const [, ...written] = (await store.journal.read(scriptId))!.lines;
    expect(written.join('\n')).toContain('noted');
    expect(written.join('\n')).not.toContain('seen');
  });
});

/** The store with only the journal, so that the harness cannot restore memory from it. */
async function withoutImages(store: HarnessStore, scriptId: string): Promise<HarnessStore> {
  const content = (await store.journal.read(scriptId))!;
  return keepCopy(memoryStore(), scriptId, content, (await store.claim.current(scriptId))?.epoch ?? 1);
}
