import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const imported = performance.now();
const echo = defineTool({
  name: 'echo',
  description: 'Gives back what it was given.',
  input: z.object({ i: z.number() }),
  approval: 'never',
  effect: 'read',
  execute: (input) => input,
});
const harness = createHarness({ tools: [echo] });
const { value } = await harness.runScript('return (await tools.echo({ i: 41 })).i + 1');
const outcomeMs = performance.now() - imported;
await harness.close();
console.log(JSON.stringify({ value, outcomeMs, importedMs: imported }));
