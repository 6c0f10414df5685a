import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  input: z.object({ left: z.number(), right: z.number() }),
  output: z.object({ sum: z.number() }),
  approval: 'never',
  execute: ({ left, right }) => ({ sum: left + right }),
});

async function main(): Promise<void> {
  const harness = createHarness({ tools: [add] });
  const outcome = await harness.runScript<number>('return (await tools.add({ left: 40, right: 2 })).sum;');
  const answer: number = outcome.value ?? 0;
  console.log(outcome.status, answer);
  await harness.close();
}

void main();
