import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createHarness, defineTool, type EventPayload, type OutputItem, type StreamEvent } from '@toolscript/core';
import { foldResponse } from '@toolscript/core/history';
import { z } from 'zod';

const countWords = defineTool({
  name: 'countWords',
  description: 'Counts the words of a text',
  input: z.object({ text: z.string() }),
  output: z.object({ words: z.number() }),
  effect: 'read',
  async execute({ text }) {
    // As slow as a service: both calls start before the first ends.
    await sleep(100);
    return { words: text.split(/\s+/u).filter(Boolean).length };
  },
});

const answer = `<think>Short texts; two calls at once will do.</think>I count both.

<tool-calls>
const texts = ['to be or not to be', 'so it goes'];
const counts = await Promise.all(texts.map((text) => tools.countWords({ text })));
text(\`\${counts[0].words} and \${counts[1].words} words\`);
return counts.map(({ words }) => words);
</tool-calls>

That was all.
`;

/** A model's answer as it arrives: a few characters at a time. */
async function* deltas(size = 7): AsyncGenerator<string> {
  for (let start = 0; start < answer.length; start += size) {
    yield answer.slice(start, start + size);
    await nextTurn();
  }
}

const harness = createHarness({ tools: [countWords] });

const events: StreamEvent[] = [];
let textDeltas = 0;
for await (const event of harness.processText(deltas())) {
  events.push(event);
  const { payload } = event;
  if (payload.type === 'item_delta') textDeltas += 1;
  else console.log(describe(payload));
}
console.log(textDeltas > 5 ? 'the text came in many small deltas' : 'the text came in few deltas');

// The same events, folded: what a page or a thread would show.
const response = foldResponse(events);
console.log('\nstatus:', response.status);
for (const item of response.output_items) console.log('item:', summary(item));

await harness.close();

function describe(payload: EventPayload): string {
  switch (payload.type) {
    case 'item_start':
      return `item_start ${payload.item_type}`;
    case 'item_done':
      return `item_done ${payload.final_item.type}`;
    case 'tool_call_start':
      return `tool_call_start ${payload.tool} ${JSON.stringify(payload.input)} (line ${payload.line})`;
    case 'tool_call_done':
      return `tool_call_done ${payload.operation.tool} ${payload.operation.status} ${JSON.stringify(payload.operation.result)}`;
    case 'response_done':
      return `response_done ${payload.status}`;
    default:
      return payload.type;
  }
}

function summary(item: OutputItem): string {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return `${item.type} ${JSON.stringify(item.content)}`;
    case 'script_execution':
      return `script_execution (${item.language}, ${item.format}) ${item.source_code.split('\n').length - 1} lines`;
    case 'script_execution_output':
      return `script_execution_output ${item.status} ${item.output_json} said ${JSON.stringify(item.output)}`;
    default:
      return item.type;
  }
}
