import { expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { decideAll, failureOf, HOLDER, open, sealed, suspended, valueOf, type Effects } from './world.js';

it('a suspension of a harness without a store is resumed once by a harness with one', async () => {
  const effects: Effects = [];
  const outcome = suspended(await open().runScript('return await tools.note({ text: "a" })'));
  const harness = open({ store: memoryStore(), effects });
  const decisions = decideAll(outcome, 'approve');
  expect(valueOf(await harness.resume(outcome.suspension, decisions))).toEqual({ noted: 'a' });
  expect(failureOf(await harness.resume(outcome.suspension, decisions)).message).toContain('already resumed');
  expect(effects).toEqual(['script: a']);
});

it('a script that was resumed and has not gone on yet waits for nobody in the eyes of others', async () => {
  const store = memoryStore();
  const { scriptId, pendingApprovals } = suspended(
    await open({ store }).runScript('return await tools.note({ text: "a" })'),
  );
  const looking = open({ store });
  expect(await looking.inspect(scriptId)).toMatchObject({ state: 'suspended', pendingApprovals });
  const lines = [JSON.stringify({ t: 'resumed', atMs: 0, decisions: {} })];
  await sealed(store).claim.take(scriptId, 1, { ...HOLDER, lines });
  const details = await looking.inspect(scriptId);
  expect(details).toMatchObject({ state: 'running', pendingApprovals: [], approvals: [] });
  expect(details?.suspension).toBeUndefined();
  expect(details?.operations).toMatchObject([{ tool: 'note' }]);
});

it('a decision about an approval that is not pending is refused with the ids of the pending ones', async () => {
  const harness = open();
  const outcome = suspended(await harness.runScript('return await tools.note({ text: "a" })'));
  const [pending] = outcome.pendingApprovals;
  await expect(harness.resume(outcome.suspension, { other: 'approve' })).rejects.toThrow(pending!.approvalId);
});
