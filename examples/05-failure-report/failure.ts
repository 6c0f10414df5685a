import { createHarness, defineTool, ToolCallError } from '@toolscript/core';
import { z } from 'zod';

const accounts = new Map([
  ['ada', 120],
  ['alan', 15],
]);

const balance = defineTool({
  name: 'balance',
  description: 'The balance of an account',
  input: z.object({ account: z.string() }),
  output: z.object({ amount: z.number() }),
  approval: 'never',
  effect: 'read',
  async execute({ account }) {
    return { amount: accounts.get(account) ?? 0 };
  },
});

const transfer = defineTool({
  name: 'transfer',
  description: 'Moves an amount from one account to another',
  input: z.object({ from: z.string(), to: z.string(), amount: z.number().positive() }),
  output: z.object({ left: z.number() }),
  approval: 'never',
  effect: 'write',
  async execute({ from, to, amount }) {
    const available = accounts.get(from) ?? 0;
    if (available < amount) {
      throw new ToolCallError('ToolExecutionError', `${from} has ${available}, which is less than ${amount}.`, {
        available,
      });
    }
    accounts.set(from, available - amount);
    accounts.set(to, (accounts.get(to) ?? 0) + amount);
    return { left: available - amount };
  },
});

const harness = createHarness({ tools: [balance, transfer] });

// The second transfer fails, and the third is never reached.
const script = `const payments = [
  { from: 'ada', to: 'grace', amount: 50 },
  { from: 'alan', to: 'grace', amount: 50 },
  { from: 'ada', to: 'alan', amount: 10 },
];
await tools.balance({ account: 'ada' });
for (const payment of payments) {
  await tools.transfer(payment);
}
return await tools.balance({ account: 'grace' });
`;

const outcome = await harness.runScript(script);
if (outcome.status === 'failed') {
  const { code, message, phase, line, column, toolName, retryable, frame } = outcome.error;
  console.log({ code, message, phase, line, column, toolName, retryable });
  console.log(frame);
}
for (const { status, tool, input, line } of outcome.operations) {
  console.log(`${status}: ${tool} ${JSON.stringify(input)} (line ${line})`);
}

// The text that the model reads if the same happens in `asTool()`.
accounts.set('ada', 120);
console.log('\n--- the model reads ---');
console.log(await harness.asTool().execute({ code: script }));

await harness.close();
