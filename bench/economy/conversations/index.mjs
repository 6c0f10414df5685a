import { z } from 'zod';

/**
 * A conversation, and the scripts of a model that answers its questions.
 *
 * @typedef {object} Conversation
 * @property {string} name
 * @property {string} title
 * @property {string} role
 * @property {object[]} tools The options of `defineTool`.
 * @property {readonly { ask: string, separate: readonly string[], program: readonly string[], value: unknown, answer: string }[]} questions
 * `separate` and `program`: the scripts that answer the question, without and with the variables of earlier scripts.
 * `value`: of the last script of each.
 * @property {string} why Where the variables help or not, as a sentence.
 */

const LABELS = ['bug', 'docs', 'build', 'question'];
const PEOPLE = ['Ada', 'Ben', 'Cleo', 'Dev', 'Eva'];
const ISSUES = Array.from({ length: 200 }, (_, index) => ({
  number: 4_000 + index,
  label: LABELS[(index * 7) % 4],
  assignee: PEOPLE[(index * 3) % 5],
  isOpen: index % 3 !== 0,
  comments: (index * 11) % 17,
}));
const PAGE = 20;

const ORDERS = Array.from({ length: 180 }, (_, index) => ({
  id: 9_000 + index,
  country: ['DE', 'FR', 'NL', 'PT', 'SE'][(index * 7) % 5],
  month: 1 + (index % 12),
  amount: 120 + ((index * 97) % 880),
}));

const LINES = Array.from({ length: 600 }, (_, index) => {
  const status = index % 9 === 0 ? 500 + (index % 4) : 200;
  return `2025-10-03T${String(index % 24).padStart(2, '0')}:00 ${['GET', 'POST'][index % 2]} /v1/${['cart', 'pay', 'search'][index % 3]} ${status}`;
});

function counted(rows, keyOf, amountOf = () => 1) {
  const counts = {};
  for (const row of rows) counts[keyOf(row)] = (counts[keyOf(row)] ?? 0) + amountOf(row);
  return counts;
}

const issueTool = {
  name: 'listIssues',
  description: 'A page of 20 issues, from 1. An empty page follows the last one.',
  input: z.object({ page: z.number().int().min(1) }),
  output: z.array(
    z.object({
      number: z.number(),
      label: z.string(),
      assignee: z.string(),
      isOpen: z.boolean(),
      comments: z.number(),
    }),
  ),
  execute: ({ page }) => ISSUES.slice((page - 1) * PAGE, page * PAGE),
};

const READ_ISSUES = `const issues = [];
for (let page = 1; ; page++) {
  const more = await tools.listIssues({ page });
  if (more.length === 0) break;
  issues.push(...more);
}`;

const COUNT = `function countBy<Row>(rows: Row[], keyOf: (row: Row) => string) {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[keyOf(row)] = (counts[keyOf(row)] ?? 0) + 1;
  return counts;
}`;

const OPEN = ISSUES.filter(({ isOpen }) => isOpen);
const BUSIEST = OPEN.toSorted((one, other) => other.comments - one.comments || one.number - other.number)
  .slice(0, 5)
  .map(({ number }) => number);

/** A question whose scripts differ only in how they get the data. */
function question(ask, { first = '', again, own }, value) {
  const answer = typeof value === 'object' ? `${JSON.stringify(value).replaceAll(/["{}[\]]/gu, '')}.` : `${value}.`;
  return { ask, separate: [`${again}\n${own}`], program: [first === '' ? own : `${first}\n${own}`], value, answer };
}

/** @type {Conversation} */
const issues = {
  name: 'issues',
  title: '4 questions about the same 200 issues in 10 pages',
  role: 'You answer questions about the issues of a project. Use the tools. Be brief.',
  tools: [issueTool],
  questions: [
    question(
      'How many issues have which label?',
      {
        first: `${READ_ISSUES}\n${COUNT}`,
        again: `${READ_ISSUES}\n${COUNT}`,
        own: 'return countBy(issues, ({ label }) => label);',
      },
      counted(ISSUES, ({ label }) => label),
    ),
    question(
      'And the open ones by assignee?',
      {
        again: `${READ_ISSUES}\n${COUNT}`,
        own: 'return countBy(issues.filter(({ isOpen }) => isOpen), ({ assignee }) => assignee);',
      },
      counted(OPEN, ({ assignee }) => assignee),
    ),
    question(
      'How many open bugs does Cleo have?',
      {
        again: READ_ISSUES,
        own: "return issues.filter(({ isOpen, label, assignee }) => isOpen && label === 'bug' && assignee === 'Cleo').length;",
      },
      OPEN.filter(({ label, assignee }) => label === 'bug' && assignee === 'Cleo').length,
    ),
    question(
      'Which five open issues have the most comments?',
      {
        again: READ_ISSUES,
        own: `const open = issues.filter(({ isOpen }) => isOpen);
open.sort((one, other) => other.comments - one.comments || one.number - other.number);
return open.slice(0, 5).map(({ number }) => number);`,
      },
      BUSIEST,
    ),
  ],
  why: 'Each question without variables reads all pages again, and its script repeats the loop and the function that counts.',
};

const READ_ORDERS = 'const orders = await tools.listOrders({ year: 2025 });';

/** @type {Conversation} */
const orders = {
  name: 'orders',
  title: '3 questions about the same 180 orders in one result',
  role: 'You answer questions about the orders of a shop. Use the tools. Be brief.',
  tools: [
    {
      name: 'listOrders',
      description: 'The orders of a year.',
      input: z.object({ year: z.number() }),
      output: z.array(z.object({ id: z.number(), country: z.string(), month: z.number(), amount: z.number() })),
      execute: () => ORDERS,
    },
  ],
  questions: [
    question(
      'What did we sell to Portugal in 2025?',
      {
        first: READ_ORDERS,
        again: READ_ORDERS,
        own: "return orders.filter(({ country }) => country === 'PT').reduce((sum, { amount }) => sum + amount, 0);",
      },
      ORDERS.filter(({ country }) => country === 'PT').reduce((sum, { amount }) => sum + amount, 0),
    ),
    question(
      'Which order was the largest?',
      {
        again: READ_ORDERS,
        own: 'return orders.reduce((one, other) => (other.amount > one.amount ? other : one)).id;',
      },
      ORDERS.reduce((one, other) => (other.amount > one.amount ? other : one)).id,
    ),
    question(
      'How many were there in March?',
      { again: READ_ORDERS, own: 'return orders.filter(({ month }) => month === 3).length;' },
      ORDERS.filter(({ month }) => month === 3).length,
    ),
  ],
  why: 'One short call brings the data, so repeating it costs few tokens: what variables save is the call itself.',
};

const READ_LINES = "const { lines } = await tools.readLog({ day: '2025-10-03' });";
const FAILURES = counted(
  LINES.filter((line) => / 5\d\d$/u.test(line)),
  (line) => line.split(' ')[2],
);

/** @type {Conversation} */
const log = {
  name: 'log',
  title: 'a log whose form is unknown: one script looks, the next one counts',
  role: 'You answer questions about the logs of a service. Use the tools. Be brief.',
  tools: [
    {
      name: 'readLog',
      description: 'The lines of a day.',
      input: z.object({ day: z.string() }),
      output: z.object({ lines: z.array(z.string()) }),
      execute: () => ({ lines: LINES }),
    },
  ],
  questions: [
    {
      ask: 'Which endpoints failed on 3 October 2025, and how often?',
      separate: [
        `${READ_LINES}\nreturn lines.slice(0, 3);`,
        `${READ_LINES}
const failures: Record<string, number> = {};
for (const line of lines) {
  const [, , path = '', status = ''] = line.split(' ');
  if (status.startsWith('5')) failures[path] = (failures[path] ?? 0) + 1;
}
return failures;`,
      ],
      program: [
        `${READ_LINES}\nreturn lines.slice(0, 3);`,
        `const failures: Record<string, number> = {};
for (const line of lines) {
  const [, , path = '', status = ''] = line.split(' ');
  if (status.startsWith('5')) failures[path] = (failures[path] ?? 0) + 1;
}
return failures;`,
      ],
      value: FAILURES,
      answer: `${JSON.stringify(FAILURES).replaceAll(/["{}]/gu, '')}.`,
    },
  ],
  why: 'The second script continues with the lines of the first one. The call that is not repeated is short here; a slow or a changing source would make more of it.',
};

const PRICES = { tea: 4, coffee: 6, cocoa: 5 };
const price = (item) =>
  question(
    `What does ${item} cost?`,
    { again: '', own: `return await tools.priceOf({ item: '${item}' });` },
    PRICES[item],
  );

/** @type {Conversation} */
const prices = {
  name: 'prices',
  title: '3 questions, each about something else',
  role: 'You answer questions about prices. Use the tools. Be brief.',
  tools: [
    {
      name: 'priceOf',
      description: 'The price of an item.',
      input: z.object({ item: z.string() }),
      output: z.number(),
      execute: ({ item }) => PRICES[item],
    },
  ],
  questions: Object.keys(PRICES).map(price),
  why: 'Nothing of one question serves the next one. Where a script leaves no variable, the model reads no word about variables, so they cost nothing.',
};

export const CONVERSATIONS = [issues, orders, log, prices];
