import { defineTool } from '#core/index.js';
import { z } from 'zod';

const Contact = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  phone: z.string().optional(),
  company: z.object({ name: z.string(), employees: z.number().optional() }).nullable(),
  tags: z.array(z.string()),
  score: z.number(),
});

type Contact = z.infer<typeof Contact>;

const Role = z.enum(['admin', 'member', 'guest']);

const User = z.object({
  id: z.number(),
  name: z.string(),
  email: z.string(),
  role: Role,
  active: z.boolean(),
  manager: z.object({ id: z.number(), name: z.string() }).nullable(),
  settings: z.object({ theme: z.string().optional(), locale: z.string().optional() }).optional(),
  lastLogin: z.string().nullable(),
});

const USERS: z.infer<typeof User>[] = [
  {
    id: 1,
    name: 'Ada Park',
    email: 'ada@acme.example',
    role: 'admin',
    active: true,
    manager: null,
    settings: { theme: 'dark', locale: 'en-GB' },
    lastLogin: '2024-05-01T08:00:00.000Z',
  },
  {
    id: 2,
    name: 'Bob Li',
    email: 'bob@acme.example',
    role: 'member',
    active: true,
    manager: { id: 1, name: 'Ada Park' },
    settings: {},
    lastLogin: '2024-04-20T12:30:00.000Z',
  },
  {
    id: 3,
    name: 'Cyd Noor',
    email: 'cyd@partner.example',
    role: 'guest',
    active: false,
    manager: { id: 2, name: 'Bob Li' },
    lastLogin: null,
  },
  {
    id: 4,
    name: 'Dee Ray',
    email: 'dee@acme.example',
    role: 'member',
    active: true,
    manager: { id: 1, name: 'Ada Park' },
    lastLogin: '2023-12-31T23:59:00.000Z',
  },
];

const DEALS = [
  { id: 'd1', contactId: 'c1', amount: 12_000, currency: 'EUR', stage: 'won', closeDate: '2024-03-10' },
  { id: 'd2', contactId: 'c2', amount: 4_500.5, currency: 'USD', stage: 'open', closeDate: null },
  { id: 'd3', contactId: 'c1', amount: 800, currency: 'EUR', stage: 'lost', closeDate: '2024-02-01' },
  { id: 'd4', contactId: 'c5', amount: 20_000, currency: 'USD', stage: 'open', closeDate: null },
] as const;

function contacts(): Contact[] {
  return [
    {
      id: 'c1',
      name: 'Eve Stone',
      email: 'eve@north.example',
      phone: '+1 555 0100',
      company: { name: 'North', employees: 120 },
      tags: ['vip', 'eu'],
      score: 88,
    },
    { id: 'c2', name: 'Finn Gray', email: null, company: { name: 'South' }, tags: [], score: 41 },
    { id: 'c3', name: 'Gia Roe', email: 'gia@east.example', company: null, tags: ['eu'], score: 67 },
    {
      id: 'c4',
      name: 'Hal Moss',
      email: 'HAL@NORTH.example',
      phone: '555-0199',
      company: { name: 'North', employees: 120 },
      tags: ['trial'],
      score: 12,
    },
    {
      id: 'c5',
      name: 'Ivy Chen',
      email: 'ivy@west.example',
      company: { name: 'West', employees: 9 },
      tags: ['vip'],
      score: 95,
    },
  ];
}

/** Contacts and deals, and the users of the company. */
export function crmTools() {
  const people = contacts();
  const find = (id: string): Contact => {
    const found = people.find((contact) => contact.id === id);
    if (found === undefined) throw new Error(`no contact ${id}`);
    return found;
  };
  return [
    defineTool({
      name: 'crm.contacts.list',
      description: 'Contacts, in pages. The last page has no nextCursor.',
      effect: 'read',
      approval: 'never',
      input: z.object({ cursor: z.string().optional(), limit: z.number().int().min(1).default(2) }),
      output: z.object({ items: z.array(Contact), nextCursor: z.string().optional() }),
      execute: ({ cursor = '0', limit }) => {
        const end = Number(cursor) + limit;
        const items = people.slice(Number(cursor), end);
        return end < people.length ? { items, nextCursor: String(end) } : { items };
      },
    }),
    defineTool({
      name: 'crm.contacts.get',
      description: 'One contact.',
      effect: 'read',
      approval: 'never',
      input: z.object({ id: z.string() }),
      output: Contact,
      execute: ({ id }) => find(id),
    }),
    defineTool({
      name: 'crm.contacts.update',
      description: 'Changes a contact.',
      effect: 'write',
      approval: 'never',
      input: z.object({
        id: z.string(),
        changes: z.object({
          name: z.string().optional(),
          email: z.string().nullable().optional(),
          tags: z.array(z.string()).optional(),
          score: z.number().optional(),
        }),
      }),
      output: z.object({ updated: z.boolean(), contact: Contact }),
      execute: ({ id, changes }) => ({
        updated: Object.keys(changes).length > 0,
        contact: Object.assign(find(id), changes),
      }),
    }),
    defineTool({
      name: 'crm.deals.list',
      description: 'Deals, all or of one stage.',
      effect: 'read',
      approval: 'never',
      input: z.object({ stage: z.enum(['open', 'won', 'lost']).optional() }),
      output: z.object({
        deals: z.array(
          z.object({
            id: z.string(),
            contactId: z.string(),
            amount: z.number(),
            currency: z.enum(['EUR', 'USD']),
            stage: z.enum(['open', 'won', 'lost']),
            closeDate: z.string().nullable(),
          }),
        ),
      }),
      execute: ({ stage }) => ({ deals: DEALS.filter((deal) => stage === undefined || deal.stage === stage) }),
    }),
    defineTool({
      name: 'get-user',
      description: 'One user by number.',
      effect: 'read',
      approval: 'never',
      input: z.object({ id: z.number().int() }),
      output: User,
      execute: ({ id }) => {
        const user = USERS.find((candidate) => candidate.id === id);
        if (user === undefined) throw new Error(`no user ${id}`);
        return user;
      },
    }),
    defineTool({
      name: 'listUsers',
      description: 'Users of the house, as an array.',
      effect: 'read',
      approval: 'never',
      input: z.object({ role: Role.optional(), active: z.boolean().optional() }),
      output: z.array(User),
      execute: ({ role, active }) =>
        USERS.filter(
          (user) => (role === undefined || user.role === role) && (active === undefined || user.active === active),
        ),
    }),
  ];
}
