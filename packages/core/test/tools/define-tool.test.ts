import { describe, expect, it, vi } from 'vitest';
import * as fc from 'fast-check';
import { z } from 'zod';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { defineTool } from '#core/tools/define-tool.js';
import { issueLines } from '#core/schema/validation-issues.js';
import { tries } from '@toolscript/testkit/some-cases';

const base = { name: 'probe', description: 'Probes.', execute: () => null };
const toolWith = (input: z.ZodType) => defineTool({ ...base, input });
const check = (input: z.ZodType, value: unknown) => toolWith(input).validateInput(value);
const problems = (input: z.ZodType, value: unknown) => {
  const result = check(input, value);
  return result.ok ? '' : issueLines(result.issues);
};

describe('a definition', () => {
  it('becomes a frozen tool with defaults', () => {
    const tool = defineTool(base);
    expect(Object.isFrozen(tool)).toBe(true);
    expect(Object.isFrozen(tool.inputSchema)).toBe(true);
    expect(tool).toMatchObject({ name: 'probe', approval: 'policy', effect: 'external', outputSchema: undefined });
    expect(tool.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });

  it('without input takes no arguments', () => {
    const tool = defineTool(base);
    expect(tool.validateInput(undefined)).toEqual({ ok: true, value: {} });
    expect(tool.validateInput({ a: 1 }).ok).toBe(false);
  });

  it('with an unknown member is rejected, naming the nearest', () => {
    expect(() => defineTool({ ...base, inputs: z.object({}) } as never)).toThrow(
      /unknown member "inputs". Did you mean input/,
    );
  });

  it.each([
    [{ ...base, description: undefined }, /needs a description/],
    [{ ...base, execute: 'x' }, /needs a function "execute"/],
    [{ ...base, approval: 'sometimes' }, /approval of the tool "probe" must be/],
    [{ ...base, effect: 'none' }, /effect of the tool "probe" must be/],
    [{ ...base, preview: 'x' }, /"preview" of the tool "probe" must be a function/],
    [{ ...base, input: z.object({}), inputSchema: {} }, /both "input" and "inputSchema"/],
    [
      { ...base, input: { type: 'object' } },
      /is not a schema of zod 4 or of Standard Schema; .* "inputSchema" takes a JSON Schema/,
    ],
    [{ ...base, input: z.string() }, /must describe an object/],
    [{ ...base, inputSchema: { type: 'string' } }, /must describe an object/],
    [{ ...base, inputSchema: [] }, /must be a JSON Schema object/],
    [undefined, /needs an object/],
  ])('that is wrong is refused in one sentence %#', (definition, message) => {
    expect(() => defineTool(definition as never)).toThrow(ToolscriptUsageError);
    expect(() => defineTool(definition as never)).toThrow(message);
  });

  it.each(['readFile', 'get-user', 'prompts.save', '3d', '$x', 'a'.repeat(64), 'http'])(
    'may have the name %s',
    (name) => {
      expect(defineTool({ ...base, name }).name).toBe(name);
    },
  );

  it.each([
    '',
    'a b',
    'a..b',
    '.a',
    'a.',
    'mcp.x.y',
    'mcp',
    'spawn',
    'spawn.exec',
    'http.get',
    'then',
    'a.then',
    '__proto__',
    'a.constructor',
    'prototype',
    'é',
    'a'.repeat(65),
    'x/y',
    7,
    undefined,
  ])('may not have the name %s', (name) => {
    expect(() => defineTool({ ...base, name } as never)).toThrow(ToolscriptUsageError);
  });

  it('may have a name under mcp only if that namespace is opened', () => {
    expect(defineTool({ ...base, name: 'mcp.github.list-issues' }, { namespace: 'mcp' }).name).toBe(
      'mcp.github.list-issues',
    );
    expect(() => defineTool({ ...base, name: 'github.list' }, { namespace: 'mcp' })).toThrow(/mcp.SERVER.TOOL/);
  });
});

describe('aliases of arguments', () => {
  const ran = vi.fn();
  const tool = defineTool({
    name: 'read',
    description: 'Reads.',
    input: z.object({ path: z.string(), cwd: z.string().optional() }),
    aliases: { filePath: 'path', file: 'path', workdir: 'cwd' },
    execute: ran,
  });
  const open = defineTool({
    name: 'open',
    description: 'Takes anything.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: true },
    aliases: { filePath: 'path', file: 'path' },
    execute: ran,
  });

  it('are accepted, and everything after the call sees the names', () => {
    expect(tool.validateInput({ filePath: 'a', workdir: 'b' })).toEqual({ ok: true, value: { path: 'a', cwd: 'b' } });
    expect(tool.validateInput({ path: 'a', workdir: 'b' })).toEqual({ ok: true, value: { path: 'a', cwd: 'b' } });
  });

  it.each([
    [{ path: 'a', filePath: 'b' }, 'args.filePath'],
    [{ filePath: 'b', path: 'a' }, 'args.filePath'],
    [{ filePath: 'b', file: 'a' }, 'args.file'],
  ])('are rejected together with the name, and with another of the same argument: %j', (given, path) => {
    const message = 'is an alias of path, which is given too; give path alone';
    expect(tool.validateInput(given)).toEqual({ ok: false, issues: [{ path, message }] });
    expect(open.validateInput(given)).toEqual({ ok: false, issues: [{ path, message }] });
  });

  it('are understood in a call that was suspended with them', () => {
    void tool.execute({ filePath: 'a' } as never, {} as never);
    expect(ran).toHaveBeenCalledWith({ path: 'a' }, {});
  });

  it('must stand for names', () => {
    const define = (aliases: unknown) => () =>
      defineTool({ name: 't', description: '', aliases, execute: ran } as never);
    expect(define({ a: 1 })).toThrow('"aliases" of the tool "t" must be an object of names.');
    for (const wrong of ['a', null, ['path']]) expect(define(wrong)).toThrow(ToolscriptUsageError);
  });

  it.each([
    ['an argument', { cwd: 'path' }, '"aliases" of the tool "t" has "cwd", which is the name of an argument'],
    ['its own name', { path: 'path' }, 'has "path", which is the name of an argument'],
    [
      'no argument',
      { file: 'paht' },
      'has "file" for "paht", which no argument has as its name; the arguments are path, cwd.',
    ],
    ['an alias', { a: 'b', b: 'path' }, 'has "a" for "b", which no argument has as its name'],
  ])('are refused where one is or stands for %s', (_, aliases, message) => {
    const input = z.object({ path: z.string(), cwd: z.string().optional() });
    expect(() => defineTool({ name: 't', description: '', input, aliases: aliases as never, execute: ran })).toThrow(
      message,
    );
  });

  it('may refer to arguments in a reference or a branch of the schema', () => {
    const inputSchema = { type: 'object', $ref: '#/$defs/a', $defs: { a: { properties: { path: {} } } } };
    const referring = defineTool({ name: 't', description: '', inputSchema, aliases: { file: 'path' }, execute: ran });
    expect(referring.validateInput({ file: 'a' })).toEqual({ ok: true, value: { path: 'a' } });
  });
});

describe('a zod schema that JSON cannot represent', () => {
  const cases: [string, z.ZodType, RegExp][] = [
    ['date', z.date(), /z\.iso\.datetime/],
    ['bigint', z.bigint(), /z\.int/],
    ['int64', z.int64(), /z\.int/],
    ['map', z.map(z.string(), z.string()), /z\.record/],
    ['set', z.set(z.string()), /z\.array/],
    ['symbol', z.symbol(), /z\.string/],
    ['undefined', z.undefined(), /optional/],
    ['void', z.void(), /z\.null/],
    ['nan', z.nan(), /nullable/],
    ['instanceof', z.instanceof(URL), /z\.object/],
    ['custom', z.custom(), /z\.object/],
    ['transform', z.string().transform(Number), /inside execute/],
    ['preprocess', z.preprocess((value) => value, z.string()), /inside execute/],
    ['coerce', z.coerce.number(), /use z\.number/],
    ['codec', z.stringbool(), /inside execute/],
    ['promise', z.promise(z.string()), /resolves to/],
    ['file', z.file(), /base64/],
    ['literal', z.literal(1n), /no JSON form/],
    ['success', z.success(z.string()), /data itself/],
  ];

  it.each(cases)('is refused with its path and the replacement: %s', (_name, schema, replacement) => {
    const input = z.object({ outer: z.object({ list: z.array(schema) }) });
    expect(() => toolWith(input)).toThrow(ToolscriptUsageError);
    expect(() => toolWith(input)).toThrow(/outer\.list\[\]/);
    expect(() => toolWith(input)).toThrow(replacement);
    expect(() => defineTool({ ...base, output: schema } as never)).toThrow(replacement);
  });

  it('is found inside unions, defaults, tuples, records, intersections and recursion', () => {
    const recursive: z.ZodType = z.object({
      get next() {
        return z.array(recursive).optional();
      },
      at: z.date(),
    });
    for (const schema of [
      z.union([z.string(), z.date()]),
      z.date().optional().default(new Date()),
      z.tuple([z.string(), z.date()]),
      z.record(z.string(), z.date()),
      z.intersection(z.object({}), z.object({ at: z.date() })),
      z.lazy(() => z.date()),
      recursive,
    ]) {
      expect(() => toolWith(z.object({ member: schema }))).toThrow(/z\.iso\.datetime/);
    }
  });

  it('is distinguished from similar schemas that are JSON', () => {
    const input = z.object({
      trimmed: z.string().trim(),
      piped: z.string().pipe(z.email()).optional(),
      url: z.url().optional(),
      any: z.any(),
      json: z.json().optional(),
      checked: z
        .number()
        .refine((value) => value !== 3)
        .optional(),
    });
    expect(check(input, { trimmed: ' x ', any: [1] })).toEqual({ ok: true, value: { trimmed: 'x', any: [1] } });
    expect(check(input, { trimmed: '', any: 1, checked: 3 }).ok).toBe(false);
  });
});

describe('zod validation', () => {
  it('refuses unknown keys of plain objects at every level, and names the nearest key', () => {
    const input = z.object({ filePath: z.string(), nested: z.object({ deep: z.array(z.object({ a: z.number() })) }) });
    expect(problems(input, { filePath: '', file: 1, nested: { deep: [{ a: 1, b: 2 }] } })).toBe(
      'args.nested.deep[0].b: unknown key; the keys are a\nargs.file: unknown key; did you mean filePath?',
    );
  });

  it('keeps what loose objects and catchalls allow', () => {
    const input = z.object({ loose: z.looseObject({ a: z.number() }), caught: z.object({}).catchall(z.number()) });
    expect(check(input, { loose: { a: 1, b: 2 }, caught: { x: 1 } }).ok).toBe(true);
    expect(problems(input, { loose: { a: 1 }, caught: { x: 'y' } })).toBe(
      'args.caught.x: expected number, received string',
    );
  });

  it('picks the branch of a union that takes every key, and both sides of an intersection', () => {
    const input = z.object({
      either: z.union([z.object({ a: z.string() }), z.object({ a: z.string(), b: z.string() })]),
      both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.number() })),
    });
    const value = { either: { a: '1', b: '2' }, both: { x: 1, y: 2 } };
    expect(check(input, value)).toEqual({ ok: true, value });
    expect(check(input, { ...value, both: { x: 1, y: 2, z: 3 } }).ok).toBe(false);
  });

  it('applies defaults at every level', () => {
    const input = z.object({
      limit: z.number().default(10),
      nested: z.object({ deep: z.boolean().default(true) }).prefault({}),
    });
    expect(check(input, {})).toEqual({ ok: true, value: { limit: 10, nested: { deep: true } } });
  });

  it('does not change the given schema', () => {
    const plain = z.object({ a: z.object({ b: z.string() }) });
    toolWith(plain);
    expect(plain.parse({ a: { b: 'x', c: 1 } })).toEqual({ a: { b: 'x' } });
  });

  it('follows recursive schemas', () => {
    const node = z.object({
      name: z.string(),
      get children() {
        return z.array(node).optional();
      },
    });
    expect(check(node, { name: 'a', children: [{ name: 'b', children: [] }] }).ok).toBe(true);
    expect(problems(node, { name: 'a', children: [{ nam: 'b' }] })).toContain(
      'args.children[0].nam: unknown key; did you mean name?',
    );
  });

  it('reports path, expected and received in one line per issue', () => {
    const input = z.object({
      city: z.string(),
      unit: z.enum(['c', 'f']).optional(),
      limit: z.number().int().min(1).optional(),
      names: z.array(z.string().max(3)).max(2).optional(),
      'odd key': z.boolean().optional(),
    });
    expect(problems(input, { city: 5 })).toBe('args.city: expected string, received number');
    expect(problems(input, {})).toBe('args.city: expected string, received undefined');
    expect(problems(input, { city: '', unit: 'k' })).toBe('args.unit: expected "c" | "f", received "k"');
    expect(problems(input, { city: '', limit: 0 })).toBe('args.limit: expected a number at least 1, received 0');
    expect(problems(input, { city: '', limit: 1.5 })).toBe('args.limit: expected integer, received number');
    expect(problems(input, { city: '', names: ['abcd'] })).toBe(
      'args.names[0]: expected at most 3 characters, received 4',
    );
    expect(problems(input, { city: '', names: ['', '', ''] })).toBe('args.names: expected at most 2 items, received 3');
    expect(problems(input, { city: '', 'odd key': 1 })).toBe('args["odd key"]: expected boolean, received number');
    expect(problems(input, 'text')).toBe('args: expected object, received string');
  });

  it('reports the issues of a union’s likeliest branch', () => {
    const shape = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), radius: z.number() }),
      z.object({ kind: z.literal('square'), side: z.number() }),
    ]);
    expect(problems(z.object({ shape }), { shape: { kind: 'circle', radius: 'x' } })).toBe(
      'args.shape.radius: expected number, received string',
    );
    const value = z.union([z.string(), z.array(z.number())]);
    expect(problems(z.object({ value }), { value: true })).toBe('args.value: expected string | array, received true');
    expect(problems(z.object({ value }), { value: [1, 'x'] })).toBe('args.value[1]: expected number, received string');
  });

  it('reports five issues and the number of the others', () => {
    const input = z.object({ items: z.array(z.string()) });
    const lines = problems(input, { items: [1, 2, 3, 4, 5, 6, 7] }).split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[5]).toBe('and 2 more');
  });

  it('carries __proto__, constructor and then as plain data', () => {
    const input = z.object({ record: z.record(z.string(), z.number()), any: z.any(), loose: z.looseObject({}) });
    const text =
      '{"record":{"__proto__":1,"constructor":2,"then":3},"any":{"__proto__":{"polluted":true}},"loose":{"__proto__":4,"toString":5}}';
    const result = check(input, JSON.parse(text));
    expect(result.ok && JSON.stringify(result.value)).toBe(text);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(problems(input, JSON.parse(text.replace('"__proto__":1', '"__proto__":"x"')))).toContain(
      'args.record.__proto__: expected number',
    );
  });

  it('does not read members of Object.prototype as arguments', () => {
    const input = z.object({ constructor: z.string().optional(), toString: z.string() });
    expect(problems(input, {})).toBe('args.toString: expected string, received undefined');
  });

  it('refuses __proto__ as an unknown key of a strict object', () => {
    expect(problems(z.object({ a: z.number() }), JSON.parse('{"a":1,"__proto__":{}}'))).toContain(
      'args.__proto__: unknown key',
    );
  });

  it('reports a schema that needs asynchronous checks, or throws', () => {
    expect(problems(z.object({ a: z.string().refine(async () => true) }), { a: '' })).toContain('asynchronous checks');
    const throwing = z.object({
      a: z.string().refine(() => {
        throw new Error('boom');
      }),
    });
    expect(problems(throwing, { a: '' })).toContain('boom');
  });

  it('rejects values that are not plain data', () => {
    const input = z.object({ any: z.any() });
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const any of [new Date(), new Map(), 1n, () => 1, Symbol('x'), Number.NaN, cyclic])
      expect(check(input, { any }).ok).toBe(false);
  });

  it('never throws, whatever JSON comes', () => {
    const tool = toolWith(
      z.object({
        a: z.union([z.object({ k: z.literal('x'), v: z.number() }), z.array(z.string().max(2)), z.null()]).optional(),
        b: z.intersection(z.object({ p: z.number() }), z.looseObject({ q: z.string().optional() })).optional(),
        c: z.record(z.enum(['l', 'm']), z.tuple([z.number()], z.string())).optional(),
      }),
    );
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ a: fc.jsonValue(), b: fc.jsonValue(), c: fc.jsonValue() }, { requiredKeys: [] }),
        ),
        (value) => {
          const result = tool.validateInput(value);
          if (result.ok) {
            accepted += 1;
            expect(tool.validateInput(result.value)).toEqual({ ok: true, value: result.value });
          } else expect(issueLines(result.issues)).toMatch(/^args/);
        },
      ),
      { numRuns: tries(2_000) },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});

describe('an output schema', () => {
  it('removes members that it does not name and applies defaults', () => {
    const tool = defineTool({
      ...base,
      output: z.object({ a: z.number(), b: z.string().default('x') }),
      execute: () => ({ a: 1 }),
    });
    expect(tool.validateOutput({ a: 1, c: 2 })).toEqual({ ok: true, value: { a: 1, b: 'x' } });
    expect(tool.validateOutput({ a: 'x' }).ok).toBe(false);
  });

  it('may be JSON Schema', () => {
    const tool = defineTool({ ...base, outputSchema: { type: 'array', items: { type: 'string' } } });
    expect(tool.validateOutput(['a']).ok).toBe(true);
    expect(tool.validateOutput([1]).ok).toBe(false);
  });
});
