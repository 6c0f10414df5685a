import { z } from 'zod';
import { oneByOne, script } from '../turns.mjs';
import { serviceWorld } from '../worlds.mjs';

const PAGES = 10;
const PAGE = 20;
const LABELS = ['bug', 'feature', 'question', 'docs', 'performance'];
const ISSUES = Array.from({ length: PAGES * PAGE }, (_, index) => ({
  number: 2_400 - index * 3,
  title: `${['Crash in', 'Wrong text in', 'Slow', 'Missing', 'Please add to'][index % 5]} the ${['export', 'login page', 'search', 'calendar', 'report', 'editor'][index % 6]}`,
  label: LABELS[((index * index + 3 * index) % 7) % 5],
  author: ['ada', 'ben', 'cleo', 'dan', 'eva'][(index * 3) % 5],
  createdAt: `2025-${String(12 - Math.floor(index / 17)).padStart(2, '0')}-${String(28 - (index % 28)).padStart(2, '0')}`,
}));
const COUNTS = countBy(ISSUES, ({ label }) => label);
const cursorOf = (page) => (page === 0 ? undefined : `c${page * 7919}`);
const steps = Array.from({ length: PAGES }, (_, page) => [
  'listIssues',
  { state: 'open', ...(page === 0 ? {} : { cursor: cursorOf(page) }) },
]);

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'pagination',
  title: `${ISSUES.length} issues in ${PAGES} pages, counted by label`,
  role: 'You answer questions about the issues of a project. Use the tools. Be brief.',
  ask: 'How many open issues are there for each label?',
  open: serviceWorld(() => ({
    tools: [
      {
        name: 'listIssues',
        description: `Issues, newest first, ${PAGE} a page. Give the nextCursor of a page to get the one after it.`,
        input: z.object({ state: z.enum(['open', 'closed']), cursor: z.string().optional() }),
        output: z.object({
          issues: z.array(
            z.object({
              number: z.number(),
              title: z.string(),
              label: z.string(),
              author: z.string(),
              createdAt: z.string(),
            }),
          ),
          nextCursor: z.string().optional(),
        }),
        execute: ({ cursor }) => pageAt(cursor),
      },
    ],
  })),
  ways: {
    one: oneByOne(steps),
    parallel: oneByOne(steps),
    scripts: [
      script(`
const counts: Record<string, number> = {};
let cursor: string | undefined;
do {
  const page = await tools.listIssues({ state: 'open', cursor });
  for (const { label } of page.issues) counts[label] = (counts[label] ?? 0) + 1;
  cursor = page.nextCursor;
} while (cursor !== undefined);
return counts;`),
    ],
  },
  answer: `${Object.entries(COUNTS)
    .map(([label, count]) => `${label}: ${count}`)
    .join(', ')}.`,
  evidence: ISSUES.map(({ number }) => `"number":${number},`),
  value: COUNTS,
  why: 'Each page needs the cursor of the one before it, so calls cannot be made in parallel; a loop makes them in one turn and keeps a count of each label.',
};

function pageAt(cursor) {
  const page = Array.from({ length: PAGES }, (_, index) => index).find((index) => cursorOf(index) === cursor);
  const issues = ISSUES.slice(page * PAGE, (page + 1) * PAGE);
  return page === PAGES - 1 ? { issues } : { issues, nextCursor: cursorOf(page + 1) };
}

function countBy(values, key) {
  const counts = {};
  for (const value of values) counts[key(value)] = (counts[key(value)] ?? 0) + 1;
  return counts;
}
