import { calls, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';

const OWNERS = ['ana', 'bo', 'chris', 'dee'];
const TODO_TEXTS = [
  'handle the empty list',
  'say which line it was',
  'remove after the next release',
  'this is slow',
  'find a better name',
];
const FILES = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`src/part-${index + 1}.ts`, fileOf(index)]));
const COUNTS = {};
for (const [, owner] of Object.values(FILES)
  .join('')
  .matchAll(/TODO\((\w+)\)/gu))
  COUNTS[owner] = (COUNTS[owner] ?? 0) + 1;
const TOTAL = Object.values(COUNTS).reduce((sum, count) => sum + count, 0);
const search = ['grepFiles', { pattern: String.raw`TODO\(\w+\)`, matches: true, limit: 500 }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'count-todos',
  title: `${TOTAL} remarks in 30 files, counted by owner`,
  role: CODING_ROLE,
  ask: 'How many TODOs are there for each owner? They look like TODO(name).',
  open: folderWorld(FILES),
  ways: {
    one: [calls(search)],
    parallel: [calls(search)],
    scripts: [
      script(String.raw`
const { matches = [] } = await tools.grepFiles({ pattern: 'TODO\\(\\w+\\)', matches: true, limit: 500 });
const counts: Record<string, number> = {};
for (const { text } of matches) {
  const owner = /TODO\((\w+)\)/.exec(text)![1]!;
  counts[owner] = (counts[owner] ?? 0) + 1;
}
return counts;`),
    ],
  },
  answer: `${Object.entries(COUNTS)
    .map(([owner, count]) => `${owner}: ${count}`)
    .join(', ')}.`,
  evidence: Object.entries(FILES).flatMap(([, text]) => [...text.matchAll(/\/\/ TODO.*/gu)].map(([remark]) => remark)),
  value: COUNTS,
  why: 'One search finds all of it in each way, and what a script keeps to itself is less than the text that teaches scripts, which is read in both turns. The script counts by a loop, the model in its head.',
};

function fileOf(index) {
  const todos = Array.from({ length: index % 4 }, (_, at) => {
    const owner = OWNERS[(index * 3 + at * at) % OWNERS.length];
    return `  // TODO(${owner}): ${TODO_TEXTS[(index + at) % TODO_TEXTS.length]}`;
  });
  return [
    `export function part${index + 1}(input: string): string {`,
    ...todos,
    '  return input.trim();',
    '}',
    '',
  ].join('\n');
}
