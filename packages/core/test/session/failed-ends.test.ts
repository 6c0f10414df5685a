import { expect, it } from 'vitest';
import { defineTool, memoryStore } from '#core/index.js';
import { StaleEpochError } from '#core/protocol/index.js';
import { open, tools, valueOf } from '../suspension/world.js';

it.each([
  ['is reported to the host', new Error('the disk is full'), [expect.stringContaining('the disk is full') as string]],
  ['is no fault if another process has claimed the script', new StaleEpochError('it was claimed'), []],
])('the end of a call that cannot be stored while its script ends %s', async (_what, error, expected) => {
  const store = memoryStore();
  const append = store.journal.append.bind(store.journal);
  store.journal.append = (scriptId, epoch, lines, options) => {
    if (lines.some((line) => line.includes('"t":"finished"'))) throw error;
    return append(scriptId, epoch, lines, options);
  };
  const untilStopped = defineTool({
    name: 'untilStopped',
    description: 'Writes until it is stopped',
    effect: 'write',
    approval: 'never',
    execute: (_input, { signal }) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  });
  const faults: string[] = [];
  const onInternalError = (detail: string) => void faults.push(detail);
  const harness = open({ store, tools: [...tools(), untilStopped], onInternalError });
  const outcome = await harness.runScript('void tools.untilStopped(); await tools.mark({ text: "a" }); return 1');
  expect(valueOf(outcome)).toBe(1);
  expect(faults).toEqual(expected);
});
