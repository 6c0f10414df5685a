import { expect, it } from 'vitest';
import { decideAll, open, suspended, valueOf } from './world.js';

it('a script that has made more calls than the resuming harness allows is replayed, and may end', async () => {
  const source = 'for (let turn = 0; turn < 5; turn++) await sleep(0); return await tools.note({ text: "a" })';
  const outcome = suspended(await open().runScript(source));
  const lower = open({ limits: { maxBuiltinCalls: 2 } });
  expect(valueOf(await lower.resume(outcome.suspension, decideAll(outcome, 'approve')))).toEqual({ noted: 'a' });
});
