import { createScriptTool } from '@toolscript/core/ai-sdk';
import { generateText, stepCountIs, tool, type ModelMessage, type ToolApprovalResponse } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';

// The tools that the program has already.
const tools = {
  getWeather: tool({
    description: 'Current weather for a city',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ({ celsius: city.length * 3 }),
  }),
  bookFlight: tool({
    description: 'Books a flight',
    inputSchema: z.object({ to: z.string() }),
    needsApproval: true,
    execute: ({ to }) => `booked to ${to}`,
  }),
};

// One tool for the model, which gives it all of them.
const { tool: run_script, close } = await createScriptTool(tools);

const code = `
  const cities = ['Oslo', 'Lisbon', 'Reykjavik'];
  const weather = await Promise.all(cities.map((city) => tools.getWeather({ city })));
  const [warmest] = cities.map((city, index) => ({ city, ...(weather[index] as { celsius: number }) }))
    .sort((left, right) => right.celsius - left.celsius);
  return [warmest, await tools.bookFlight({ to: warmest.city })];
`;
const model = scripted([
  { type: 'tool-call', toolCallId: 'call_1', toolName: 'run_script', input: JSON.stringify({ code }) },
  { type: 'text', text: 'Reykjavik is the warmest of the three: your flight is booked.' },
]);

const messages: ModelMessage[] = [{ role: 'user', content: 'Fly me to the warmest of Oslo, Lisbon and Reykjavik.' }];
const ask = () => generateText({ model, messages, tools: { run_script }, stopWhen: stepCountIs(5) });

const asked = await ask();
messages.push(...asked.response.messages);
for (const part of asked.content) {
  if (part.type !== 'tool-approval-request') continue;
  console.log('the AI SDK asks for an approval of', part.toolCall.toolName);
  const { approvalId } = part;
  const response: ToolApprovalResponse = { type: 'tool-approval-response', approvalId, approved: true };
  messages.push({ role: 'tool', content: [response] });
}
const answered = await ask();
console.log(toolResult(answered.response.messages));
console.log('answer:', answered.text);
await close();

type Answer = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

/** The mock model of the AI SDK. */
function scripted(parts: Answer['content']): MockLanguageModelV3 {
  const usage = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
  };
  return new MockLanguageModelV3({
    doGenerate: parts.map((part) => ({
      content: [part],
      finishReason: { unified: part.type === 'text' ? 'stop' : 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    })),
  });
}

function toolResult(found: ModelMessage[]): string | undefined {
  for (const { role, content } of found) {
    if (role !== 'tool') continue;
    for (const part of content)
      if (part.type === 'tool-result' && part.output.type === 'text') return part.output.value;
  }
}
