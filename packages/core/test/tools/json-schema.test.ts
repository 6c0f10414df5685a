import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { compileJsonSchema } from '#core/schema/json-schema.js';
import { isObjectResult } from '#core/schema/known-values.js';
import { judgePattern } from '#core/schema/safe-pattern.js';
import { issueLines } from '#core/schema/validation-issues.js';
import { defineTool } from '#core/tools/define-tool.js';
import { tries } from '@toolscript/testkit/some-cases';

const input = (schema: object) => compileJsonSchema(schema, 'input', 'The input');
const problems = (schema: object, value: unknown) => {
  const result = input(schema).validate(value);
  return result.ok ? '' : issueLines(result.issues);
};

describe('a JSON Schema from outside', () => {
  const weather = {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 2 },
      unit: { enum: ['c', 'f'], default: 'c' },
      days: { type: 'integer', minimum: 1, maximum: 7 },
      options: { type: 'object', properties: { verbose: { type: 'boolean', default: false } } },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, maxItems: 3 },
    },
    required: ['city'],
  };

  it('accepts valid data and applies defaults at every present level', () => {
    expect(input(weather).validate({ city: 'Oslo', options: {} })).toEqual({
      ok: true,
      value: { city: 'Oslo', unit: 'c', options: { verbose: false } },
    });
  });

  it.each([
    [{ city: 5 }, 'args.city: expected string, received number'],
    [{}, 'args.city: expected string, received undefined'],
    [{ city: 'x' }, 'args.city: expected at least 2 characters, received 1'],
    [{ city: 'Oslo', unit: 'k' }, 'args.unit: expected "c" | "f", received "k"'],
    [{ city: 'Oslo', days: 8 }, 'args.days: expected a number at most 7, received 8'],
    [{ city: 'Oslo', days: 1.5 }, 'args.days: expected integer, received number'],
    [{ city: 'Oslo', tags: ['a', 'a'] }, 'args.tags: has an item twice'],
    [{ city: 'Oslo', tags: ['a', 2] }, 'args.tags[1]: expected string, received number'],
    [{ city: 'Oslo', citty: 1 }, 'args.citty: unknown key; did you mean city?'],
    ['Oslo', 'args: expected one object of named arguments'],
  ])('says what is wrong with %j', (value, message) => {
    expect(problems(weather, value)).toBe(message);
  });

  it('closes objects with properties unless it allows other keys', () => {
    const properties = { a: { type: 'number' } };
    expect(problems({ type: 'object', properties }, { b: 1 })).toContain('args.b: unknown key');
    expect(problems({ type: 'object' }, { b: 1 })).toBe('');
    expect(problems({}, { b: 1 })).toBe('');
    expect(problems({ type: 'object', properties: {} }, { b: 1 })).toBe('args.b: unknown key; no keys are allowed');
    expect(problems({ type: 'object', properties, additionalProperties: true }, { b: 1 })).toBe('');
    expect(problems({ type: 'object', properties, additionalProperties: { type: 'string' } }, { b: 1 })).toBe(
      'args.b: expected string, received number',
    );
    expect(problems({ type: 'object', properties, additionalProperties: false }, { b: 1 })).toBe(
      'args.b: unknown key; the keys are a',
    );
    expect(problems({ type: 'object', properties, patternProperties: { '^x_': {} } }, { x_b: 1 })).toBe('');
    expect(
      problems(
        { type: 'object', properties, anyOf: [{ properties: { b: { type: 'number' } } }, { properties: { c: {} } }] },
        { b: 1 },
      ),
    ).toBe('');
  });

  it.each<[string, object, object, string]>([
    ['a member', { type: 'object', properties: { a: {} } }, { z: 1 }, 'args.p.z: unknown key; the keys are a'],
    [
      'an item',
      { type: 'array', items: { properties: { a: {} } } },
      [{ z: 1 }],
      'args.p[0].z: unknown key; the keys are a',
    ],
    ['what a reference names', { $ref: '#/$defs/one' }, { z: 1 }, 'args.p.z: unknown key; the keys are one'],
    [
      'a value of a record',
      { additionalProperties: { properties: { a: {} } } },
      { k: { z: 1 } },
      'args.p.k.z: unknown key; the keys are a',
    ],
    [
      'the parts of an allOf',
      { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 1, z: 1 },
      'args.p.z: unknown key; the keys are b, a',
    ],
    [
      'the branches of a union',
      { anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 1, z: 1 },
      'args.p.z: unknown key; the keys are b, a',
    ],
    [
      'conditions beside properties',
      { properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { a: 1, z: 1 },
      'args.p.z: unknown key; the keys are a, b',
    ],
    [
      'a closed branch',
      { anyOf: [{ properties: { a: {} }, additionalProperties: false }, { type: 'string' }] },
      { a: 1 },
      '',
    ],
    ['an open member', { properties: { a: {} }, additionalProperties: true }, { z: 1 }, ''],
    ['a member without properties', { type: 'object' }, { z: 1 }, ''],
    ['a member of any type', {}, { z: { y: 1 } }, ''],
    ['keys by pattern', { properties: { a: {} }, patternProperties: { '^z': {} } }, { z: 1 }, ''],
    ['an open branch', { anyOf: [{ properties: { a: {} }, required: ['a'] }, { type: 'object' }] }, { z: 1 }, ''],
  ])('closes nested objects in the same way: %s', (_, schema, value, message) => {
    const whole = { properties: { p: schema }, $defs: { one: { properties: { one: {} } } } };
    expect(problems(whole, { p: value })).toBe(message);
  });

  it('looks for unknown keys within a budget', () => {
    const dependentSchemas = Object.fromEntries(
      Array.from({ length: 150 }, (_, index) => [`k${index}`, { title: 'x' }]),
    );
    const item = { properties: { x: { type: 'object', properties: {} } }, dependentSchemas };
    const schema = { properties: { list: { type: 'array', items: item } } };
    const list = (length: number) => ({ list: Array.from({ length }, () => ({ x: {} })) });
    expect(problems(schema, list(100))).toBe('');
    expect(problems(schema, list(5_000))).toContain('too complex');
  });

  it('applies only defaults that it accepts', () => {
    const compiled = input({
      properties: {
        size: { type: 'integer', default: 'large' },
        name: { type: 'string', default: null },
        mode: { $ref: '#/$defs/mode', default: 'none' },
        page: { type: 'integer', default: 1, minimum: 1 },
        options: { type: 'object', properties: { deep: { type: 'boolean', default: 'no' } }, default: {} },
      },
      $defs: { mode: { enum: ['a', 'b'] } },
    });
    expect(compiled.validate({})).toEqual({ ok: true, value: { page: 1, options: {} } });
    expect(compiled.notes).toHaveLength(4);
    expect(compiled.notes[0]).toContain('#/properties/size has a default that its own schema rejects');
  });

  it('does not require members that have a default', () => {
    const compiled = input({
      properties: {
        page: { type: 'integer', default: 1 },
        query: { type: 'string' },
        lost: { enum: ['a'], default: 5 },
      },
      required: ['page', 'query', 'lost'],
    });
    expect(compiled.jsonSchema['required']).toEqual(['query', 'lost']);
    expect(compiled.validate({ query: 'x', lost: 'a' })).toEqual({
      ok: true,
      value: { query: 'x', lost: 'a', page: 1 },
    });
    expect(compiled.validate({ query: 'x' }).ok).toBe(false);
  });

  it('does not report an invalid declared member as an unknown key', () => {
    const schema = {
      type: 'object',
      properties: { inner: { type: 'object', properties: { a: { type: 'number' } }, additionalProperties: false } },
    };
    expect(problems(schema, { inner: { a: 'x' } })).toBe('args.inner.a: expected number, received string');
  });

  it('follows references inside of itself, also recursive ones, in old and new spelling', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { tree: { $ref: '#/definitions/node', description: 'ignored beside a reference' } },
      definitions: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, kids: { type: 'array', items: { $ref: '#/definitions/node' } } },
          required: ['name'],
        },
      },
    };
    expect(problems(schema, { tree: { name: 'a', kids: [{ name: 'b' }] } })).toBe('');
    expect(problems(schema, { tree: { name: 'a', kids: [{ kids: [] }] } })).toBe(
      'args.tree.kids[0].name: expected string, received undefined',
    );
    expect(
      problems(
        {
          type: 'object',
          properties: { x: { $ref: '#/components/any/X' } },
          components: { any: { X: { type: 'number' } } },
        },
        { x: 'y' },
      ),
    ).toContain('expected number');
    expect(
      problems(
        { type: 'object', properties: { x: { $ref: '#here' } }, $defs: { h: { $anchor: 'here', type: 'number' } } },
        { x: 'y' },
      ),
    ).toContain('expected number');
  });

  it.each([
    ['https://evil.example/schema.json', /points outside/],
    ['file:///etc/passwd', /points outside/],
    ['other.json#/a', /points outside/],
    ['#/$defs/missing', /has nothing at/],
    [{}, /points outside/],
    ['#/__proto__', /has nothing at/],
  ])('is rejected if it refers to %j', (reference, message) => {
    expect(() => input({ type: 'object', properties: { x: { $ref: reference } } })).toThrow(ToolscriptUsageError);
    expect(() => input({ type: 'object', properties: { x: { $ref: reference } } })).toThrow(message);
  });

  it.each([
    { properties: [] },
    { properties: { a: 5 } },
    { required: 'a' },
    { required: [1] },
    { properties: { a: { type: 'strnig' } } },
    { properties: { a: { minLength: 'x' } } },
    { properties: { a: { enum: 'x' } } },
    { properties: { a: { anyOf: {} } } },
    { properties: { a: { pattern: 5 } } },
    { properties: { a: { multipleOf: 0 } } },
    { properties: { a: { default: new Date() } } },
  ])('is refused when a keyword has a wrong value: %j', (schema) => {
    expect(() => input({ type: 'object', ...schema })).toThrow(ToolscriptUsageError);
  });

  it('reports the issues of a union’s likeliest branch', () => {
    const schema = {
      type: 'object',
      properties: {
        shape: {
          oneOf: [
            {
              type: 'object',
              properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
              required: ['kind', 'radius'],
              additionalProperties: false,
            },
            {
              type: 'object',
              properties: { kind: { const: 'square' }, side: { type: 'number' } },
              required: ['kind', 'side'],
              additionalProperties: false,
            },
          ],
        },
        value: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] },
      },
    };
    expect(problems(schema, { shape: { kind: 'circle', radius: 'x' } })).toBe(
      'args.shape.radius: expected number, received string',
    );
    expect(problems(schema, { value: true })).toBe('args.value: expected string | array, received true');
    expect(problems(schema, { value: [1, 'x'] })).toBe('args.value[1]: expected number, received string');
  });

  it('understands tuples, dependencies, conditions, nullable and exclusive bounds of every draft', () => {
    const schema = {
      type: 'object',
      properties: {
        pair: { type: 'array', items: [{ type: 'number' }, { type: 'string' }], additionalItems: false },
        newPair: { type: 'array', prefixItems: [{ type: 'number' }], items: false },
        maybe: { type: 'string', nullable: true },
        old: { type: 'number', minimum: 3, exclusiveMinimum: true },
        a: {},
        b: {},
      },
      dependencies: { a: ['b'] },
      if: { required: ['b'] },
      then: { properties: { b: { const: 1 } } },
    };
    expect(problems(schema, { pair: [1, 'x'], newPair: [1], maybe: null, old: 3.5, a: 1, b: 1 })).toBe('');
    expect(problems(schema, { pair: [1, 'x', 2] })).toContain('args.pair[2]');
    expect(problems(schema, { newPair: [1, 2] })).toContain('args.newPair[1]');
    expect(problems(schema, { old: 3 })).toContain('greater than 3');
    expect(problems(schema, { a: 1 })).toBe('args.b: expected a value, received undefined');
    expect(problems(schema, { b: 2 })).toBe('args.b: expected 1, received 2');
  });

  it('treats keys like constructor and __proto__ as ordinary keys', () => {
    const schema = {
      type: 'object',
      properties: { constructor: { type: 'string' } },
      required: ['constructor', 'toString'],
      additionalProperties: true,
    };
    expect(problems(schema, {})).toBe(
      'args.constructor: expected string, received undefined\nargs.toString: expected a value, received undefined',
    );
    const text = '{"constructor":"a","toString":1,"__proto__":{"polluted":1},"then":2}';
    const result = input(schema).validate(JSON.parse(text));
    expect(result.ok && JSON.stringify(result.value)).toBe(text);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('whose references lead back to themselves is checked without them, if flaws are skipped', () => {
    const names = ['a', 'b', 'c', 'd'];
    const reference = fc.constantFrom(...names).map((name) => ({ $ref: `#/$defs/${name}` }));
    const branch = fc
      .constantFrom('allOf', 'anyOf', 'oneOf')
      .chain((keyword) =>
        fc.record({ [keyword]: fc.array(fc.oneof(reference, fc.constant({})), { minLength: 1, maxLength: 2 }) }),
      );
    const part = fc.oneof(
      reference,
      branch,
      reference.map((not) => ({ not })),
    );
    fc.assert(
      fc.property(fc.tuple(part, part, part, part), (parts) => {
        const $defs = Object.fromEntries(names.map((name, index) => [name, parts[index]]));
        const properties = { x: { $ref: '#/$defs/a' }, y: { type: 'string' } };
        const compiled = compileJsonSchema({ type: 'object', properties, $defs }, 'input', 'The input', true);
        const found = (value: object) => {
          const result = compiled.validate(value);
          return result.ok ? '' : issueLines(result.issues);
        };
        expect(found({ x: 1 })).not.toContain('too complex');
        expect(found({ y: 1 })).toContain('args.y');
      }),
      { numRuns: tries(300, 200) },
    );
  });

  it('is abandoned if it never ends or explodes', () => {
    const endless = {
      type: 'object',
      properties: { x: { $ref: '#/$defs/a' } },
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    };
    expect(problems(endless, { x: 1 })).toContain('too complex');
    const exploding = {
      type: 'object',
      properties: { x: { $ref: '#/$defs/a' } },
      $defs: {
        a: {
          anyOf: [
            { type: 'array', items: { $ref: '#/$defs/a' } },
            { type: 'array', items: { $ref: '#/$defs/a' }, minItems: 1 },
          ],
        },
      },
    };
    let deep: unknown = 'no list';
    for (let level = 0; level < 18; level++) deep = [deep];
    expect(problems(exploding, { x: deep })).toContain('too complex');
    const growing = {
      type: 'object',
      properties: { x: { $ref: '#/$defs/a' } },
      $defs: { a: { properties: { x: { $ref: '#/$defs/a', default: {} } } } },
    };
    expect(input(growing).validate({ x: {} })).toEqual({ ok: true, value: { x: { x: {} } } });
  });

  it('of a result may contain lists of itself', () => {
    const outputSchema = { type: 'array', items: { $ref: '#' } };
    const tool = defineTool({ name: 'nest', description: 'Nests.', outputSchema, execute: () => [] });
    expect(isObjectResult(tool, [])).toBe(false);
    expect(tool.validateOutput([[], [[]]]).ok).toBe(true);
  });

  it('is rejected if it is nested too deeply to be read', () => {
    let deep: object = { type: 'number' };
    for (let level = 0; level < 80; level++) deep = { not: deep };
    expect(() => input({ type: 'object', properties: { x: deep } })).toThrow('the schema is too large');
  });

  it('rejects data that is nested too deeply', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 150; level++) deep = [deep];
    const open = { type: 'object', additionalProperties: true };
    expect(problems(open, { x: deep })).toContain('is nested deeper than 100 levels');
  });

  it('accepts only plain records and lists', () => {
    const open = { type: 'object', additionalProperties: true };
    class Client {
      readonly url = 'https://example.test';
    }
    for (const odd of [new Client(), new Map(), Object.create({ inherited: 1 }) as object])
      expect(problems(open, { x: odd })).toContain('expected plain JSON data');
  });

  it('distinguishes a member with the name __proto__ from the inherited one', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"number"}},"additionalProperties":false}',
    ) as object;
    const text = '{"__proto__":1}';
    const result = input(schema).validate(JSON.parse(text));
    expect(result.ok && JSON.stringify(result.value)).toBe(text);
    expect(input(schema).validate(JSON.parse('{"__proto__":{"a":1}}'))).toMatchObject({ ok: false });
  });

  it('does not run a pattern that could take long, and reports it', () => {
    const compiled = input({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
    expect(compiled.notes.join()).toMatch(/not checked against the pattern .* repeats/);
    expect(compiled.validate({ a: `${'a'.repeat(50_000)}!` }).ok).toBe(true);
    expect(problems({ type: 'object', properties: { a: { pattern: '^[a-z]+$' } } }, { a: 'A' })).toBe(
      'args.a: expected a string that matches "^[a-z]+$", received "A"',
    );
    expect(problems({ type: 'object', properties: { a: { pattern: '^[a-z]+$' } } }, { a: 5 })).toBe('');
    const open = input({
      type: 'object',
      patternProperties: { '(a+)+$': { type: 'number' } },
      additionalProperties: false,
    });
    expect(open.validate({ b: 'x' }).ok).toBe(true);
  });

  it('terminates on any hostile pattern and text', () => {
    const atoms = ['a', 'b', '[ab]', '\\w', '.', '(a|b)', '(?:a|ab)', '(ab)', 'a?', '^', '$'];
    const quantifiers = ['', '*', '+', '?', '{2,5}', '{3}', '{1,}'];
    const pattern = fc
      .array(fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...quantifiers)), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.map(([atom, quantifier]) => atom + quantifier).join(''));
    let judgedSafe = 0;
    fc.assert(
      fc.property(pattern, pattern, (first, second) => {
        for (const source of [
          first,
          `(${first})${second}`,
          `(${first}|${second})+`,
          `^(${first})*$`,
          `^(?:-${first})*${second}$`,
          `^(?:${first}-)+${second}(?:-${second})*$`,
        ]) {
          const verdict = judgePattern(source);
          if (!verdict.safe) continue;
          judgedSafe += 1;
          const expression = new RegExp(source, 'u');
          const longest = Math.max(0, verdict.maxLength - 1);
          for (const text of ['a', 'a-', '-a', '-ab', 'aaaa-'])
            for (const end of ['', '!', 'b']) expression.test(text.repeat(longest).slice(0, longest) + end);
        }
      }),
      { numRuns: tries(150, 100) },
    );
    expect(judgedSafe).toBeGreaterThan(0);
  });

  it.each([
    '^(a+)+$',
    '(a|a)*b',
    '(a|ab)*c',
    '(.*)*',
    '(a?){50}',
    '(\\w+\\s?)*$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '^(?:-?[a-z]+)*$',
    '^(?:-[a-z]+[a-z]*)*$',
    '^(?:-[a-z]+[x-]+)*$',
    '^(?:\\w+\\b)*$',
    '(a)\\1',
    '(a{1000}){1000}',
    '(?:a{1,50}){1,50}',
    'a*'.repeat(20),
    'a?'.repeat(30) + 'a'.repeat(30),
    '(',
    'a'.repeat(1_001),
    `${'('.repeat(21)}a${')'.repeat(21)}`,
  ])('is judged unsafe: %s', (source) => {
    expect(judgePattern(source).safe).toBe(false);
  });

  it.each([
    '^[a-z0-9-]+$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^(get|post|put)$',
    '^[^@]+@[^@]+$',
    'abc',
    '^#(?:[0-9a-f]{3}){1,2}$',
    '^v?\\d+\\.\\d+$',
    '^(foo|bar)+$',
    '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    '^(?:[a-z]+\\.)+[a-z]{2,}$',
    '^(\\w+,\\s*)*\\w+$',
    '^(?:[0-9][a-z0-9]*\\.)*$',
  ])('is judged safe: %s', (source) => {
    expect(judgePattern(source).safe).toBe(true);
  });

  it('validates random JSON against random schemas without ever throwing', () => {
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.record(
          {
            type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', ['string', 'null']),
            minLength: fc.nat(3),
            maximum: fc.integer(),
            pattern: fc.constantFrom('^a', '(x+)+', 'b$'),
            default: fc.jsonValue(),
            format: fc.constantFrom('date-time', 'email', 'nonsense'),
          },
          { requiredKeys: [] },
        ),
        fc.record({ enum: fc.array(fc.jsonValue(), { maxLength: 3 }) }),
        fc.record(
          { type: fc.constant('array'), items: tie('schema'), uniqueItems: fc.boolean() },
          { requiredKeys: ['type'] },
        ),
        fc.record(
          {
            type: fc.constant('object'),
            properties: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor', 'ü/~'), tie('schema'), {
              maxKeys: 3,
            }),
            required: fc.array(fc.constantFrom('a', 'b', 'then'), { maxLength: 2 }),
            additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          },
          { requiredKeys: ['properties'] },
        ),
        fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
        fc.record({
          oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          allOf: fc.array(tie('schema'), { maxLength: 2 }),
        }),
        fc.record({ not: tie('schema') }),
        fc.constant({ $ref: '#' }),
      ),
    }));
    const counts = { ok: 0, wrong: 0 };
    const keys = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'ü/~', '\ud800');
    const value = fc.oneof(fc.jsonValue(), fc.dictionary(keys, fc.jsonValue()));
    fc.assert(
      fc.property(schema, value, (shape, data) => {
        const result = compileJsonSchema(
          { type: 'object', properties: { a: shape, b: shape } },
          'input',
          'The input',
        ).validate(data);
        counts[result.ok ? 'ok' : 'wrong'] += 1;
        if (!result.ok) expect(issueLines(result.issues)).toMatch(/^args/);
        else JSON.stringify(result.value);
        compileJsonSchema({ anyOf: [shape, {}] }, 'output', 'The output').validate(data);
      }),
      { numRuns: tries(700, 600) },
    );
    expect(Math.min(counts.ok, counts.wrong)).toBeGreaterThan(0);
  });
});
