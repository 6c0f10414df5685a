import { defineTool } from '#core/index.js';
import { z } from 'zod';

const CONTENTS: Readonly<Record<string, string>> = {
  'README.md': '# Sample\n\nA small project.\n\n## Tasks\n\n- [ ] write docs\n- [x] add tests\n- [ ] publish\n',
  'package.json':
    '{\n  "name": "sample",\n  "version": "1.4.2",\n  "dependencies": { "left": "^1.0.0", "right": "2.3.1" }\n}\n',
  'config/app.json': '{ "port": 8080, "features": { "beta": true, "limits": { "perUser": 5 } }, "hosts": ["a", "b"] }',
  'config/broken.json': '{ "port": 80, ',
  'data/sales.csv': 'region,month,amount\nnorth,1,120\nsouth,1,80\nnorth,2,150\nsouth,2,95\neast,2,40\n',
  'data/scores.txt': 'ada 91\nbob 78\ncyd 85\nada 72\n',
  'logs/app.log':
    '2024-05-01T10:00:00Z INFO start\n2024-05-01T10:00:04Z WARN slow query 120ms\n2024-05-01T10:01:10Z ERROR timeout after 3000ms\n2024-05-01T10:02:00Z INFO done\n',
  'src/index.ts':
    'import { add } from "./math";\n\nexport const total = add(1, 2);\n// TODO: remove\nconsole.log(total);\n',
  'src/math.ts': 'export function add(a: number, b: number) {\n  return a + b;\n}\n// FIXME: no tests\n',
};

const Entry = z.object({
  name: z.string(),
  path: z.string(),
  type: z.enum(['file', 'directory']),
  size: z.number().optional().describe('Bytes; only of files'),
});

/** A small project in memory. */
export function fileTools() {
  const files = new Map(Object.entries(CONTENTS));
  const contentOf = (filePath: string): string => {
    const content = files.get(filePath);
    if (content === undefined) throw new Error(`ENOENT: no such file: ${filePath}`);
    return content;
  };
  return [
    defineTool({
      name: 'listDir',
      description: 'Lists what is in a folder. Folders come before files.',
      effect: 'read',
      approval: 'never',
      input: z.object({
        path: z.string().default('').describe('Left out: the project'),
        recursive: z.boolean().default(false),
      }),
      output: z.object({ path: z.string(), entries: z.array(Entry), total: z.number() }),
      execute: ({ path, recursive }) => {
        const entries = entriesOf(files, path, recursive);
        return { path, entries, total: entries.length };
      },
    }),
    defineTool({
      name: 'readFile',
      description: 'Reads a text file.',
      effect: 'read',
      approval: 'never',
      input: z.object({ filePath: z.string(), maxBytes: z.number().int().positive().optional() }),
      output: z.object({
        filePath: z.string(),
        content: z.string(),
        size: z.number(),
        truncated: z.boolean().optional(),
      }),
      execute: ({ filePath, maxBytes }) => {
        const content = contentOf(filePath);
        return maxBytes !== undefined && content.length > maxBytes
          ? { filePath, content: content.slice(0, maxBytes), size: content.length, truncated: true }
          : { filePath, content, size: content.length };
      },
    }),
    defineTool({
      name: 'writeFile',
      description: 'Writes a text file, or adds to its end.',
      effect: 'write',
      approval: 'never',
      input: z.object({ filePath: z.string(), content: z.string(), append: z.boolean().default(false) }),
      output: z.object({ written: z.number(), created: z.boolean() }),
      execute: ({ filePath, content, append }) => {
        const before = files.get(filePath);
        files.set(filePath, append ? (before ?? '') + content : content);
        return { written: content.length, created: before === undefined };
      },
    }),
    defineTool({
      name: 'deleteFile',
      description: 'Removes a file.',
      effect: 'write',
      approval: 'never',
      input: z.object({ filePath: z.string() }),
      output: z.object({ deleted: z.boolean() }),
      execute: ({ filePath }) => ({ deleted: files.delete(filePath) }),
    }),
    defineTool({
      name: 'searchFiles',
      description: 'Finds lines that hold a text.',
      effect: 'read',
      approval: 'never',
      input: z.object({ pattern: z.string(), folder: z.string().optional(), maxResults: z.number().default(50) }),
      output: z.object({
        matches: z.array(z.object({ filePath: z.string(), line: z.number(), text: z.string() })),
        truncated: z.boolean(),
      }),
      execute: ({ pattern, folder = '', maxResults }) => {
        const matches = [...files]
          .filter(([path]) => path.startsWith(folder))
          .flatMap(([filePath, content]) =>
            content.split('\n').map((text, index) => ({ filePath, line: index + 1, text })),
          )
          .filter(({ text }) => text.includes(pattern));
        return { matches: matches.slice(0, maxResults), truncated: matches.length > maxResults };
      },
    }),
    defineTool({
      name: 'stat',
      description: 'Says whether a file exists, and its size.',
      effect: 'read',
      approval: 'never',
      input: z.object({ filePath: z.string() }),
      output: z.object({ exists: z.boolean(), size: z.number().nullable(), modifiedAt: z.string().optional() }),
      execute: ({ filePath }) => {
        const content = files.get(filePath);
        return content === undefined
          ? { exists: false, size: null }
          : { exists: true, size: content.length, modifiedAt: '2024-05-01T09:00:00.000Z' };
      },
    }),
    defineTool({
      name: 'editFile',
      description: 'Replaces texts in a file.',
      effect: 'write',
      approval: 'never',
      input: z.object({
        filePath: z.string(),
        edits: z.array(z.object({ find: z.string(), replace: z.string(), all: z.boolean().optional() })),
      }),
      output: z.object({ applied: z.number(), content: z.string() }),
      execute: ({ filePath, edits }) => {
        let content = contentOf(filePath);
        let applied = 0;
        for (const { find, replace, all } of edits) {
          if (!content.includes(find)) continue;
          content = all === true ? content.replaceAll(find, () => replace) : content.replace(find, () => replace);
          applied += 1;
        }
        files.set(filePath, content);
        return { applied, content };
      },
    }),
    defineTool({
      name: 'runCommand',
      description: 'Runs a program.',
      effect: 'external',
      approval: 'never',
      input: z.object({
        command: z.array(z.string()).min(1),
        cwd: z.string().optional(),
        timeoutMs: z.number().optional(),
      }),
      output: z.object({
        exitCode: z.number(),
        stdout: z.string(),
        stderr: z.string(),
        signal: z.string().nullable(),
      }),
      execute: ({ command: [program, ...args] }) => {
        if (program === 'echo') return { exitCode: 0, stdout: `${args.join(' ')}\n`, stderr: '', signal: null };
        if (program === 'git')
          return { exitCode: 0, stdout: ' M src/index.ts\n?? notes.txt\nA  src/new.ts\n', stderr: '', signal: null };
        return { exitCode: 127, stdout: '', stderr: `${program}: not found\n`, signal: null };
      },
    }),
  ];
}

function entriesOf(files: ReadonlyMap<string, string>, folder: string, recursive: boolean): z.infer<typeof Entry>[] {
  const prefix = folder === '' || folder === '.' ? '' : `${folder.replace(/\/$/u, '')}/`;
  const directories = new Map<string, z.infer<typeof Entry>>();
  const plain: z.infer<typeof Entry>[] = [];
  for (const [path, content] of files) {
    if (!path.startsWith(prefix)) continue;
    const parts = path.slice(prefix.length).split('/');
    const deepest = recursive ? parts.length - 1 : Math.min(1, parts.length - 1);
    for (let depth = 1; depth <= deepest; depth++) {
      const inner = prefix + parts.slice(0, depth).join('/');
      directories.set(inner, { name: parts[depth - 1] ?? '', path: inner, type: 'directory' });
    }
    if (recursive || parts.length === 1)
      plain.push({ name: parts.at(-1) ?? '', path, type: 'file', size: content.length });
  }
  return [...directories.values(), ...plain];
}
