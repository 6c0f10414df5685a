import { expect, it } from 'vitest';
import { compareInstructions } from '#service/runs/thread-instructions.js';

const current = { agentId: 'a', model: 'm', nonce: '123456789', system: 'The tag is <tool-calls id="123456789">.' };

it('the nonce of a thread is stored with its instructions, and stays the same when they change', () => {
  const first = compareInstructions(undefined, current).toSave;
  expect(first).toMatchObject({ nonce: '123456789', system: current.system });
  expect(compareInstructions(first, current).toSave).toBeUndefined();
  const changed = compareInstructions(first, { ...current, system: 'other' });
  expect(changed).toMatchObject({ system: current.system, toSave: { nonce: '123456789' } });
});
