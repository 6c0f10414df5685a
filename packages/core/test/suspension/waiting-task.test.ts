import { expect, it } from 'vitest';
import { decideAll, open, suspended, valueOf } from './world.js';

it('a detached task that waits for a decision is a task in the process that resumes its script', async () => {
  const options = { expose: { spawn: true } };
  const source = `const { id, done } = tools.spawn.exec("note", { text: "a" });
    const noted = await done; const { tool, status, result } = await tools.spawn.read(id);
    return [noted, tool, status, result]`;
  const outcome = suspended(await open(options).runScript(source));
  const done = await open(options).resume(outcome.suspension, decideAll(outcome, 'approve'));
  expect(valueOf(done)).toEqual([{ noted: 'a' }, 'note', 'completed', { noted: 'a' }]);
});
