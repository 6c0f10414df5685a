import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const core = join(root, 'packages/core/src');

/** The folders that each folder of core may import, except itself. docs/architecture.md has a diagram of them. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  text: [],
  files: ['protocol'],
  'durable-files': ['protocol'],
  script: ['files', 'protocol', 'text'],
  schema: ['protocol', 'text'],
  tools: ['schema', 'protocol', 'text'],
  history: ['protocol', 'text'],
  providers: ['protocol', 'text'],
  sandbox: ['files', 'protocol'],
  calls: ['script', 'sandbox', 'tools', 'schema', 'protocol', 'text'],
  stores: ['durable-files', 'protocol'],
  answer: ['script', 'history', 'protocol', 'text'],
  prompt: ['tools', 'schema', 'protocol', 'text'],
  run: ['calls', 'answer', 'script', 'tools', 'schema', 'history', 'protocol', 'text'],
  harness: [
    'run',
    'calls',
    'prompt',
    'answer',
    'script',
    'sandbox',
    'stores',
    'tools',
    'schema',
    'history',
    'protocol',
    'text',
  ],
  'ai-sdk': ['harness', 'tools', 'schema', 'protocol', 'text'],
  agent: ['harness', 'answer', 'history', 'prompt', 'tools', 'schema', 'protocol', 'text'],
  stream: ['script', 'history', 'protocol', 'text'],
  tracing: ['protocol', 'text'],
  testing: ['protocol', 'text'],
};

interface Import {
  file: string;
  specifier: string;
}

function importsOf(file: string, source: string): Import[] {
  const { module } = parseSync(file, source, { lang: file.endsWith('.tsx') ? 'tsx' : 'ts', sourceType: 'module' });
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
    ),
    ...module.dynamicImports.map(({ moduleRequest }) =>
      source.slice(moduleRequest.start, moduleRequest.end).replaceAll(/['"`]/gu, ''),
    ),
  ];
  return specifiers.map((specifier) => ({ file, specifier }));
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

const TEST_FUNCTIONS = new Set(['it', 'test', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach']);

/** The time limits, in ms, that tests and hooks have as an argument or as an option. */
function ownTimeLimits(source: string): number[] {
  const limits: number[] = [];
  new Visitor({
    CallExpression({ callee, arguments: values }) {
      if (!TEST_FUNCTIONS.has(/^\w+/u.exec(source.slice(callee.start))?.[0] ?? '')) return;
      const options = values.flatMap((value) => (value.type === 'ObjectExpression' ? value.properties : []));
      const timeouts = options.flatMap((member) =>
        member.type === 'Property' && source.slice(member.key.start, member.key.end) === 'timeout'
          ? [member.value]
          : [],
      );
      for (const value of [...values, ...timeouts])
        if (value.type === 'Literal' && typeof value.value === 'number') limits.push(value.value);
    },
  }).visit(parseSync('tests.ts', source, { lang: 'ts', sourceType: 'module' }).program);
  return limits;
}

/** Code of guests, which the build bundles apart from the package. */
const OTHER_PROGRAMS = /\/sandbox\/(?:guest|labels)\/|isolated-vm\/src\/guest\//u;

/** A function whose name does not say what it returns; the names of JavaScript and of JSON Schema are free. */
const NAME_ENDING_IN_OF =
  /^(?:export )?(?:async )?(?:function\*?|const) (?!\w*(?:[iI]ndexOf|alueOf|(?:All|Any|One)Of)\b)(\w+Of)\b/gmu;

/** The names that more than one of the files exports, each with its files. */
function repeatedExports(files: readonly string[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const file of files) {
    const { module } = parseSync(file, readFileSync(file, 'utf8'), { sourceType: 'module' });
    const own = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => entry.moduleRequest === null));
    for (const { exportName } of own)
      if (exportName.name !== null)
        places.set(exportName.name, (places.get(exportName.name) ?? new Set()).add(relative(root, file)));
  }
  return [...places].flatMap(([name, at]) => (at.size === 1 ? [] : [`${name}: ${[...at].join(', ')}`]));
}

/** The files that a file loads when it runs: type-only imports do not count. `isLazy`: also those that it loads later. */
function valueImports(file: string, isLazy = false): string[] {
  const source = readFileSync(file, 'utf8');
  const { module } = parseSync(file, source, { lang: 'ts', sourceType: 'module' });
  const later = isLazy ? module.dynamicImports.map(({ moduleRequest }) => moduleRequest) : [];
  const imported = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) => (moduleRequest === null || isType ? [] : [moduleRequest.value])),
  );
  return [...imported, ...exported, ...later.map(({ start, end }) => source.slice(start + 1, end - 1))];
}

/** Everything that is loaded with a file. */
function reachedFrom(entry: string, isLazy = false): { files: number; packages: string[] } {
  const reached = new Set<string>();
  const packages = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const specifier of valueImports(file, isLazy)) {
      if (specifier.startsWith('.')) open.push(resolve(dirname(file), specifier).replace(/\.js$/u, '.ts'));
      else packages.add(specifier);
    }
  }
  return { files: reached.size, packages: [...packages] };
}

function typescriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/u.test(file))
    .map((file) => join(folder, file));
}

/** The violation of an import; undefined if the import is allowed. */
function coreViolation({ file, specifier }: Import): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const [from = ''] = relative(core, file).split('/');
  const [to = ''] = relative(core, resolve(dirname(file), specifier)).split('/');
  if (from === to || !(from in MAY_IMPORT)) return undefined;
  return MAY_IMPORT[from]!.includes(to) ? undefined : `${relative(root, file)} imports ${to} (${specifier})`;
}

function packageViolation({ file, specifier }: Import): string | undefined {
  const reachesIn =
    specifier.startsWith('@toolscript/core/') &&
    !/^@toolscript\/core\/(protocol|ports|history|stream|testing|providers|agent|tracing|next|internal|internal-data)$/u.test(
      specifier,
    );
  const imported = relative(root, resolve(dirname(file), specifier));
  // The build bundles the guest for V8 with core's guest.
  const isGuest = relative(root, file).startsWith('packages/isolated-vm/src/guest/');
  const climbsOut =
    specifier.startsWith('.') &&
    !imported.startsWith(relative(root, file).split('/').slice(0, 3).join('/')) &&
    !(isGuest && imported.startsWith('packages/core/src/sandbox/guest/'));
  return reachesIn || climbsOut ? `${relative(root, file)} imports ${specifier}` : undefined;
}

function readImports(folder: string): { files: number; imports: Import[] } {
  const files = typescriptFiles(folder);
  return { files: files.length, imports: files.flatMap((file) => importsOf(file, readFileSync(file, 'utf8'))) };
}

/** The files of one import cycle; undefined if there is none. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    for (const next of graph.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle !== undefined) return circle;
    }
    finished.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

describe('architecture', () => {
  it('folders of core import only folders below them', () => {
    const { files, imports } = readImports(core);
    expect(files).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(300);
    expect(imports.map(coreViolation).filter((violation) => violation !== undefined)).toEqual([]);
  });

  it('the entry points of core list their names, and its examples use no unstable one', () => {
    const { exports } = JSON.parse(readFileSync(join(core, '../package.json'), 'utf8')) as {
      exports: Record<string, string | { types: string }>;
    };
    const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.types]));
    expect(entries.length).toBeGreaterThan(10);
    const files = entries.map((types) => join(core, relative('./dist', types).replace(/\.d\.ts$/u, '.ts')));
    expect(files.filter((file) => /^export \*/mu.test(readFileSync(file, 'utf8')))).toEqual([]);
    const examples = readImports(join(root, 'examples'));
    expect(examples.imports.length).toBeGreaterThan(10);
    expect(examples.imports.filter(({ specifier }) => /\/internal(?:-data)?$/u.test(specifier))).toEqual([]);
  });

  it('the agent receives its harness and its provider: it imports only their types', () => {
    const files = typescriptFiles(join(core, 'agent'));
    expect(files.length).toBeGreaterThan(5);
    expect(
      files.flatMap((file) => valueImports(file)).filter((specifier) => /harness|providers/u.test(specifier)),
    ).toEqual([]);
  });

  it.each(['core', 'isolated-vm', 'tools', 'cli', 'mcp', 'service', 'server', 'client', 'web'])(
    'packages/%s has no import cycle',
    (name) => {
      const folder = join(root, 'packages', name, 'src');
      const graph = new Map(
        typescriptFiles(folder).map((file) => [
          file,
          importsOf(file, readFileSync(file, 'utf8'))
            .filter(({ specifier }) => specifier.startsWith('.'))
            .map(({ specifier }) => resolve(dirname(file), specifier).replace(/\.js$/u, '.ts')),
        ]),
      );
      expect(graph.size).toBeGreaterThan(3);
      expect(circleIn(graph)?.map((file) => relative(folder, file))).toBeUndefined();
    },
  );

  it('every folder of core has its row in the table', () => {
    const folders = readdirSync(core, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).filter((name) => !(name in MAY_IMPORT))).toEqual([]);
  });

  it.each(['isolated-vm', 'tools', 'mcp', 'service', 'server', 'client', 'web', 'cli'])(
    'packages/%s uses only the public exports of core',
    (name) => {
      const { files, imports } = readImports(join(root, 'packages', name, 'src'));
      expect(files).toBeGreaterThan(3);
      expect(imports.map(packageViolation).filter((violation) => violation !== undefined)).toEqual([]);
    },
  );

  it.each([
    ['script/compile/compile-worker.ts', 5],
    ['sandbox/worker/entry.ts', 5],
    ['../../isolated-vm/src/child.ts', 2],
  ] as const)('the thread of %s loads no schemas, so that it starts fast', (entry, least) => {
    const { files, packages } = reachedFrom(join(core, entry));
    expect(files).toBeGreaterThan(least);
    expect(packages.filter((name) => name === 'zod' || name.startsWith('@toolscript/'))).toEqual([]);
  });

  it('the program’s thread parses no script, neither to compile it nor to follow its labels', () => {
    const { files, packages } = reachedFrom(join(core, 'index.ts'), true);
    expect(files).toBeGreaterThan(reachedFrom(join(core, 'index.ts')).files);
    expect(packages.filter((name) => name.startsWith('oxc-'))).toEqual([]);
    expect(reachedFrom(join(core, 'script/compile/compile-worker.ts')).packages).toContain('oxc-parser');
  });

  it('a page can load the stream: it loads no package and no module of Node', () => {
    const { files, packages } = reachedFrom(join(core, 'stream/index.ts'));
    expect(files).toBeGreaterThan(5);
    expect(packages).toEqual([]);
  });

  it('the program’s thread loads no database, which would block it', () => {
    const stores = join(root, 'packages/service/src/stores');
    const { files, packages } = reachedFrom(join(stores, 'index.ts'));
    expect(files).toBeGreaterThan(5);
    expect(packages).not.toContain('libsql');
    expect(reachedFrom(join(stores, 'database-worker.ts')).packages).toContain('libsql');
  });

  it('the program’s thread reads no OpenAPI document, which would block it; the thread that does loads no schemas', () => {
    const openApi = join(root, 'packages/mcp/src/openapi');
    const program = reachedFrom(join(openApi, 'open-api.ts'));
    expect(program.files).toBeGreaterThan(5);
    expect(program.packages).not.toContain('@scalar/openapi-upgrader');
    const { packages } = reachedFrom(join(openApi, 'read-document-worker.ts'));
    expect(packages.filter((name) => !name.startsWith('node:')).toSorted()).toEqual([
      '@scalar/openapi-upgrader',
      '@toolscript/core/internal-data',
    ]);
    expect(reachedFrom(join(core, 'internal-data.ts')).packages).toEqual([]);
  });

  it('a time limit is a limitedSignal: Node may lose an AbortSignal.timeout before it aborts', () => {
    const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name, 'src'));
    const files = folders.filter((folder) => existsSync(folder)).flatMap((folder) => typescriptFiles(folder));
    expect(files.length).toBeGreaterThan(500);
    expect(files.filter((file) => readFileSync(file, 'utf8').includes('AbortSignal.timeout('))).toEqual([]);
  });

  it('no test has a time limit that is shorter than the one of its project: a busy machine takes as long as it takes', () => {
    const files = ['packages', 'scripts', 'examples', 'bench'].flatMap((name) => testFiles(join(root, name)));
    expect(files.length).toBeGreaterThan(400);
    const limits = files.flatMap((file) => {
      const least = file.endsWith('.slow.test.ts') ? 300_000 : 90_000;
      return ownTimeLimits(readFileSync(file, 'utf8')).flatMap((limit) => (limit < least ? [`${file}: ${limit}`] : []));
    });
    expect(limits).toEqual([]);
    const planted = "it('a', () => {}, 60_000); it.each([1])('b', { timeout: LIMIT }, async () => {}); f(1);";
    expect(ownTimeLimits(planted.replace('LIMIT', '5_000'))).toEqual([60_000, 5000]);
  });

  it('a name is exported by one file of its package', () => {
    const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name, 'src'));
    const files = folders.filter((folder) => existsSync(folder)).map((folder) => typescriptFiles(folder));
    expect(files.flat().length).toBeGreaterThan(500);
    expect(files.flatMap((each) => repeatedExports(each.filter((file) => !OTHER_PROGRAMS.test(file))))).toEqual([]);
  });

  it('a name is a noun with its subject: `itemText`, not `textOf`', () => {
    const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name, 'src'));
    const files = folders.filter((folder) => existsSync(folder)).flatMap((folder) => typescriptFiles(folder));
    const found = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(NAME_ENDING_IN_OF)].map(([, name]) => `${relative(root, file)}: ${name}`),
    );
    expect(found).toEqual([]);
    expect('function* linesOf(text'.match(NAME_ENDING_IN_OF)).toHaveLength(1);
  });

  it('a planted cycle is detected', () => {
    expect(
      circleIn(
        new Map([
          ['a', ['b']],
          ['b', ['c', 'd']],
          ['c', []],
          ['d', ['b']],
        ]),
      ),
    ).toEqual(['b', 'd', 'b']);
  });

  it('a planted violation is detected', () => {
    const planted = importsOf(
      join(core, 'protocol/planted.ts'),
      "import { runScriptSession } from '../session/index.js';\nexport * from '../tools/index.js';\nawait import('../harness/index.js');",
    );
    expect(planted.map(coreViolation)).toHaveLength(3);
    expect(planted.map(coreViolation)).not.toContain(undefined);
    const deep = importsOf(
      join(root, 'packages/cli/src/planted.ts'),
      "import '@toolscript/core/dist/index.js';\nimport '../../core/src/index.js';",
    );
    expect(deep.map(packageViolation)).not.toContain(undefined);
  });
});
