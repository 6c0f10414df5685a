// What the programs of this folder share: a harness as one tool, a question, and what their scripted models say.
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';

const getWeather = defineTool({
  name: 'getWeather',
  description: 'Current weather for a city',
  input: z.object({ city: z.string() }),
  output: z.object({ celsius: z.number() }),
  effect: 'read',
  execute: ({ city }) => ({ celsius: city.length * 3 }),
});

export const harness = createHarness({ tools: [getWeather] });
export const runScript = harness.asTool();

export const QUESTION = 'Which of Oslo, Lisbon and Reykjavik is the warmest?';
export const ANSWER = 'Reykjavik is the warmest of the three.';
export const CODE = `
  const cities = ['Oslo', 'Lisbon', 'Reykjavik'];
  const weather = await Promise.all(cities.map((city) => tools.getWeather({ city })));
  return Object.fromEntries(cities.map((city, index) => [city, weather[index].celsius]));
`;
