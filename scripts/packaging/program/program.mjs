// The program that every bundler packs: it runs one script that calls a tool, and one that only a type checker rejects.
import { z } from 'zod';
import { createHarness, defineTool } from '@toolscript/core';

export async function runBoth() {
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers',
    input: z.object({ left: z.number(), right: z.number() }),
    output: z.object({ sum: z.number() }),
    approval: 'never',
    effect: 'read',
    execute: ({ left, right }) => ({ sum: left + right }),
  });
  const harness = createHarness({ tools: [add] });
  try {
    const ran = await harness.runScript('return (await tools.add({ left: 40, right: 2 })).sum;');
    const rejected = await harness.runScript(`return (await tools.add({ left: 40, right: 2 })).summ;`);
    const { typecheck } = harness.stats();
    return `${ran.status} ${ran.value ?? ran.error?.message} ${rejected.error?.code ?? rejected.status} ${typecheck.state}`;
  } finally {
    await harness.close();
  }
}
