import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const temperatures = { Oslo: 4, Lisbon: 19, Nairobi: 24 };

const getWeather = defineTool({
  name: 'getWeather',
  description: 'Current weather for a city',
  input: z.object({ city: z.enum(['Oslo', 'Lisbon', 'Nairobi']) }),
  output: z.object({ celsius: z.number() }),
  effect: 'read',
  async execute({ city }) {
    return { celsius: temperatures[city] };
  },
});

const harness = createHarness({ tools: [getWeather] });

// A script as a model would write it.
const script = `
  const cities = ['Oslo', 'Lisbon', 'Nairobi'];
  const weather = await Promise.all(cities.map((city) => tools.getWeather({ city })));
  const warm = cities.filter((_, index) => weather[index].celsius > 15);
  console.log(\`\${cities.length} cities asked\`);
  return { warm };
`;
const outcome = await harness.runScript(script);

if (outcome.status === 'completed') console.log('value:', outcome.value);
for (const { level, text } of outcome.logs) console.log('log:', level, text);
for (const { tool, input, status, result, line } of outcome.operations) {
  console.log('operation:', status, tool, input, '->', result, `(line ${line})`);
}

// The structured path: the same tools, approvals and limits, without a script.
const operation = await harness.callTool('getWeather', { city: 'Oslo' });
console.log('call:', operation.status, operation.result);

// Arguments that do not fit never reach the tool.
const refused = await harness.callTool('getWeather', { city: 'Atlantis' });
console.log('call:', refused.status, refused.error);

await harness.close();
