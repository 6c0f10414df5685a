import { defineTool } from '#core/tools/index.js';
import { z } from 'zod';

/** Functions that the scripts call, over the separate data of one run. */
export type World = { readonly saved: Map<string, unknown> } & {
  readonly [Name in ToolName]: (args: never) => unknown;
};

type ToolName = keyof typeof INPUTS;

const INPUTS = {
  readFile: z.object({ path: z.string() }),
  listFiles: z.object({ folder: z.string().optional() }),
  getUser: z.object({ id: z.number() }),
  listOrders: z.object({ userId: z.number().optional() }),
  search: z.object({ query: z.string(), limit: z.number() }),
  fetchPage: z.object({ page: z.number() }),
  delay: z.object({ ms: z.number(), value: z.unknown() }),
  flaky: z.object({ key: z.string(), failures: z.number() }),
  save: z.object({ key: z.string(), value: z.unknown() }),
  load: z.object({ key: z.string() }),
  runCommand: z.object({ command: z.array(z.string()) }),
};

export const WORLD_TOOL_NAMES = Object.keys(INPUTS) as readonly ToolName[];

/** The same functions as tools; each run gives its own world as `app`. */
export function worldTools() {
  return WORLD_TOOL_NAMES.map((name) =>
    defineTool({
      name,
      description: `The function ${name} of a small world`,
      input: INPUTS[name] as z.ZodObject,
      effect: 'read',
      execute: (input, { app }) => (app as World)[name](input as never),
    }),
  );
}

const FILES: Readonly<Record<string, string>> = {
  'README.md':
    '# The Sample\n\nA **small** project with `code` and a [link](https://example.com).\n\n## To do\n\n- first item\n- second **item**\n\nTODO: write more\n',
  'config.ini':
    '; settings\nname = sample\n\n[server]\nport = 8080\nsecure = true\nhost = "localhost" # local\n\n[empty]\nvalue =\n',
  'data/people.csv': 'name,quote,age\nAda,"said ""hello"", once",36\nBob,"line one\nline two",41\r\nCyd,,7\n',
  'src/app.ts':
    'var count = 0;   \nif (count == 0) {\n  console.log("zero");\n}\n\n\n\n// FIXME: rename\nvar total = count === 1;\n',
};

const USERS = [
  { id: 1, name: 'Ada', email: 'ada@example.com', age: 36, tags: ['admin', 'dev'] },
  { id: 2, name: 'Bob', email: '', age: 17, tags: [] },
  { id: 3, name: 'Cyd', email: 'cyd@example.com', age: 52, tags: ['ops'] },
  { id: 4, name: 'Dee', email: null, age: 44, tags: ['vip'] },
];

const ORDERS = [
  { id: 'o1', userId: 1, amount: 19.99, items: ['pen', 'ink'] },
  { id: 'o2', userId: 3, amount: 5, items: ['pen'] },
  { id: 'o3', userId: 1, amount: 100.01, items: ['desk'] },
  { id: 'o4', userId: 2, amount: 0, items: [] },
];

const TITLES = ['Login flow', 'Session store', 'Token refresh', 'Password reset', 'Login token session'];

export function makeWorld(): World {
  const saved = new Map<string, unknown>();
  const failed = new Map<string, number>();
  return {
    saved,
    readFile: ({ path }: { path: string }) => {
      const content = FILES[path];
      if (content === undefined) throw new Error(`no such file: ${path}`);
      return { content };
    },
    listFiles: ({ folder = '' }: { folder?: string }) => ({
      files: Object.entries(FILES)
        .filter(([path]) => path.startsWith(folder))
        .map(([path, content]) => ({ path, size: content.length })),
    }),
    getUser: ({ id }: { id: number }) => {
      const user = USERS.find((candidate) => candidate.id === id);
      if (user === undefined) throw new Error(`no user ${id}`);
      return user;
    },
    listOrders: ({ userId }: { userId?: number }) => ({
      orders: ORDERS.filter((order) => userId === undefined || order.userId === userId),
    }),
    search: ({ query, limit }: { query: string; limit: number }) => ({
      hits: TITLES.filter((title) => title.toLowerCase().includes(query))
        .map((title) => ({ title, score: 100 - title.length }))
        .slice(0, limit),
    }),
    fetchPage: ({ page }: { page: number }) => ({
      items: Array.from({ length: 3 }, (_, index) => `${'abc'[page - 1]}${index + 1}`),
      nextPage: page < 3 ? page + 1 : null,
    }),
    delay: ({ ms, value }: { ms: number; value: unknown }) => new Promise((resolve) => setTimeout(resolve, ms, value)),
    flaky: ({ key, failures }: { key: string; failures: number }) => {
      const attempt = (failed.get(key) ?? 0) + 1;
      failed.set(key, attempt);
      if (attempt <= failures) throw new Error(`flaky failure ${attempt}`);
      return { attempt };
    },
    save: ({ key, value }: { key: string; value: unknown }) => {
      saved.set(key, value);
      return { saved: true, size: JSON.stringify(value).length };
    },
    load: ({ key }: { key: string }) => ({ value: saved.get(key) }),
    runCommand: ({ command }: { command: string[] }) =>
      command[0] === 'git'
        ? { exitCode: 0, stdout: '  dev\n* main\n', stderr: '' }
        : { exitCode: 1, stdout: '', stderr: 'no tests found' },
  };
}
