import { createHarness, defineTool } from '@toolscript/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { refusingUnable } from '#cli/approvals/approvals.js';

/** The text that a script reads about its calls to `exec` and `writeFile`, and the tools that a user was asked about. */
async function run(sandbox: 'on' | 'off', problem: string | undefined) {
  const asked: string[] = [];
  const tool = (name: string) =>
    defineTool({ name, description: name, approval: 'always', input: z.object({}), execute: () => name });
  const ask = refusingUnable(
    ({ tool: name }) => {
      asked.push(name);
      return 'approve';
    },
    { sandbox },
    async () => problem,
  );
  const harness = createHarness({ tools: ['exec', 'writeFile'].map(tool), approvals: ask, typecheck: 'off' });
  try {
    const outcome = await harness.runScript(
      'const said = []; for (const name of ["exec", "writeFile"]) said.push(await tools[name]({}).catch((error) => `${error.name}: ${error.message}`)); return said',
    );
    return { said: outcome.status === 'completed' ? outcome.value : outcome, asked };
  } finally {
    await harness.close();
  }
}

it('a command that cannot run is refused with the reason, and nobody is asked', async () => {
  const { said, asked } = await run('on', 'The sandbox needs bubblewrap. Run: apt install bubblewrap.');
  expect(asked).toEqual(['writeFile']);
  expect(said).toEqual([
    expect.stringMatching(
      /^ApprovalDeniedError: .*cannot run here, so nobody was asked: The sandbox needs bubblewrap/u,
    ),
    'writeFile',
  ]);
});

it('a command that can run is asked about, with a sandbox that works or without one', async () => {
  for (const [sandbox, problem] of [
    ['on', undefined],
    ['off', 'no sandbox'],
  ] as const)
    expect(await run(sandbox, problem)).toEqual({ said: ['exec', 'writeFile'], asked: ['exec', 'writeFile'] });
});
