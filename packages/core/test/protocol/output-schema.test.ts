import { describe, expect, test } from 'vitest';
import { enforcedSchema } from '#core/protocol/output-schema.js';

const GPT = ['openai-responses', 'gpt-6.2-sol'] as const;
const CLAUDE = ['anthropic-messages', 'claude-sonnet-5-5'] as const;
const text = { type: 'string' };
const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
});

describe('a schema that the service of a model enforces', () => {
  test.each([GPT, CLAUDE])('%s: an object gets no other members, at every depth', (api, model) => {
    const schema = { $schema: 'x', ...object({ list: { type: 'array', items: object({ a: text }) } }) };
    const inner = { ...object({ a: text }), additionalProperties: false };
    expect(enforcedSchema(api, model, schema)).toEqual({
      ...object({ list: { type: 'array', items: inner } }),
      additionalProperties: false,
    });
  });

  test('has the limits that the service does not enforce in its descriptions', () => {
    const n = { type: 'integer', minimum: 1, description: 'A count.' };
    const name = { type: 'string', maxLength: 9 };
    expect(enforcedSchema(...CLAUDE, object({ n, name }))).toMatchObject({
      properties: {
        n: { type: 'integer', description: 'A count. {"minimum":1}' },
        name: { type: 'string', description: '{"maxLength":9}' },
      },
    });
    expect(enforcedSchema(...GPT, object({ n }))).toMatchObject({ properties: { n } });
  });

  test('may have optional members only where the service allows them', () => {
    const schema = object({ a: text, b: text }, { required: ['a'] });
    expect(enforcedSchema(...CLAUDE, schema)).toMatchObject({ required: ['a'] });
    expect(enforcedSchema(...GPT, schema)).toBeUndefined();
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`m${index}`, text]));
    expect(enforcedSchema(...CLAUDE, object(many, { required: [] }))).toBeUndefined();
  });

  test('may refer to itself only where the service allows it', () => {
    const tree = object({ child: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] } });
    const schema = object({ tree: { $ref: '#/$defs/tree' } }, { $defs: { tree } });
    expect(enforcedSchema(...GPT, schema)).toMatchObject({ $defs: { tree: { additionalProperties: false } } });
    expect(enforcedSchema(...CLAUDE, schema)).toBeUndefined();
    const leaf = object({ leaf: { $ref: '#/$defs/leaf' } }, { $defs: { leaf: object({ a: text }) } });
    expect(enforcedSchema(...CLAUDE, leaf)).toMatchObject({ $defs: { leaf: { type: 'object' } } });
  });

  const properties = { a: text };
  test.each([
    ['no object', { type: 'array', items: text }],
    ['any members', { type: 'object' }],
    ['members of any name', object(properties, { additionalProperties: true })],
    ['a choice at the root', { anyOf: [object(properties)] }],
    ['a combination', object({ a: { allOf: [text, { minLength: 1 }] } })],
    ['a condition', object({ a: { type: 'string', if: {} } })],
    ['any value', object({ a: {} })],
    ['values that are objects', object({ a: { enum: [{ b: 1 }] } })],
    ['a reference to another document', object({ a: { $ref: 'https://example.org/a.json' } })],
    ['positions', object({ a: { type: 'array', prefixItems: [text] } })],
  ])('is none if it has %s', (_what, schema) => {
    expect(enforcedSchema(...GPT, schema)).toBeUndefined();
    expect(enforcedSchema(...CLAUDE, schema)).toBeUndefined();
  });

  test('is none for models that are not known to enforce schemas, and for other formats', () => {
    for (const model of ['qwen3-coder', 'gpt-4', 'claude-opus-4-1', 'm'])
      expect(enforcedSchema('openai-chat', model, object(properties))).toBeUndefined();
    expect(enforcedSchema('echo', 'gpt-6.2-sol', object(properties))).toBeUndefined();
  });
});
