import { z } from 'zod';
import { calls, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const OSLO = { city: 'Oslo', celsius: -4, sky: 'snow', windKmh: 11 };
const place = z.object({ city: z.string() });
const ask = [['getWeather', { city: 'Oslo' }]];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'single-lookup',
  title: 'one lookup',
  role: 'You answer questions about the weather. Use the tools. Be brief.',
  ask: 'How cold is it in Oslo?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'getWeather',
        description: 'The weather of a city now.',
        input: place,
        output: z.object({ city: z.string(), celsius: z.number(), sky: z.string(), windKmh: z.number() }),
        execute: () => OSLO,
      },
      {
        name: 'getForecast',
        description: 'The weather of a city in the days to come.',
        input: place.extend({ days: z.number().int().min(1).max(10) }),
        output: z.array(z.object({ date: z.string(), minCelsius: z.number(), maxCelsius: z.number() })),
        execute: () => [],
      },
    ],
  })),
  ways: {
    one: [calls(...ask)],
    parallel: [calls(...ask)],
    scripts: [script(`return await tools.getWeather({ city: 'Oslo' });`)],
  },
  answer: 'It is -4 °C in Oslo, with snow.',
  evidence: ['"celsius":-4'],
  value: OSLO,
  why: 'One call with a small result: there is nothing to loop over, to filter or to join, and the rules for scripts are read in vain.',
};
