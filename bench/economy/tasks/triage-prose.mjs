import { z } from 'zod';
import { calls, oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const TICKETS = [
  [
    'T-31',
    'Charged twice',
    'billing',
    'My card shows your name two times for the same order, a minute apart. I pressed the button once. Please put one of them back.',
  ],
  [
    'T-32',
    'Still nothing',
    'shipping',
    'Your page has said "on its way" for eleven days now. My neighbour ordered after me and is already using hers.',
  ],
  [
    'T-33',
    'It forgets me',
    'technical',
    'Every morning I have to type my password again although the box is ticked. It began with the new version. My phone is the same as before.',
  ],
  [
    'T-34',
    'Wrong door',
    'shipping',
    'The driver left it at number 14. We are at 41. The people at 14 are away until Sunday, says their letter box.',
  ],
  [
    'T-35',
    'VAT number',
    'billing',
    'The paper you sent has no VAT number on it, and without one my accountant will not accept it. Can you make it again?',
  ],
  [
    'T-36',
    'White page',
    'technical',
    'When I open the report of last month there is only a white page. Other months are fine. I tried two browsers.',
  ],
  [
    'T-37',
    'Price',
    'billing',
    'I was promised the old price until the end of the year, by your colleague, on the telephone. Now I read another sum.',
  ],
  [
    'T-38',
    'Broken lid',
    'shipping',
    'The machine itself seems fine, but the lid came in three pieces, and the box looked as if somebody had sat on it.',
  ],
];
const ASSIGNMENTS = Object.fromEntries(TICKETS.map(([id, , team]) => [id, team]));

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'triage-prose',
  title: 'eight letters of customers, each given to a team',
  role: 'You sort the letters of customers. The teams are billing, shipping and technical. Use the tools. Be brief.',
  ask: 'Assign every new ticket to the right team.',
  open: serviceWorld(() => {
    const state = {};
    return {
      state,
      tools: [
        {
          name: 'listTickets',
          description: 'The tickets of a status.',
          input: z.object({ status: z.enum(['new', 'open', 'closed']) }),
          output: z.array(z.object({ id: z.string(), subject: z.string() })),
          execute: () => TICKETS.map(([id, subject]) => ({ id, subject })),
        },
        {
          name: 'getTicket',
          description: 'A ticket with its text.',
          input: z.object({ id: z.string() }),
          output: z.object({ id: z.string(), subject: z.string(), text: z.string() }),
          execute: ({ id: wanted }) => {
            const [id, subject, , text] = TICKETS.find(([id]) => id === wanted);
            return { id, subject, text };
          },
        },
        {
          name: 'assignTicket',
          description: 'Gives a ticket to a team.',
          input: z.object({ id: z.string(), team: z.enum(['billing', 'shipping', 'technical']) }),
          output: z.object({ ok: z.boolean() }),
          effect: 'write',
          execute: ({ id, team }) => {
            state[id] = team;
            return { ok: true };
          },
        },
      ],
    };
  }),
  ways: {
    one: oneByOne([
      ['listTickets', { status: 'new' }],
      ...TICKETS.map(([id]) => ['getTicket', { id }]),
      ...TICKETS.map(([id, , team]) => ['assignTicket', { id, team }]),
    ]),
    parallel: [
      calls(['listTickets', { status: 'new' }]),
      calls(...TICKETS.map(([id]) => ['getTicket', { id }])),
      calls(...TICKETS.map(([id, , team]) => ['assignTicket', { id, team }])),
    ],
    scripts: [
      script(`
const tickets = await tools.listTickets({ status: 'new' });
return await Promise.all(tickets.map(({ id }) => tools.getTicket({ id })));`),
      script(`
const teams = {
  billing: ['T-31', 'T-35', 'T-37'],
  shipping: ['T-32', 'T-34', 'T-38'],
  technical: ['T-33', 'T-36'],
} as const;
let assigned = 0;
for (const team of ['billing', 'shipping', 'technical'] as const)
  for (const id of teams[team]) {
    await tools.assignTicket({ id, team });
    assigned++;
  }
return assigned;`),
    ],
  },
  answer: 'All 8 tickets are assigned: 3 to billing, 3 to shipping, 2 to technical.',
  evidence: TICKETS.map(([, , , text]) => JSON.stringify(text).slice(1, -1)),
  value: 8,
  state: ASSIGNMENTS,
  why: 'The model must read every letter in each way; a script saves turns only around its judgement.',
};
