import { expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { StaleEpochError, type HarnessStore } from '#core/protocol/index.js';
import { open, tools, type Effects } from './world.js';

const TWO_CALLS = `await Promise.all([tools.mark({ text: 'a' }), tools.mark({ text: 'b' })]);`;

/** Runs a script whose run another process claims as soon as the script is stored. */
async function runLost(store: HarnessStore) {
  const effects: Effects = [];
  const stored: (readonly string[])[] = [];
  const confirmHeld = async () => {
    stored.push((await store.journal.list({})).scripts.map(({ scriptId }) => scriptId));
    await new Promise((resolve) => setImmediate(resolve));
    throw new StaleEpochError('another process has claimed the run');
  };
  const outcome = await open({ store, tools: tools(effects) }).runScript(TWO_CALLS, { confirmHeld });
  return { effects, stored, outcome };
}

it('a script that is stored after another process has claimed its run has no effect', async () => {
  const { effects, stored, outcome } = await runLost(memoryStore());
  expect(effects).toEqual([]);
  expect(stored).toEqual([[outcome.scriptId]]);
});

it('a store that has the runs, and so refuses the first append itself, needs no confirmation', async () => {
  const { effects, stored } = await runLost({ ...memoryStore(), hasRuns: true });
  expect(effects).toHaveLength(2);
  expect(stored).toEqual([]);
});
