import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { parseSync } from 'oxc-parser';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createCatalog } from '#core/tools/catalog.js';
import { declarationFor, declarationsFor, GUEST_DECLARATIONS } from '#core/tools/declarations.js';
import { defineTool } from '#core/tools/define-tool.js';
import type { Tool } from '../../src/protocol/tools.js';
import { openHarness, valueOf } from '../harness/open-harness.js';
import { ALL_CASES, tries } from '@toolscript/testkit/some-cases';
import { mcpTools } from './mcp-tools.js';

/** The number of random tools that the compiler reads. */
const SAMPLES = ALL_CASES ? 150 : tries(50, 15);
const DETAILS = ['full', 'types', 'signatures', 'names'] as const;

const tool = (name: string, inputSchema: object = {}, outputSchema?: object, description = 'Does it.'): Tool =>
  defineTool(
    {
      name,
      description,
      effect: 'read',
      approval: 'never',
      inputSchema,
      ...(outputSchema && { outputSchema }),
      execute: () => name,
    },
    name.startsWith('mcp.') ? { namespace: 'mcp' } : {},
  );

/** A tool with schemas that no validator has checked. */
const unchecked = (name: string, inputSchema: object, outputSchema?: object): Tool =>
  ({ ...tool(name), inputSchema, outputSchema }) as Tool;

const withProperty = (schema: unknown, more: object = {}) => ({ type: 'object', properties: { p: schema }, ...more });

/** The type of one property, on one line. */
function typeOf(schema: unknown, more?: object): string {
  const text = declarationsFor([unchecked('t', withProperty(schema, more))], { detail: 'types' });
  expect(parseErrors(text)).toEqual([]);
  return /p\?: (.*) \}\): Promise/u.exec(text)?.[1] ?? text;
}

function parseErrors(text: string): string[] {
  return parseSync('tools.d.ts', text, { lang: 'dts' }).errors.map((error) => error.message);
}

/** The diagnostics of TypeScript's own compiler for files with this text. */
function compileErrors(files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-declarations-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [index, text] of files.entries()) writeFileSync(join(folder, `file${index}.ts`), `export {};\n${text}`);
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const names = files.map((_, index) => `file${index}.ts`);
  const { stdout } = spawnSync(
    process.execPath,
    [compiler, '--noEmit', '--strict', '--target', 'es2024', '--types', '', ...names],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  return stdout;
}

const text = fc.oneof(
  fc.constantFrom('*/ evil(): void; /*', '`${x}`', '// x', '\u2028evil', '\u202eevil', '"', '\\', '*\\/', '</script>'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);
const name = fc.oneof(
  fc.constantFrom('a', 'b-c', '*/', '__proto__', 'constructor', 'x y', 'delete', '1', '\u202eq'),
  text,
);
const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const schemas = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  const members = fc.dictionary(name, tie('schema'), { maxKeys: 3, noNullPrototype: true });
  return {
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      fc.constantFrom(
        { $ref: '#' },
        { $ref: '#/$defs/one' },
        { $ref: '#/$defs/two', nullable: true },
        { $dynamicRef: '#/$defs/one' },
        { $ref: 'https://example.org/schema.json' },
        { $ref: '#/nowhere' },
      ),
      fc.record(
        {
          type: fc.constantFrom(
            'string',
            'integer',
            'number',
            'boolean',
            'null',
            'array',
            'object',
            'odd',
            ['string', 'null'],
            ['array', 'object'],
          ),
          title: text,
          description: text.map((words) => `FROMDESCRIPTION ${words} FROMDESCRIPTION`),
          default: fc.jsonValue(),
          format: text,
          nullable: fc.boolean(),
          enum: fc.array(fc.jsonValue(), { maxLength: 3 }),
          const: fc.jsonValue(),
          items: fc.oneof(tie('schema'), schemas),
          prefixItems: schemas,
          additionalItems: tie('schema'),
          minItems: fc.nat(3),
          properties: members,
          required: fc.array(name, { maxLength: 2 }),
          additionalProperties: tie('schema'),
          patternProperties: members,
          propertyNames: tie('schema'),
          unevaluatedProperties: tie('schema'),
          anyOf: schemas,
          oneOf: schemas,
          allOf: schemas,
          not: tie('schema'),
          if: tie('schema'),
          // oxlint-disable-next-line unicorn/no-thenable
          then: tie('schema'),
          else: tie('schema'),
          contains: tie('schema'),
          dependentSchemas: members,
        },
        { requiredKeys: [] },
      ),
    ),
  };
});
const tools = fc.tuple(schema, schema, schema, text).map(([shape, one, two, words]) => {
  const root = withProperty(shape, { description: 'FROMDESCRIPTION', $defs: { one, two } });
  const described = { description: `FROMDESCRIPTION ${words}\n${words} FROMDESCRIPTION` };
  return [
    { ...unchecked('probe', root, root), ...described },
    { ...unchecked('name-space.get-it', root, { $ref: '#/$defs/two', $defs: { one, two } }), ...described },
  ];
});

describe('declarations of any JSON Schema', () => {
  it('parse as TypeScript, at every detail, and contain words of a description only in comments', () => {
    fc.assert(
      fc.property(tools, (list) => {
        for (const detail of DETAILS) {
          const declarations = declarationsFor(list, { detail });
          const { errors, comments } = parseSync('tools.d.ts', declarations, { lang: 'dts' });
          expect(errors).toEqual([]);
          let code = declarations;
          for (const { start, end } of comments.toReversed()) code = code.slice(0, start) + code.slice(end);
          expect(code).not.toContain('FROMDESCRIPTION');
          if (detail === 'full') expect(declarations).toContain('FROMDESCRIPTION');
          expect(declarations).not.toMatch(/[\p{Bidi_Control}\u2028\u2029]/u);
        }
      }),
      { numRuns: tries(250) },
    );
  });

  it(`are accepted by the TypeScript compiler: ${SAMPLES} pairs of tools`, () => {
    const files = fc
      .sample(tools, { numRuns: SAMPLES, seed: 7 })
      .flatMap((list) => [declarationsFor(list), declarationsFor(list, { detail: 'signatures' })]);
    expect(compileErrors(['const broken: number = "text";'])).toContain('TS2322');
    expect(compileErrors(files)).toBe('');
  });
});

describe('declarations', () => {
  it.each([
    [
      '$ref beside nullable',
      { $ref: '#/$defs/a', nullable: true },
      { $defs: { a: { type: 'string' } } },
      'string | null',
    ],
    ['$ref to nothing', { $ref: '#/$defs/none' }, {}, 'unknown'],
    ['a $ref that points outside', { $ref: 'file:///etc/passwd' }, {}, 'unknown'],
    [
      'a union in an array',
      { type: 'array', items: { oneOf: [{ type: 'string' }, { type: 'null' }] } },
      {},
      '(string | null)[]',
    ],
    [
      'a union in an intersection',
      { allOf: [{ type: ['string', 'number'] }, { enum: ['a', 1] }] },
      {},
      '(string | number) & ("a" | 1)',
    ],
    [
      'allOf with properties and what the whole requires of them',
      {
        allOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'number' } } }],
        required: ['b'],
      },
      {},
      '{ a?: string; b: number }',
    ],
    ['a nullable enum', { enum: ['a', 'b'], nullable: true }, {}, '"a" | "b" | null'],
    ['a long enum of numbers', { enum: Array.from({ length: 61 }, (_, index) => index) }, {}, 'number'],
    [
      'a record',
      { type: 'object', additionalProperties: { type: ['string', 'null'] } },
      {},
      'Record<string, string | null>',
    ],
    [
      'a record by patterns',
      { type: 'object', patternProperties: { '^x': { type: 'number' } }, additionalProperties: false },
      {},
      'Record<string, number>',
    ],
    [
      'members beside patterns',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        patternProperties: { '^x': {} },
        additionalProperties: false,
      },
      {},
      '{ a?: string; [key: string]: unknown }',
    ],
    [
      'a member that is required but not described',
      { type: 'object', required: ['x'] },
      {},
      '{ x: unknown; [key: string]: unknown }',
    ],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 2, items: false },
      {},
      '[string, number]',
    ],
    [
      'a tuple of an older draft',
      { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'null' } },
      {},
      '[string?, ...null[]]',
    ],
    [
      'a name with a direction mark',
      { type: 'object', properties: { 'a\u202eb': { type: 'null' } } },
      {},
      '{ "a\\u202eb"?: null }',
    ],
    ['a literal longer than a line', { const: 'x'.repeat(500) }, {}, 'string'],
    [
      'a name longer than a line',
      { type: 'object', properties: { ['x'.repeat(500)]: {}, a: {} } },
      {},
      '{ a?: unknown; [key: string]: unknown }',
    ],
  ])('tell %s', (_, property, more, type) => {
    expect(typeOf(property, more)).toBe(type);
  });

  it('never follow a $ref that points outside', () => {
    const outside = { $ref: 'http://127.0.0.1:9/x.json' };
    const declarations = declarationFor(unchecked('t', { ...outside, properties: { a: outside } }, outside));
    expect(declarations).not.toContain('127.0.0.1');
    expect(declarations).toContain('Promise<any>');
  });

  it('make arguments optional exactly if a call without any is valid', () => {
    const cases: [object, boolean][] = [
      [{}, true],
      [{ properties: { a: { type: 'string' } } }, true],
      [{ properties: { a: { type: 'string' } }, required: ['a'] }, false],
      [{ properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }, false],
      [{ anyOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }] }, true],
      [{ allOf: [{ properties: { a: { type: 'string' } } }] }, true],
    ];
    for (const [inputSchema, optional] of cases) {
      const one = tool('t', inputSchema);
      expect(one.validateInput({}).ok).toBe(optional);
      expect(declarationFor(one)).toContain(optional ? 't(args?: ' : 't(args: ');
    }
    const recursive = z.object({
      name: z.string().optional(),
      get inner() {
        return recursive.optional();
      },
    });
    expect(declarationFor(defineTool({ name: 't', description: '', input: recursive, execute: () => null }))).toContain(
      't(args?: T_Root)',
    );
  });

  it('use any for a tool without an output schema', () => {
    expect(declarationFor(tool('t'))).toContain('): Promise<any>;');
  });

  it('declare names that are not identifiers in both forms', () => {
    const declarations = declarationsFor(
      [tool('get-user'), tool('mcp.my-server.list-all'), tool('mcp.my-server.get'), tool('mcp.other.get')],
      { detail: 'types' },
    );
    expect(declarations).toContain('  "get-user": Tools["get_user"];\n');
    expect(declarations).toContain('      "list-all": Tools["mcp"]["my_server"]["list_all"];\n');
    expect(declarations).toContain('    "my-server": Tools["mcp"]["my_server"];\n');
    expect(declarations.match(/": Tools/gu)).toHaveLength(3);
    const shared = declarationsFor([tool('a-b.one-x'), tool('a_b.two')], { detail: 'types' });
    expect(shared).toContain('"a-b": Pick<Tools["a_b"], "one_x" | "one-x">;');
  });

  it('declare the same names as at run time: every written form of every name, and no other', async () => {
    const list = [
      tool('get-user'),
      tool('plain'),
      tool('mcp.my-server.list-all'),
      tool('mcp.my-server.get'),
      tool('a-b.one-x'),
      tool('a_b.two'),
      tool('3d.2-x'),
    ];
    const harness = openHarness({ tools: list, expose: { mcp: true }, approvals: 'auto' });
    const forms = harness.tools().flatMap(({ name }) => writtenForms(name).map((form) => [form, name] as const));
    expect(forms).toHaveLength(2 + 1 + 4 + 2 + 4 + 1 + 4);
    const access = (form: string) =>
      `tools${form
        .split('.')
        .map((part) => `[${JSON.stringify(part)}]`)
        .join('')}`;
    const script = `return await Promise.all([${forms.map(([form]) => `${access(form)}({})`).join(', ')}]);`;
    expect(valueOf(await harness.runScript(script))).toEqual(forms.map(([, name]) => name));
    const declared = `${harness.declarations()}\n${forms.map(([form]) => `${access(form)}({});`).join('\n')}`;
    expect(compileErrors([declared])).toBe('');
    for (const absent of ['get-User', 'a-b.two', 'mcp.my-server.list_All'])
      expect(compileErrors([`${harness.declarations()}\n${access(absent)}({});`])).toMatch(/TS2339|TS2551|TS7053/u);
  });

  it('give the types of tools unique names', () => {
    const recursive = (definition: string) => ({
      ...withProperty({ $ref: `#/$defs/${definition}` }),
      $defs: { [definition]: { type: 'object', properties: { next: { $ref: `#/$defs/${definition}` } } } },
    });
    const list = [
      ['get-it', 'c'],
      ['Get_it', 'c'],
      ['a.b', 'c'],
      ['a_b', 'c'],
      ['a_b_c', 'd'],
      ['x', 'b_c'],
      ['x_b', 'c'],
      ['y', 'c'],
      ['y_Result', 'c'],
    ].map(([name = '', definition = '']) => tool(name, recursive(definition), recursive(definition)));
    const names = [...declarationsFor(list).matchAll(/^type (\w+) =/gmu)].map(([, name]) => name);
    expect(names.length).toBeGreaterThanOrEqual(list.length * 2);
    expect(new Set(names).size).toBe(names.length);
    expect(compileErrors([declarationsFor(list)])).toBe('');
  });

  it('are the same text for the model and for the checker, and are TypeScript together with the globals', () => {
    const harness = openHarness({
      tools: [tool('get-user', withProperty({ type: 'string' }))],
      expose: { spawn: true },
    });
    expect(harness.declarations()).toContain(GUEST_DECLARATIONS);
    const shown = declarationsFor(harness.tools());
    expect(harness.instructions()).toContain(shown.trimEnd());
    const members = shown.slice(shown.indexOf('{\n') + 2, shown.lastIndexOf('}'));
    expect(harness.declarations()).toContain(members);
  });
});

describe('a catalog of 1000 tools', () => {
  const list = mcpTools([
    ...Array.from({ length: 32 }, (_, index) => ({ name: `server${index}`, tools: 31 })),
    { name: 'weather', tools: 8, description: 'Tells the barometric pressure.', words: ['pressure', 'of'] },
  ]);
  const catalog = createCatalog(list);

  it('ranks a name above a parameter, and a parameter above a description', () => {
    expect(list).toHaveLength(1_000);
    expect(catalog.search('pressure')).toHaveLength(8);
    expect(catalog.search('barometric')[0]?.name).toMatch(/^mcp\.weather\./u);
    expect(catalog.search('delete issue')[0]?.name).toMatch(/delete_issue$/u);
    expect(catalog.search('mcp.server7.move_issue')[0]?.name).toBe('mcp.server7.move_issue');
    const small = createCatalog([
      tool('one', {}, undefined, 'Knows the colour of it.'),
      tool('two', withProperty({}, { properties: { colour: { type: 'string' } } })),
      tool('colour', {}),
    ]);
    expect(small.search('colour').map((summary) => summary.name)).toEqual(['colour', 'two', 'one']);
  });

  it('describes one tool, by every form of its name', () => {
    const description = catalog.describe('mcp.server7.move-issue');
    expect(description).toContain('move_issue(args: {');
    expect(description?.match(/Promise</gu)).toHaveLength(1);
    expect(catalog.describe('mcp.server7.move_issue')).toBe(description);
    expect(parseErrors(description ?? '')).toEqual([]);
  });
});

/** Each part of the name unchanged, and as an identifier. */
function writtenForms(name: string): string[] {
  const parts = name.split('.').map((part) => {
    const identifier = part.replaceAll('-', '_').replace(/^(?=\d)/u, '_');
    return [...new Set([identifier, part])];
  });
  return parts.reduce<string[]>(
    (starts, forms) => starts.flatMap((start) => forms.map((form) => (start === '' ? form : `${start}.${form}`))),
    [''],
  );
}
