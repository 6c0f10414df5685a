import { z } from 'zod';
import { calls, oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const COUNTRIES = ['DE', 'FR', 'NL', 'PT', 'SE'];
const CUSTOMERS = Array.from({ length: 40 }, (_, index) => ({
  id: `C-${200 + index}`,
  name: `${['Acorn', 'Birch', 'Cedar', 'Dogwood', 'Elm'][(index * 3) % 5]} ${['Trading', 'Works', 'Foods', 'Studio'][index % 4]} ${index + 1}`,
  country: COUNTRIES[(index * 7) % 5],
  since: 2009 + (index % 15),
}));
const INVOICES = Array.from({ length: 90 }, (_, index) => ({
  number: 70_100 + index,
  customerId: `C-${200 + ((index * 23) % 40)}`,
  amount: 120 + ((index * 97) % 880),
  dueAt: `2025-10-${String(1 + (index % 30)).padStart(2, '0')}`,
}));
const SUMS = sumByCountry();
const steps = [
  ['listCustomers', {}],
  ['listInvoices', { month: '2025-09' }],
];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'join-sources',
  title: `${INVOICES.length} invoices joined with ${CUSTOMERS.length} customers, summed by country`,
  role: 'You answer questions about the invoices of a company. Use the tools. Be brief.',
  ask: 'What did we invoice in September 2025, by country of the customer?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'listCustomers',
        description: 'All customers.',
        input: z.object({}),
        output: z.array(z.object({ id: z.string(), name: z.string(), country: z.string(), since: z.number() })),
        execute: () => CUSTOMERS,
      },
      {
        name: 'listInvoices',
        description: 'The invoices of a month.',
        input: z.object({ month: z.string() }),
        output: z.array(
          z.object({ number: z.number(), customerId: z.string(), amount: z.number(), dueAt: z.string() }),
        ),
        execute: () => INVOICES,
      },
    ],
  })),
  ways: {
    one: oneByOne(steps),
    parallel: [calls(...steps)],
    scripts: [
      script(`
const [customers, invoices] = await Promise.all([
  tools.listCustomers({}),
  tools.listInvoices({ month: '2025-09' }),
]);
const countryOf = new Map(customers.map(({ id, country }) => [id, country]));
const sums: Record<string, number> = {};
for (const { customerId, amount } of invoices) {
  const country = countryOf.get(customerId) ?? 'unknown';
  sums[country] = (sums[country] ?? 0) + amount;
}
return sums;`),
    ],
  },
  answer: `${Object.entries(SUMS)
    .map(([country, sum]) => `${country}: ${sum}`)
    .join(', ')}.`,
  evidence: [...CUSTOMERS.map(({ id }) => `"id":"${id}"`), ...INVOICES.map(({ number }) => `"number":${number}`)],
  value: SUMS,
  why: 'Two tables meet in the script; beside it they meet in the conversation, and are summed up there without a calculator.',
};

function sumByCountry() {
  const sums = {};
  for (const { customerId, amount } of INVOICES) {
    const { country } = CUSTOMERS.find(({ id }) => id === customerId);
    sums[country] = (sums[country] ?? 0) + amount;
  }
  return sums;
}
