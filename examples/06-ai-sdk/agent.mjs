// @ts-check
import { createHarness, defineTool } from '@toolscript/core';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';

const getWeather = defineTool({
  name: 'getWeather',
  description: 'Current weather for a city',
  input: z.object({ city: z.string() }),
  output: z.object({ celsius: z.number() }),
  effect: 'read',
  async execute({ city }) {
    return { celsius: city.length * 3 };
  },
});

const harness = createHarness({ tools: [getWeather] });

const code = `
  const cities = ['Oslo', 'Lisbon', 'Reykjavik'];
  const weather = await Promise.all(cities.map((city) => tools.getWeather({ city })));
  return Object.fromEntries(cities.map((city, index) => [city, weather[index].celsius]));
`;

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  doGenerate: [
    {
      content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'run_script', input: JSON.stringify({ code }) }],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'Reykjavik is the warmest of the three.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
});

// One tool for the model, which gives it every tool of the harness.
const { name, ...runScript } = harness.asTool();
const result = await generateText({
  model,
  prompt: 'Which of Oslo, Lisbon and Reykjavik is the warmest?',
  tools: { [name]: runScript },
  stopWhen: stepCountIs(5),
});

console.log(
  'tools the model was shown:',
  model.doGenerateCalls[0]?.tools?.map((tool) => tool.name),
);
for (const step of result.steps) {
  for (const { toolName, output } of step.toolResults) console.log(`${toolName}:\n${output}`);
}
console.log('answer:', result.text);

await harness.close();
