import { z } from 'zod';
import { calls, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const ORDERS = Array.from({ length: 180 }, (_, index) => ({
  id: `A-${5_000 + index}`,
  customer: `C-${100 + ((index * 37) % 83)}`,
  placedAt: `2025-0${7 + (index % 3)}-${String(1 + ((index * 5) % 28)).padStart(2, '0')}`,
  total: 40 + ((index * 271) % 1_160),
  currency: 'EUR',
  paid: (index * 13) % 9 !== 0,
  daysOverdue: (index * 13) % 9 === 0 ? (index * 7) % 60 : 0,
  channel: ['web', 'shop', 'phone'][index % 3],
}));
const LATE = ORDERS.filter(({ paid, total, daysOverdue }) => !paid && total > 500 && daysOverdue > 30);
const FOUND = LATE.map(({ id, total, daysOverdue }) => ({ id, total, daysOverdue }));
const range = { from: '2025-07-01', to: '2025-09-30' };

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'filter-result',
  title: `${ORDERS.length} orders in one result, a few of them wanted`,
  role: 'You answer questions about the orders of a shop. Use the tools. Be brief.',
  ask: 'Which orders of July to September 2025 above 500 EUR are unpaid and more than 30 days overdue?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'searchOrders',
        description: 'Orders that were placed between two days.',
        input: z.object({ from: z.string(), to: z.string() }),
        output: z.array(
          z.object({
            id: z.string(),
            customer: z.string(),
            placedAt: z.string(),
            total: z.number(),
            currency: z.string(),
            paid: z.boolean(),
            daysOverdue: z.number(),
            channel: z.string(),
          }),
        ),
        execute: () => ORDERS,
      },
    ],
  })),
  ways: {
    one: [calls(['searchOrders', range])],
    parallel: [calls(['searchOrders', range])],
    scripts: [
      script(`
const orders = await tools.searchOrders({ from: '2025-07-01', to: '2025-09-30' });
return orders
  .filter(({ paid, total, daysOverdue }) => !paid && total > 500 && daysOverdue > 30)
  .map(({ id, total, daysOverdue }) => ({ id, total, daysOverdue }));`),
    ],
  },
  answer: `${LATE.map(({ id }) => id).join(', ')}.`,
  evidence: ORDERS.map(({ id }) => `"id":"${id}"`),
  value: FOUND,
  why: 'As many turns in each way; the script keeps the orders to itself and shows the few that were asked for.',
};
