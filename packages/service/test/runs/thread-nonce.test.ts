import { createHarness } from '@toolscript/core';
import { agentBeginning, defineAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { expect, it, onTestFinished } from 'vitest';
import { compareInstructions } from '#service/runs/thread-instructions.js';

it('the nonce of a thread is stored with its instructions, and stays the same when they change', () => {
  const nonce = '123456789';
  const harness = createHarness({ tools: [] });
  onTestFinished(() => harness.close());
  const current = (instructions: string) => {
    const agent = defineAgent({ slug: 'a', carrier: 'text', instructions });
    const beginning = agentBeginning(harness, scriptedModel({ turns: [] }), agent, { nonce });
    return { agentId: 'a', model: 'm', nonce, beginning };
  };
  const first = compareInstructions(undefined, current('Be brief.')).toSave;
  expect(first).toMatchObject({ nonce });
  expect(first?.system).toContain(nonce);
  expect(compareInstructions(first, current('Be brief.')).toSave).toBeUndefined();
  const changed = compareInstructions(first, current('Be long.'));
  expect(changed).toMatchObject({ system: first?.system, toSave: { nonce } });
});
