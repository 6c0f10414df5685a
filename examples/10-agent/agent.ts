import { createHarness, defineTool, type OutputItem, type StreamEvent } from '@toolscript/core';
import { extendHistory, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { z } from 'zod';

const prices: Record<string, number> = { tea: 3.2, coffee: 4.5, cocoa: 3.9 };

const listGoods = defineTool({
  name: 'listGoods',
  description: 'Names of what is sold',
  input: z.object({}),
  output: z.array(z.string()),
  effect: 'read',
  approval: 'never',
  execute: () => Object.keys(prices),
});

const getPrice = defineTool({
  name: 'getPrice',
  description: 'The price of one thing',
  input: z.object({ name: z.string() }),
  output: z.object({ euros: z.number() }),
  effect: 'read',
  approval: 'never',
  execute: ({ name }) => ({ euros: prices[name] ?? 0 }),
});

const harness = createHarness({ tools: [listGoods, getPrice] });

// In place of a model. With a real one: createProvider('anthropic-messages', { model, apiKey }).
const provider = scriptedModel({
  turns: [
    {
      parts: [
        { type: 'text', text: 'I compare the prices.' },
        {
          type: 'script',
          code: `const names = await tools.listGoods({});
const priced = await Promise.all(names.map(async (name) => ({ name, ...(await tools.getPrice({ name })) })));
return priced.toSorted((a, b) => a.euros - b.euros)[0];`,
        },
      ],
    },
    { parts: [{ type: 'text', text: 'Tea is the cheapest, at 3.20 euros.' }] },
    { parts: [{ type: 'text', text: 'Then two cost 6.40 euros.' }] },
  ],
});

let history: readonly OutputItem[] = [];

async function say(input: string): Promise<void> {
  console.log(`> ${input}`);
  const events: StreamEvent[] = [];
  for await (const event of runAgent({ provider, harness, agent: { slug: 'shop' }, input, history })) {
    events.push(event);
    const { payload } = event;
    if (payload.type === 'tool_call_done') console.log(`  ${payload.operation.tool} ${payload.operation.status}`);
    if (payload.type === 'item_done' && payload.final_item.type === 'message') console.log(payload.final_item.content);
  }
  history = extendHistory(history, events);
}

await say('What is the cheapest thing?');
await say('And two of it?');
console.log(history.map(({ type }) => type).join(', '));
await harness.close();
