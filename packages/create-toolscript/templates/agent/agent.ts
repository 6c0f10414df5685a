import { createHarness, defineTool } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { createProvider, scriptedModel } from '@toolscript/core/providers';
import { z } from 'zod';

const invoices = [
  { id: 1, customer: 'Ada', euros: 120, isPaid: false },
  { id: 2, customer: 'Grace', euros: 80, isPaid: true },
  { id: 3, customer: 'Ada', euros: 45, isPaid: false },
];

const listInvoices = defineTool({
  name: 'listInvoices',
  description: 'All invoices',
  input: z.object({}),
  output: z.array(z.object({ id: z.number(), customer: z.string(), euros: z.number(), isPaid: z.boolean() })),
  effect: 'read',
  approval: 'never',
  execute: () => invoices,
});

const sendReminder = defineTool({
  name: 'sendReminder',
  description: 'Reminds a customer of an amount',
  input: z.object({ customer: z.string(), euros: z.number() }),
  output: z.object({ sent: z.boolean() }),
  effect: 'external',
  execute: () => ({ sent: true }),
});

const harness = createHarness({
  tools: [listInvoices, sendReminder],
  // Ask the user here. `rendered` is the text to show.
  approvals: ({ rendered }) => {
    console.log(`  approved: ${rendered}`);
    return 'approve';
  },
});

const input = process.argv[2] ?? 'Remind everybody who owes us money, with one message each.';
for await (const { payload } of runAgent({ provider: model(), harness, agent: { slug: 'accountant' }, input })) {
  if (payload.type === 'tool_call_done') console.log(`  ${payload.operation.tool}: ${payload.operation.status}`);
  if (payload.type === 'item_done' && payload.final_item.type === 'message') console.log(payload.final_item.content);
  if (payload.type === 'response_error') console.error(payload.message);
}
await harness.close();

/** The model of the first key that is set. Without a key, a script in place of a model. */
function model() {
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY } = process.env;
  if (ANTHROPIC_API_KEY)
    return createProvider('anthropic-messages', { model: 'claude-sonnet-5-5', apiKey: ANTHROPIC_API_KEY });
  if (OPENAI_API_KEY) return createProvider('openai-responses', { model: 'gpt-6.2-sol', apiKey: OPENAI_API_KEY });
  console.log('No key is set, so a script answers in place of a model. Set ANTHROPIC_API_KEY or OPENAI_API_KEY.\n');
  const code = `const open = (await tools.listInvoices({})).filter(({ isPaid }) => !isPaid);
const owed = new Map<string, number>();
for (const { customer, euros } of open) owed.set(customer, (owed.get(customer) ?? 0) + euros);
for (const [customer, euros] of owed) await tools.sendReminder({ customer, euros });
return Object.fromEntries(owed);`;
  return scriptedModel({
    turns: [
      { parts: [{ type: 'script', code }] },
      { parts: [{ type: 'text', text: 'Ada owes 165 euros. I sent one reminder.' }] },
    ],
  });
}
