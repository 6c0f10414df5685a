import { z } from 'zod';
import { calls, oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const REVENUE = { north: 41_250, south: 38_900, east: 52_175, west: 29_640, centre: 61_005, islands: 8_430 };
const REGIONS = Object.keys(REVENUE);
/** The number of busy answers of each region before its result. */
const BUSY = { east: 1, west: 2 };
const TOTAL = Object.values(REVENUE).reduce((sum, one) => sum + one, 0);
const report = (region) => ['getReport', { region, quarter: '2025-Q3' }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'retry',
  title: 'six reports from a service that is sometimes busy',
  role: 'You answer questions about the sales of a company. Use the tools. Be brief.',
  ask: `What was the revenue of 2025-Q3 over all regions (${REGIONS.join(', ')})?`,
  open: serviceWorld(() => {
    const asked = {};
    return {
      tools: [
        {
          name: 'getReport',
          description: 'The sales of a region in a quarter. Throws "busy" at times; the next try may work.',
          input: z.object({ region: z.string(), quarter: z.string() }),
          output: z.object({ region: z.string(), quarter: z.string(), revenue: z.number(), orders: z.number() }),
          execute: ({ region, quarter }) => {
            asked[region] = (asked[region] ?? 0) + 1;
            if (asked[region] <= (BUSY[region] ?? 0)) throw new Error('busy');
            return { region, quarter, revenue: REVENUE[region], orders: Math.round(REVENUE[region] / 87) };
          },
        },
      ],
    };
  }),
  ways: {
    one: oneByOne(REGIONS.flatMap((region) => Array.from({ length: 1 + (BUSY[region] ?? 0) }, () => report(region)))),
    parallel: [calls(...REGIONS.map(report)), calls(report('east'), report('west')), calls(report('west'))],
    scripts: [
      script(`
async function revenueOf(region: string) {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await tools.getReport({ region, quarter: '2025-Q3' })).revenue;
    } catch (error) {
      if (attempt === 5) throw error;
      await sleep(50);
    }
  }
}
const revenues = await Promise.all(['${REGIONS.join("', '")}'].map(revenueOf));
return revenues.reduce((sum, revenue) => sum + revenue, 0);`),
    ],
  },
  answer: `It was ${TOTAL}.`,
  evidence: Object.values(REVENUE).map((revenue) => `"revenue":${revenue}`),
  value: TOTAL,
  why: 'A failed call costs a turn; in a script it costs an attempt of a loop. The results themselves are small.',
};
