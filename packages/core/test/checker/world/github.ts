import { defineTool } from '#core/index.js';
import { z } from 'zod';

const Issue = z.object({
  number: z.number(),
  title: z.string(),
  state: z.enum(['open', 'closed']),
  labels: z.array(z.string()),
  author: z.object({ login: z.string() }),
  assignee: z.object({ login: z.string() }).nullable(),
  comments: z.number(),
  createdAt: z.string().describe('ISO time'),
  body: z.string().optional(),
});

type Issue = z.infer<typeof Issue>;

const TITLES = [
  'Crash on start',
  'Slow search',
  'Typo in docs',
  'Add dark mode',
  'Login fails',
  'Wrong total',
  'Flaky test',
];
const LABELS = [['bug', 'p1'], ['perf'], ['docs'], ['feature'], ['bug'], ['bug', 'p2'], []];
const LOGINS = ['ada', 'bob', 'cyd'];

function issue(index: number): Issue {
  const made: Issue = {
    number: index + 1,
    title: TITLES[index] ?? '',
    state: index % 3 === 2 ? 'closed' : 'open',
    labels: LABELS[index] ?? [],
    author: { login: LOGINS[index % 3] ?? '' },
    assignee: index % 2 === 0 ? { login: LOGINS[(index + 1) % 3] ?? '' } : null,
    comments: (index * 5) % 7,
    createdAt: new Date(Date.UTC(2024, 0, 3 + index * 11, 8)).toISOString(),
  };
  return index % 2 === 0 ? { ...made, body: `Seen in release 1.${index}` } : made;
}

/** One repository, `acme/app`. */
export function githubTools() {
  const issues = TITLES.map((_, index) => issue(index));
  const repo = z.string().describe('owner/name');
  const find = (name: string, number: number): Issue => {
    const found = name === 'acme/app' ? issues.find((candidate) => candidate.number === number) : undefined;
    if (found === undefined) throw new Error(`Not Found: ${name}#${number}`);
    return found;
  };
  return [
    defineTool({
      name: 'github.listIssues',
      description: 'Issues of a repository, oldest first, in pages.',
      effect: 'read',
      approval: 'never',
      input: z.object({
        repo,
        state: z.enum(['open', 'closed', 'all']).default('open'),
        labels: z.array(z.string()).optional(),
        page: z.number().int().min(1).default(1),
        perPage: z.number().int().min(1).max(50).default(3),
      }),
      output: z.object({ issues: z.array(Issue), nextPage: z.number().nullable(), totalCount: z.number() }),
      execute: ({ repo: name, state, labels = [], page, perPage }) => {
        const all = (name === 'acme/app' ? issues : []).filter(
          (candidate) =>
            (state === 'all' || candidate.state === state) && labels.every((label) => candidate.labels.includes(label)),
        );
        const end = page * perPage;
        return {
          issues: all.slice(end - perPage, end),
          nextPage: end < all.length ? page + 1 : null,
          totalCount: all.length,
        };
      },
    }),
    defineTool({
      name: 'github.getIssue',
      description: 'One issue.',
      effect: 'read',
      approval: 'never',
      input: z.object({ repo, number: z.number() }),
      output: Issue,
      execute: ({ repo: name, number }) => find(name, number),
    }),
    defineTool({
      name: 'github.createIssue',
      description: 'Opens an issue.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        repo,
        title: z.string(),
        body: z.string().optional(),
        labels: z.array(z.string()).optional(),
        assignee: z.string().nullish(),
      }),
      output: z.object({ number: z.number(), url: z.string() }),
      execute: ({ repo: name, title, labels = [] }) => {
        const number = issues.length + 1;
        issues.push({ ...issue(1), number, title, labels, state: 'open', comments: 0 });
        return { number, url: `https://git.example/${name}/issues/${number}` };
      },
    }),
    defineTool({
      name: 'github.addComment',
      description: 'Comments on an issue.',
      effect: 'external',
      approval: 'never',
      input: z.object({ repo, number: z.number(), body: z.string() }),
      output: z.object({ id: z.string(), url: z.string() }),
      execute: ({ repo: name, number }) => {
        const found = find(name, number);
        found.comments += 1;
        return {
          id: `c${number}-${found.comments}`,
          url: `https://git.example/${name}/issues/${number}#c${found.comments}`,
        };
      },
    }),
    defineTool({
      name: 'github.updateIssue',
      description: 'Changes an issue.',
      effect: 'write',
      approval: 'never',
      input: z.object({
        repo,
        number: z.number(),
        changes: z.object({
          title: z.string().optional(),
          state: z.enum(['open', 'closed']).optional(),
          labels: z.array(z.string()).optional(),
        }),
      }),
      output: Issue,
      execute: ({ repo: name, number, changes }) => Object.assign(find(name, number), changes),
    }),
    defineTool({
      name: 'list-open-prs',
      description: 'Open pull requests of a repository.',
      effect: 'read',
      approval: 'never',
      input: z.object({ repo, limit: z.number().optional() }),
      output: z.object({
        prs: z.array(
          z.object({
            number: z.number(),
            title: z.string(),
            draft: z.boolean(),
            additions: z.number(),
            deletions: z.number(),
            reviewers: z.array(z.string()),
            mergedAt: z.string().nullable(),
          }),
        ),
      }),
      execute: ({ limit }) => ({
        prs: ['Fix crash', 'New parser', 'Bump deps', 'Docs']
          .map((title, index) => ({
            number: 40 + index,
            title,
            draft: index === 1,
            additions: [12, 840, 3, 55][index] ?? 0,
            deletions: [4, 310, 3, 0][index] ?? 0,
            reviewers: LOGINS.slice(0, index % 3),
            mergedAt: null,
          }))
          .slice(0, limit),
      }),
    }),
  ];
}
