import { z } from 'zod';
import { calls, oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const NAMES = 'Ada Ben Cleo Dan Eva Finn Gia Hugo Ida Jan Kim Leo Mia Noa Ole Pia Rui Sia'.split(' ');
const USERS = NAMES.map((name, index) => ({
  id: `u${101 + index}`,
  name,
  email: `${name.toLowerCase()}@example.com`,
  phone: `+49 30 5550${100 + index * 7}`,
  office: ['Berlin', 'Lisbon', 'Oslo'][index % 3],
  manager: `u${101 + (index % 4)}`,
  startDate: `20${14 + (index % 10)}-0${1 + (index % 9)}-15`,
  role: ['engineer', 'designer', 'analyst', 'lead'][index % 4],
  remote: index % 2 === 0,
  leave: { entitled: 30, taken: (index * 11) % 29, carriedOver: index % 3 },
}));
const IDS = USERS.map(({ id }) => id);
const leftOf = ({ leave: { entitled, taken, carriedOver } }) => entitled + carriedOver - taken;
const MANY = USERS.filter((user) => leftOf(user) > 20).map((user) => ({ name: user.name, left: leftOf(user) }));

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'fan-out',
  title: `${USERS.length} profiles, those with a property`,
  role: 'You answer questions about the people of a company. Use the tools. Be brief.',
  ask: 'Who of the team "atlas" has more than 20 days of leave left, and how many?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'listMembers',
        description: 'Ids of the members of a team.',
        input: z.object({ team: z.string() }),
        output: z.array(z.string()),
        execute: () => IDS,
      },
      {
        name: 'getUser',
        description: 'The profile of a user. Days of leave left are entitled + carriedOver - taken.',
        input: z.object({ id: z.string() }),
        output: z.object({
          id: z.string(),
          name: z.string(),
          email: z.string(),
          phone: z.string(),
          office: z.string(),
          manager: z.string(),
          startDate: z.string(),
          role: z.string(),
          remote: z.boolean(),
          leave: z.object({ entitled: z.number(), taken: z.number(), carriedOver: z.number() }),
        }),
        execute: ({ id: wanted }) => USERS.find(({ id }) => id === wanted),
      },
    ],
  })),
  ways: {
    one: oneByOne([['listMembers', { team: 'atlas' }], ...IDS.map((id) => ['getUser', { id }])]),
    parallel: [calls(['listMembers', { team: 'atlas' }]), calls(...IDS.map((id) => ['getUser', { id }]))],
    scripts: [
      script(`
const ids = await tools.listMembers({ team: 'atlas' });
const users = await Promise.all(ids.map((id) => tools.getUser({ id })));
return users
  .map(({ name, leave }) => ({ name, left: leave.entitled + leave.carriedOver - leave.taken }))
  .filter(({ left }) => left > 20);`),
    ],
  },
  answer: `${MANY.map(({ name, left }) => `${name} (${left})`).join(', ')}.`,
  evidence: USERS.flatMap(({ name, leave }) => [`"name":"${name}"`, JSON.stringify(leave)]),
  value: MANY,
  why: 'Many calls of one kind: the script makes them all, and the model reads what it asked for instead of the profiles.',
};
