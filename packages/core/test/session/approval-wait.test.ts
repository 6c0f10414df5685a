import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { open, valueOf } from '../suspension/world.js';

it('the time in which a script waits only for a decision is not its own', async () => {
  const harness = open({
    approvals: async () => {
      // The script waits before the user begins to think.
      await setImmediate();
      await setTimeout(20);
      return 'approve' as const;
    },
  });
  const outcome = await harness.runScript('return await tools.note({ text: "a" })');
  expect(valueOf(outcome)).toEqual({ noted: 'a' });
  expect(outcome.metadata.approvalWaitMs).toBeGreaterThan(0);
  expect((await harness.runScript('return 1')).metadata.approvalWaitMs).toBe(0);
});
