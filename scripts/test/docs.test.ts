import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { createHarness, type Harness, type HarnessOptions } from '@toolscript/core';
import { MODEL_FAMILIES, QuickJsPool, type ModelFacts } from '@toolscript/core/internal';
import {
  ERROR_TABLE,
  EventPayloadSchema,
  LimitsSchema,
  OperationItemSchema,
  OutputItemSchema,
  USAGE_ERRORS,
  type Tool,
} from '@toolscript/core/protocol';
import { createServer } from '@toolscript/server';
import { memoryDocuments } from '@toolscript/service/stores';
import { cabinetTools, codingTools, promptTools, snippetTools, webTools } from '@toolscript/tools';
import { parseSync } from 'oxc-parser';
import { afterAll, describe, expect, it } from 'vitest';
import { blocksOf, checkGenerated, checkGeneratedTable, PageFolder, readPage, root } from './documents.js';

const same = (found: string, expected: string) => expect(found).toBe(expected);

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?:^|\/)README\.md$/u.test(name) && !name.includes('node_modules') && !name.includes('project'))
    .map((name) => `examples/${name}`),
  'packages/cli/README.md',
  'packages/client/README.md',
  'packages/core/README.md',
  'packages/create-toolscript/README.md',
  'packages/isolated-vm/README.md',
  'packages/mcp/README.md',
  'packages/server/README.md',
  'packages/service/README.md',
  'packages/tools/README.md',
  'packages/web/README.md',
];

/** Rows of the first table below a heading (or of the page), as cells. */
function tableRows(page: string, heading?: string): string[][] {
  const from = heading === undefined ? 0 : page.indexOf(`\n## ${heading}\n`);
  expect(from, `heading ${heading}`).toBeGreaterThanOrEqual(0);
  const lines = page.slice(from).split('\n');
  const start = lines.findIndex((line) => /^\|[-| :]+\|$/u.test(line)) + 1;
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith('|'));
  return lines.slice(start, end === -1 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

const plain = (cell: string | undefined) => (cell ?? '').replace(/^\[(.*)\]\(.*\)$/u, '$1').replaceAll('`', '');

describe('links', () => {
  it('lead to files and headings that exist', () => {
    let links = 0;
    const broken: string[] = [];
    for (const page of pages) {
      const text = readPage(page).replaceAll(/^(`{3,})[\s\S]*?^\1/gmu, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/gu)) {
        if (/^[a-z]+:/u.test(target)) continue;
        links += 1;
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? join(root, page) : resolve(root, dirname(page), path);
        if (!existsSync(file)) broken.push(`${page}: ${target}`);
        else if (anchor !== undefined && !headings(readFileSync(file, 'utf8')).includes(anchor))
          broken.push(`${page}: ${target}`);
      }
    }
    expect(links).toBeGreaterThan(50);
    expect(broken).toEqual([]);
  });

  it('every page of docs is reached from the README or from another page', () => {
    const all = pages.map(readPage).join('\n');
    for (const page of pages) {
      if (page.startsWith('docs/')) expect(all, page).toContain(page.split('/').at(-1));
    }
  });
});

function headings(page: string): string[] {
  return [...page.matchAll(/^#{1,6} (.*)$/gmu)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

describe('reference', () => {
  it('errors.md and the error table are equal, in both directions', () => {
    const page = readPage('docs/reference/errors.md');
    const yesNo = (value: boolean) => (value ? 'yes' : 'no');
    const expected = Object.entries(ERROR_TABLE).map(([code, row]) => [
      code,
      row.phase,
      yesNo(row.retryable),
      yesNo(row.catchable),
      row.meaning,
      row.advice,
    ]);
    expect(tableRows(page).map((row) => row.map(plain))).toEqual(expected);
    const sections = [...page.matchAll(/^## (\w+)\n\n(\S.*)$/gmu)].map(([, code]) => code);
    expect(sections).toEqual(Object.keys(ERROR_TABLE));
  });

  it('errors.md lists the mistakes of a host with their messages', () => {
    const rows = Object.entries(USAGE_ERRORS).map(([code, message]) => `${code}\n    ${message}`);
    checkGenerated('docs/reference/errors.md', 'usage-errors', rows.join('\n'), same);
  });

  it('providers.md shows what is known of models, and where it was read', () => {
    checkGeneratedTable('docs/reference/providers.md', 'models', modelRows(), same);
    checkGeneratedTable('docs/reference/providers.md', 'model-limits', modelLimitRows(), same);
  });

  it('a source throws every mistake of a host', () => {
    const sources = readdirSync(join(root, 'packages'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /^[\w-]+\/src\/.*\.ts$/u.test(path))
      .map((path) => join(root, 'packages', path));
    const thrown = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/new \w+Error\(\s*'([A-Z][A-Z0-9_]+)'/gu)].map(([, code]) => code!),
    );
    expect(new Set(thrown)).toEqual(new Set(Object.keys(USAGE_ERRORS)));
  });

  it('limits.md and the limits are equal', () => {
    const { properties = {} } = LimitsSchema.toJSONSchema({ io: 'input' });
    const expected = Object.entries(properties).map(([name, schema]) => {
      const {
        type,
        minimum,
        maximum,
        default: standard,
      } = schema as { type: string; minimum?: number; maximum?: number; default: unknown };
      const most = maximum === Number.MAX_SAFE_INTEGER ? '' : ` ${maximum}`;
      return [name, String(standard), type === 'boolean' ? 'true, false' : `${minimum} …${most}`];
    });
    expect(expected.length).toBeGreaterThan(15);
    const rows = tableRows(readPage('docs/reference/limits.md'));
    expect(rows.map((row) => row.slice(0, 3).map(plain))).toEqual(expected);
    for (const row of rows) expect(row.filter((cell) => cell !== '')).toHaveLength(5);
  });

  it('events.md lists every payload, item and status', () => {
    const page = readPage('docs/reference/events.md');
    const types = (options: readonly { shape: { type: { value: string } } }[]) =>
      options.map(({ shape }) => shape.type.value);
    const names = (heading: string) => tableRows(page, heading).map(([name]) => plain(name));
    expect(names('Payloads')).toEqual(types(EventPayloadSchema.options as never));
    expect(names('Items')).toEqual(types(OutputItemSchema.options as never));
    expect(names('Operations')).toEqual(OperationItemSchema.shape.status.options);
  });

  it('architecture.md and the architecture test contain the same table', () => {
    const test = readFileSync(join(root, 'scripts/test/architecture.test.ts'), 'utf8');
    const [, source = ''] = /MAY_IMPORT[^=]*= (\{.*?\n\});/su.exec(test) ?? [];
    const allowed = JSON.parse(
      source
        .replaceAll("'", '"')
        .replaceAll(/^ {2}(\w+):/gmu, '"$1":')
        .replaceAll(/,(\s*[}\]])/gu, '$1'),
    ) as Record<string, string[]>;
    const rows = tableRows(readPage('docs/architecture.md'), 'Folders of core');
    const drawn = Object.fromEntries(
      rows.map(([folder, , imports]) => [folder, imports === 'nothing of ours' ? [] : (imports ?? '').split(', ')]),
    );
    expect(drawn).toEqual(allowed);
  });
});

describe('generated blocks', () => {
  const workspace = new PageFolder();
  const harness: Harness = createHarness({ tools: codingTools({ roots: workspace.path }), approvals: 'deny' });
  afterAll(async () => {
    await harness.close();
    workspace.remove();
  });

  async function checkDeclarations(name: string, tools: readonly Tool[], expose: HarnessOptions['expose'] = {}) {
    const own = createHarness({ tools, expose, approvals: 'deny' });
    const declarations = own.declarations();
    await own.close();
    checkGenerated(
      'docs/reference/tools.md',
      name,
      declarations.slice(declarations.indexOf('interface Tools {')),
      same,
    );
  }

  function expectRows(tools: readonly Tool[]): void {
    const rows = tableRows(readPage('docs/reference/tools.md')).map(([name = '', ...rest]) => [
      name.split(',')[0],
      ...rest,
    ]);
    for (const { name, effect, approval } of tools)
      expect(rows.find(([first]) => first === name)?.slice(1, 3)).toEqual([
        effect,
        approval === 'policy' ? 'by policy' : approval,
      ]);
  }

  it('tools.md contains the declarations of the web tools', async () => {
    const tools = webTools();
    await checkDeclarations('web declarations', tools, { http: true });
    expectRows(tools);
  });

  it('tools.md contains the declarations of prompts and saved scripts', async () => {
    const library = { documents: memoryDocuments() };
    const tools = [...promptTools(library), ...snippetTools(library)];
    await checkDeclarations('saved declarations', tools);
    expectRows(tools);
  });

  it('tools.md contains the declarations of the File Cabinet', () =>
    checkDeclarations('cabinet declarations', cabinetTools({ documents: memoryDocuments() })));

  it('tools.md and guest.md contain the declarations', () => {
    const declarations = harness.declarations();
    const border = declarations.indexOf('interface Tools {');
    expect(border).toBeGreaterThan(0);
    checkGenerated('docs/reference/guest.md', 'guest declarations', declarations.slice(0, border), same);
    checkGenerated('docs/reference/tools.md', 'declarations', declarations.slice(border), same);
    for (const tool of codingTools({ roots: workspace.path })) {
      const row = tableRows(readPage('docs/reference/tools.md')).find(([name]) => name === tool.name);
      const asks =
        tool.approval === 'policy' && tool.effect !== 'read'
          ? 'by policy'
          : String(tool.approval === 'policy' ? 'never' : tool.approval);
      expect(row?.slice(0, 3)).toEqual([tool.name, tool.effect, asks]);
    }
  });

  it('guest.md lists every global of a script, and no other', async () => {
    const outcome = await harness.runScript('return Object.getOwnPropertyNames(globalThis)');
    if (outcome.status !== 'completed') throw new Error(outcome.status);
    const lines: string[] = [];
    const names = (outcome.value as string[]).toSorted((left, right) =>
      left.toLowerCase() < right.toLowerCase() ? -1 : 1,
    );
    for (const name of names) {
      const last = lines.at(-1);
      if (last === undefined || last.length + name.length > 108) lines.push(name);
      else lines[lines.length - 1] = `${last}, ${name}`;
    }
    checkGenerated('docs/reference/guest.md', 'globals', lines.join(',\n'), same);
  });

  it('guest.md lists missing globals with the hint that a script gets', async () => {
    const rows = tableRows(readPage('docs/reference/guest.md'), 'Not there');
    expect(rows.length).toBeGreaterThan(15);
    for (const [cell, hint] of rows) {
      const name = plain(cell);
      const outcome = await harness.runScript(`if (typeof ${name} !== 'undefined') return 'it is there';\n${name};`);
      expect(outcome.status === 'failed' ? [name, outcome.error.code, outcome.error.hint] : outcome).toEqual([
        name,
        'ScriptRuntimeError',
        hint,
      ]);
    }
  });

  it('guest.md shows the crossing form of each value', async () => {
    const rows = tableRows(readPage('docs/reference/guest.md'), 'Values');
    expect(rows.length).toBeGreaterThan(25);
    for (const [expression, crossed] of rows) {
      const outcome = await harness.runScript(`return [${plain(expression)}] as unknown`);
      const told =
        outcome.status === 'completed'
          ? `\`${JSON.stringify((outcome.value as unknown[])[0])}\``
          : outcome.status === 'failed' && outcome.error.message.replace(/^.*? is (.*)\.$/u, 'refused: $1');
      expect([expression, told]).toEqual([expression, crossed]);
    }
  });

  it.each(documentedCommands('docs/reference/cli.md'))('cli.md contains the help of "toolscript %s"', (command) => {
    const { output, status } = workspace.run(`toolscript ${command} --help`);
    expect(status).toBe(0);
    checkGenerated('docs/reference/cli.md', `help ${command}`.trim(), output, same);
  });

  it('cli.md lists every command', () => {
    const { output } = workspace.run('toolscript --help');
    const commands = [...output.slice(output.indexOf('\nCommands:')).matchAll(/^ {2}(\w+)\b/gmu)]
      .map(([, name]) => name)
      .filter((name) => name !== 'help' && name !== 'toolscript');
    expect(commands.length).toBeGreaterThanOrEqual(4);
    for (const name of commands) expect(readPage('docs/reference/cli.md')).toContain(`## \`toolscript ${name}`);
  });

  it('docs/how-to/watch-it.md lists the metrics of a server', async () => {
    const sandbox = new QuickJsPool({ size: 1 });
    const token = 'a-token-of-the-pages';
    const server = await createServer({ stores: 'memory:', sandbox, auth: { token } });
    const url = await server.listen({ host: '127.0.0.1', port: 0 });
    const body = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
    await server.close();
    await sandbox.close();
    const help = [...body.matchAll(/^# HELP (.*)$/gmu)].map(([, line]) => `${line}\n`);
    expect(help.length).toBeGreaterThan(30);
    checkGenerated('docs/how-to/watch-it.md', 'metrics', help.join(''), same);
  });

  it('pages about the server show the programs of its examples', () => {
    checkGenerated('docs/how-to/run-a-service.md', 'server', readPage('examples/12-server/server.ts'), same);
    checkGenerated('docs/how-to/in-your-app.md', 'main', readPage('examples/13-in-your-app/main.ts'), same);
  });
});

describe('operations.md', () => {
  it('a process exits by itself when nothing runs, without close', () => {
    const folder = new PageFolder();
    folder.write(
      'no-close.mjs',
      "import { createHarness } from '@toolscript/core';\nconst harness = createHarness({ tools: [] });\nawait harness.warm();\nconsole.log((await harness.runScript('return 1')).value);\n",
    );
    expect(folder.run('node no-close.mjs')).toEqual({ output: '1\n', status: 0 });
    folder.remove();
  });

  it('operations.md names every figure of stats()', async () => {
    const harness = createHarness({ tools: [] });
    const stats = Object.entries(harness.stats()).flatMap(([part, figures]) =>
      Object.keys(figures as object).map((name) => `${part}.${name}`),
    );
    await harness.close();
    expect(stats.length).toBeGreaterThan(8);
    const named = tableRows(readPage('docs/operations.md'), 'What to watch').flatMap(([cell]) =>
      plain(cell).split(', '),
    );
    expect(named.toSorted()).toEqual(stats.toSorted());
  });
});

it('one-call.md names files that exist', () => {
  const files = [...readPage('docs/explanation/one-call.md').matchAll(/`(?<path>[a-z0-9/-]+\.tsx?)`/gu)];
  const packages = readdirSync(join(root, 'packages'));
  const place = (path: string) => {
    const [first = '', ...rest] = path.split('/');
    return packages.includes(first) ? join(first, 'src', ...rest) : join('core/src', path);
  };
  expect(files.length).toBeGreaterThan(30);
  const missing = files
    .map(({ groups }) => groups!['path']!)
    .filter((path) => !existsSync(join(root, 'packages', place(path))));
  expect(missing).toEqual([]);
});

describe('decisions', () => {
  const names = readdirSync(join(root, 'design'));
  const numbered = names.filter((name) => /^\d{3}-[a-z0-9-]+\.md$/u.test(name)).toSorted();

  it('are numbered without gaps, and listed', () => {
    expect(names.filter((name) => !['README.md', 'defences.md'].includes(name)).toSorted()).toEqual(numbered);
    expect(numbered.map((name) => Number(name.slice(0, 3)))).toEqual(numbered.map((_, index) => index + 1));
    for (const name of numbered) expect(readPage('design/README.md')).toContain(`(${name})`);
  });

  it('008: the sandbox worker loads no package, and nothing of core but the sandbox and the rules of JSON', () => {
    const entry = join(root, 'packages/core/dist/sandbox/worker/entry.js');
    const own = new Set<string>();
    const foreign = new Set<string>();
    const follow = (file: string): void => {
      if (own.has(file)) return;
      own.add(file);
      const { module } = parseSync(file, readFileSync(file, 'utf8'));
      const specifiers = [
        ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
        ...module.staticExports.flatMap(({ entries }) =>
          entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
        ),
      ];
      for (const specifier of specifiers) {
        if (specifier.startsWith('.')) follow(resolve(dirname(file), specifier));
        else foreign.add(specifier);
      }
    };
    follow(entry);
    expect(own.size).toBeGreaterThan(4);
    const foreignFiles = [...own]
      .map((file) => relative(join(root, 'packages/core/dist'), file))
      .filter((file) => !file.startsWith('sandbox/'));
    expect(foreignFiles).toEqual(['protocol/json.js']);
    expect(foreign).toContain('node:worker_threads');
    expect([...foreign].filter((specifier) => !specifier.startsWith('node:'))).toEqual([]);
  });
});

const code = (values: readonly string[] | undefined) => (values ?? []).map((value) => `\`${value}\``).join(' ');

/** One row for each family: the parameters that its models accept. */
function modelRows(): string[][] {
  const rows = MODEL_FAMILIES.map(({ models, statements }) => {
    const facts = Object.assign({}, ...statements) as ModelFacts;
    const { temperature = '', forcedToolChoice, chatTools = '', thinking, efforts } = facts;
    const enforcing = models.filter((model) =>
      statements.some(({ of, structuredOutput }) => structuredOutput === true && (of?.includes(model) ?? true)),
    );
    const withPdfs = models.filter((model) =>
      statements
        .findLast(({ of, files }) => files !== undefined && (of?.includes(model) ?? true))
        ?.files!.includes('pdf'),
    );
    const days = statements.map(({ read }) => read).toSorted();
    const sources = [...new Set(statements.map(({ source }) => source))];
    return [
      code(models),
      efforts?.length === 0 ? 'never reasons' : code(efforts),
      temperature,
      code(thinking),
      forcedToolChoice === undefined ? '' : forcedToolChoice ? 'yes' : 'refused',
      chatTools,
      enforcing.length === models.length ? 'enforced' : code(enforcing),
      withPdfs.length === models.length ? 'yes' : code(withPdfs),
      `${days.at(0)}: ${sources.map((source, index) => `[${index + 1}](${source})`).join(' ')}`,
    ];
  });
  return [
    ['models', 'efforts', 'temperature', '`thinking.type`', 'forced call', 'tools in Chat', 'schema', 'PDFs', 'read'],
    ...rows,
  ];
}

/** One row for each model with limits, prices or a last day. */
function modelLimitRows(): string[][] {
  const rows = MODEL_FAMILIES.flatMap(({ models, statements }) =>
    models.flatMap((model) => {
      const facts = statements.filter(({ of }) => of === undefined || of.includes(model));
      const { contextWindow, maxOutputTokens, prices, shutdown } = Object.assign({}, ...facts) as ModelFacts;
      if ([contextWindow, maxOutputTokens, prices, shutdown].every((fact) => fact === undefined)) return [];
      const { input, output, cacheRead, cacheWrite, long } = prices ?? {};
      const longer =
        long === undefined ? '' : `above ${long.above.toLocaleString('en-US')}: ${long.input} / ${long.output}`;
      const figures = [contextWindow, maxOutputTokens, input, output, cacheRead, cacheWrite];
      return [
        [`\`${model}\``, ...figures.map((figure) => figure?.toLocaleString('en-US') ?? ''), longer, shutdown ?? ''],
      ];
    }),
  );
  const head = [
    'model',
    'context window',
    'answer',
    'input $',
    'output $',
    'cache read $',
    'cache write $',
    'long input: input / output $',
    'last day',
  ];
  return [head, ...rows];
}

/** The commands whose help the page has; the empty name means the program itself. */
function documentedCommands(page: string): string[] {
  return blocksOf(readPage(page)).flatMap(({ marker }) => {
    const [found, command = ''] = /^generated help ?(.*)$/u.exec(marker) ?? [];
    return found === undefined ? [] : [command];
  });
}
