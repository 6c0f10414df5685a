import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { z } from 'zod';
import { createCatalog } from '#core/tools/catalog.js';
import {
  declarationFor,
  declarationsFor,
  firstSentence,
  GUEST_DECLARATIONS,
  layOutDeclarations,
} from '#core/tools/declarations.js';
import { defineTool } from '#core/tools/define-tool.js';
import { tries } from '@toolscript/testkit/some-cases';

const tool = (name: string, inputSchema: object, outputSchema?: object, description = 'Does it. Also more.') =>
  defineTool({ name, description, inputSchema, ...(outputSchema && { outputSchema }), execute: () => null });

function parseErrors(text: string): string[] {
  return parseSync('tools.d.ts', text, { lang: 'dts' }).errors.map((error) => error.message);
}

/** The type of one property, on one line. */
function typeOf(schema: object, definitions: object = {}): string {
  const text = declarationsFor([tool('t', { type: 'object', properties: { p: schema }, ...definitions })], {
    detail: 'types',
  });
  expect(parseErrors(text)).toEqual([]);
  return /p\?: (.*) \}\): Promise/.exec(text)?.[1] ?? text;
}

describe('declarations', () => {
  it('contain names, docs, optional members and results', () => {
    const weather = defineTool({
      name: 'getWeather',
      description: 'Current weather for a city.',
      input: z.object({ city: z.string().describe('where'), days: z.number().default(1) }),
      output: z.object({ celsius: z.number() }),
      execute: () => ({ celsius: 1 }),
    });
    expect(declarationFor(weather)).toBe(`interface Tools {
  /** Current weather for a city. */
  getWeather(args: {
    city: string; // where
    days?: number; // default 1
  }): Promise<{ celsius: number }>;
}
`);
  });

  it('hide deprecated optional members from models, but not from the type checker', () => {
    const tool = defineTool({
      name: 'read',
      description: 'Reads.',
      input: z.object({
        path: z.string(),
        depth: z.number().optional().meta({ deprecated: true }),
        key: z.string().meta({ deprecated: true }),
      }),
      output: z.object({ success: z.literal(true).meta({ deprecated: true }), text: z.string() }),
      execute: () => ({ success: true as const, text: '' }),
    });
    expect(declarationFor(tool)).toContain('read(args: { path: string; key: string }): Promise<{ text: string }>;');
    expect(declarationsFor([tool], { everything: true })).toContain(
      'read(args: { path: string; depth?: number; key: string }): Promise<{ success: true; text: string }>;',
    );
  });

  it('show aliases of arguments to the type checker, but not to models', () => {
    const tool = defineTool({
      name: 'read',
      description: 'Reads.',
      input: z.object({ path: z.string(), cwd: z.string().optional() }),
      aliases: { filePath: 'path', workdir: 'cwd' },
      execute: () => '',
    });
    expect(declarationFor(tool)).toContain('read(args: { path: string; cwd?: string }): Promise<any>;');
    expect(declarationsFor([tool], { everything: true })).toContain(
      'read(args: { path: string; cwd?: string; workdir?: string } | { filePath: string; cwd?: string; workdir?: string }): Promise<any>;',
    );
  });

  it('show the type checker every way to write arguments with several aliases', () => {
    const input = z.object({ from: z.string(), to: z.string() });
    const aliases = { source: 'from', src: 'from', target: 'to' };
    const tool = defineTool({ name: 'copy', description: 'Copies.', input, aliases, execute: () => '' });
    const written = declarationsFor([tool], { everything: true });
    for (const from of ['from', 'source', 'src'])
      for (const to of ['to', 'target']) expect(written).toContain(`{ ${from}: string; ${to}: string }`);
  });

  it.each([
    [{ anyOf: [{ required: ['path'] }, { required: ['url'] }], properties: { path: {}, url: {} } }],
    [{ $ref: '#/$defs/a', $defs: { a: { properties: { path: { type: 'string' } }, required: ['path'] } } }],
    [{ properties: Object.fromEntries([...'abcdepath'].map((name) => [name, {}]).concat([['path', {}]])) }],
  ])('leave aliases of arguments that are not a plain list to the validator: %j', (schema) => {
    const inputSchema = { type: 'object', ...schema };
    const tool = defineTool({ name: 't', description: '', inputSchema, aliases: { file: 'path' }, execute: () => '' });
    expect(declarationsFor([tool], { everything: true })).toMatch(/file\?: unknown|\| Record<string, unknown>/u);
  });

  it.each([
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'string', nullable: true }, 'string | null'],
    [{ type: 'integer' }, 'number'],
    [{ enum: ['a', 2, null, true] }, '"a" | 2 | null | true'],
    [{ const: 'x"y' }, '"x\\"y"'],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, '(string | number)[]'],
    [{ type: 'array', items: { enum: ['a|b'] } }, '"a|b"[]'],
    [{ type: 'array' }, 'unknown[]'],
    [
      {
        type: 'array',
        prefixItems: [{ type: 'string' }, { type: ['number', 'null'] }],
        minItems: 1,
        items: { type: 'boolean' },
      },
      '[string, (number | null)?, ...boolean[]]',
    ],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object' }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [
      { type: 'object', properties: { 'a-b': {}, c: { type: 'string' } }, required: ['c'], additionalProperties: true },
      '{ "a-b"?: unknown; c: string; [key: string]: unknown }',
    ],
    [
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'number' } } },
        ],
      },
      '{ a: string; b?: number }',
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        allOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }] }],
      },
      '(string | number) & { a?: string }',
    ],
    [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
    [{ $ref: 'https://evil.example/x.json' }, 'unknown'],
    [true, 'unknown'],
    [false, 'never'],
    [{}, 'unknown'],
  ])('write %j as %s', (schema, type) => {
    if ((schema as { $ref?: string }).$ref !== undefined) {
      expect(
        declarationsFor([{ ...tool('t', {}), inputSchema: { type: 'object', properties: { p: schema as never } } }], {
          detail: 'types',
        }),
      ).toContain(`p?: ${type}`);
    } else expect(typeOf(schema as object)).toBe(type);
  });

  it('name types that are used twice or refer to themselves, and inline the others', () => {
    const $defs = {
      node: {
        type: 'object',
        properties: { next: { $ref: '#/$defs/node' }, list: { type: 'array', items: { $ref: '#/$defs/leaf' } } },
      },
      leaf: { type: 'string' },
    };
    const text = declarationsFor(
      [tool('walk', { type: 'object', properties: { start: { $ref: '#/$defs/node' } }, $defs })],
      { detail: 'types' },
    );
    expect(text).toContain('type Walk_node = { next?: Walk_node; list?: string[] };');
    expect(text).toContain('start?: Walk_node');
  });

  it('never name a type that is only itself', () => {
    expect(
      typeOf({ $ref: '#/$defs/a' }, { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }),
    ).not.toContain('= T_a');
    const text = declarationsFor(
      [
        tool('t', {
          type: 'object',
          properties: { p: { $ref: '#/$defs/a' } },
          $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } },
        }),
      ],
      { detail: 'types' },
    );
    expect(text).not.toMatch(/type (\w+) = .*\b\1\b/);
    const record = declarationsFor(
      [
        tool('t', {
          type: 'object',
          properties: { p: { $ref: '#/$defs/a' } },
          $defs: { a: { type: 'object', additionalProperties: { $ref: '#/$defs/a' } } },
        }),
      ],
      { detail: 'types' },
    );
    expect(record).toContain('type T_a = { [key: string]: T_a };');
  });

  it('let no description end its comment or hide in it', () => {
    const text = declarationsFor([
      tool('t', {}, undefined, 'Harmless */ evil(): void; /* \u202e\u200b\nnext\u2028line \ud800'),
    ]);
    expect(parseErrors(text)).toEqual([]);
    expect(text).toContain('  /**\n   * Harmless *\\/ evil(): void; /*\n   * next line\n   */');
  });

  it('show the beginning of a description of many lines', () => {
    const text = declarationsFor([
      tool('t', {}, undefined, Array.from({ length: 500 }, (_, n) => `Line ${n}.`).join('\n')),
    ]);
    expect(parseErrors(text)).toEqual([]);
    expect(text).toContain('* Line 0.\n');
    expect(text).not.toContain('Line 499.');
    expect(text).toContain('…\n   */');
  });

  it('require arguments if each choice of a union requires a member', () => {
    const member = (name: string) => ({ properties: { [name]: { type: 'string' } } });
    const either = (required: string[]) => ({
      type: 'object',
      anyOf: ['a', 'b'].map((name) => ({ ...member(name), required: required.filter((one) => one === name) })),
    });
    expect(declarationsFor([tool('t', either(['a', 'b']))])).toContain('t(args: ');
    expect(declarationsFor([tool('t', either(['a']))])).toContain('t(args?: ');
  });

  it('nest namespaces and write hyphens as underscores', () => {
    const text = declarationsFor([tool('agents.llm.chat', {}), tool('agents.launch-it', {}), tool('get-user', {})], {
      detail: 'types',
    });
    expect(text).toMatch(
      / {2}get_user\(args\?: [^\n]*\n {2}agents: \{\n[\s\S]* {4}launch_it\([\s\S]* {4}llm: \{\n[\s\S]* {6}chat\(/,
    );
    expect(parseErrors(text)).toEqual([]);
  });

  it('shrink from full to types to signatures to names', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'object', description: 'd'.repeat(80), properties: { b: { type: 'string' } } } },
    };
    const tools = [tool('one', schema, schema), tool('two', schema)];
    const lengths = (['full', 'types', 'signatures', 'names'] as const).map(
      (detail) => declarationsFor(tools, { detail }).length,
    );
    expect(lengths).toEqual(lengths.toSorted((left, right) => right - left));
    expect(declarationsFor(tools, { detail: 'names' })).toBe('// tools.one: Does it.\n// tools.two: Does it.\n');
  });

  it('declare members that may be absent as optional, on request', () => {
    expect(declarationsFor([], { optionalMembers: true })).toBe(
      'interface Tools {\n  spawn?: undefined;\n  http?: undefined;\n  mcp?: undefined;\n}\n',
    );
    expect(declarationsFor([tool('http', {})], { optionalMembers: true, spawn: true })).toContain(
      '  spawn: ToolSpawner;\n  mcp?: undefined;',
    );
  });

  it('of the fixed globals parse', () => {
    expect(parseErrors(declarationsFor([tool('a', {})], { optionalMembers: true }) + GUEST_DECLARATIONS)).toEqual([]);
    expect(GUEST_DECLARATIONS).toContain(
      "declare class ToolExecutionError extends Error { readonly code: 'ToolExecutionError'",
    );
    expect(parseErrors('interface {')).not.toEqual([]);
  });

  it('of random schemas parse, at every detail', () => {
    const name = fc.oneof(
      fc.constantFrom('a', 'b-c', '*/', '"', '__proto__', 'x y', 'delete'),
      fc.string({ maxLength: 5 }),
    );
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.record(
          {
            type: fc.constantFrom('string', 'integer', 'boolean', 'null', ['string', 'null']),
            description: fc.string(),
            default: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
        fc.record({ enum: fc.array(fc.jsonValue(), { maxLength: 4 }) }),
        fc.record({ const: fc.string({ unit: 'binary' }) }),
        fc.record({ type: fc.constant('array'), items: tie('schema') }, { requiredKeys: ['type'] }),
        fc.record(
          {
            type: fc.constant('array'),
            prefixItems: fc.array(tie('schema'), { maxLength: 3 }),
            items: tie('schema'),
            minItems: fc.nat(2),
          },
          { requiredKeys: ['prefixItems'] },
        ),
        fc.record(
          {
            properties: fc.dictionary(name, tie('schema'), { maxKeys: 4 }),
            required: fc.array(name, { maxLength: 2 }),
            additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
            nullable: fc.boolean(),
          },
          { requiredKeys: ['properties'] },
        ),
        fc.record(
          {
            anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
            allOf: fc.array(tie('schema'), { maxLength: 3 }),
          },
          { requiredKeys: [] },
        ),
        fc.constantFrom({ $ref: '#' }, { $ref: '#/$defs/one' }, { $ref: '#/$defs/two' }),
      ),
    }));
    fc.assert(
      fc.property(schema, schema, schema, (shape, one, two) => {
        const root = { type: 'object', properties: { p: shape, q: one }, $defs: { one, two } };
        const tools = [tool('probe', root, root), tool('name.space', root)];
        for (const detail of ['full', 'types', 'signatures', 'names'] as const) {
          const text = declarationsFor(tools, { detail });
          expect(parseErrors(text)).toEqual([]);
          expect(declarationsFor(tools, { detail })).toBe(text);
        }
      }),
      { numRuns: tries(300) },
    );
  });

  it('of a large schema stay small', () => {
    const branch = (level: number): object =>
      level === 0
        ? { type: 'string' }
        : {
            type: 'object',
            properties: Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, branch(level - 1)])),
          };
    expect(declarationsFor([tool('t', { type: 'object', properties: { p: branch(5) } })]).length).toBeLessThan(200_000);
  });
});

describe('a first sentence', () => {
  it('ends at the first full stop that ends a word', () => {
    expect(firstSentence('Reads v1.2 files. Then more.')).toBe('Reads v1.2 files.');
    expect(firstSentence('No stop\nhere')).toBe('No stop here');
    expect(firstSentence('')).toBe('');
    expect(firstSentence('x'.repeat(500)).length).toBeLessThanOrEqual(161);
  });
});

describe('a catalog', () => {
  const tools = [
    tool(
      'readFile',
      { type: 'object', properties: { filePath: { type: 'string' } } },
      undefined,
      'Reads a file from disk. Long text.',
    ),
    tool(
      'grepFiles',
      { type: 'object', properties: { pattern: { type: 'string' } } },
      undefined,
      'Searches file contents with a regular expression.',
    ),
    tool(
      'github.create-issue',
      { type: 'object', properties: { title: { type: 'string' } } },
      undefined,
      'Opens a new issue.',
    ),
    tool('github.search', {}, undefined, 'Finds repositories.'),
    tool('weather', { type: 'object', properties: { city: { type: 'string' } } }, undefined, 'Current conditions.'),
  ];
  const catalog = createCatalog(tools);
  const found = (query: string, limit?: number) =>
    catalog.search(query, limit === undefined ? {} : { limit }).map((summary) => summary.name);

  it('finds by name, description and parameter, names first', () => {
    expect(found('read file')[0]).toBe('readFile');
    expect(found('regular expressions')).toEqual(['grepFiles']);
    expect(found('city')).toEqual(['weather']);
    expect(found('search')[0]).toBe('github.search');
    expect(found('github issues')[0]).toBe('github.create_issue');
    expect(found('repos')).toEqual(['github.search']);
    expect(found('github.create_issue')[0]).toBe('github.create_issue');
  });

  it('finds nothing for an empty query, and no more than requested', () => {
    expect(found('')).toEqual([]);
    expect(found('zzz')).toEqual([]);
    expect(found('file', 1)).toHaveLength(1);
    expect(found('file', Number.NaN).length).toBeGreaterThan(0);
    expect(found('constructor __proto__')).toEqual([]);
  });

  it('describes a tool by its name in both forms, and suggests names for a wrong one', () => {
    expect(catalog.describe('github.create-issue')).toContain('create_issue(args?');
    expect(catalog.describe('github.create_issue')).toBe(catalog.describe('github.create-issue'));
    expect(catalog.describe('nope')).toBeUndefined();
    expect(catalog.explainMissing('readfil')).toContain('Did you mean readFile?');
  });

  it('lists everything, or one namespace, with first sentences', () => {
    expect(catalog.list()).toHaveLength(5);
    expect(catalog.list('github').map((summary) => summary.name)).toEqual(['github.create_issue', 'github.search']);
    expect(catalog.list()[0]).toEqual({ name: 'readFile', description: 'Reads a file from disk.' });
    expect(catalog.list('git')).toEqual([]);
  });

  it('accepts any query', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 50, unit: 'binary' }),
        (query) => void expect(catalog.search(query).length).toBeLessThanOrEqual(10),
      ),
      { numRuns: tries(500) },
    );
  });
});

describe('a name that is no identifier', () => {
  it('is an alias of the members that were given under it, and of no others', () => {
    const text = declarationsFor([tool('my-app.read', {}), tool('my-app.write-all', {}), tool('my_app.list', {})]);
    expect(parseErrors(text)).toEqual([]);
    expect(text).toContain('"my-app": Pick<Tools["my_app"], "read" | "write_all" | "write-all">;');
    expect(declarationsFor([tool('my-app.read', {})])).toContain('"my-app": Tools["my_app"];');
  });
});

it('a list of names shows the first sentence of each description, and only the name of a tool without one', () => {
  const named = [tool('a', {}), tool('b', {}, undefined, '')];
  expect(declarationsFor(named, { detail: 'names' })).toBe('// tools.a: Does it.\n// tools.b\n');
});

it('the number of tools that are not declared stands in their namespace, and that of the root in none', () => {
  const missing = new Map([
    ['', 2],
    ['a.b', 3],
  ]);
  expect(layOutDeclarations([], { missing })).toBe(
    'interface Tools {\n  a: {\n    // b: 3 tools\n  };\n  // … 2 more\n}\n',
  );
});
