import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ITEM_SHAPES } from '#core/history/item-shapes.js';
import { fitsShape, type JsonShape } from '#core/history/json-shape.js';
import { OutputItemSchema } from '#core/protocol/index.js';

const FILE = fileURLToPath(new URL('../../src/history/item-shapes.ts', import.meta.url));

const schemas = Object.fromEntries(OutputItemSchema.options.map((schema) => [schema.shape.type.value, schema]));

/** The file in the form that the schemas of the protocol define. */
function generatedFile(): string {
  const shapes = Object.entries(schemas).map(([type, schema]) => [type, shapeOf(schema).properties]);
  return [
    '/*',
    ' * Generated from the schemas of items in protocol/items.ts, so that a page folds events without a schema library.',
    ' * Update it with: UPDATE_DOCUMENTS=1 npx vitest run packages/core/test/history/item-shapes.test.ts',
    ' */',
    "import type { OutputItemType } from '../protocol/index.js';",
    "import type { JsonShape } from './json-shape.js';",
    '',
    '/** The members of each item that the protocol knows. */',
    'export const ITEM_SHAPES: Readonly<Record<OutputItemType, Readonly<Record<string, JsonShape>>>> =',
    `  ${JSON.stringify(Object.fromEntries(shapes))};`,
    '',
  ].join('\n');
}

function shapeOf(schema: z.ZodType): JsonShape {
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, { io: 'input' });
  return JSON.parse(JSON.stringify(shape, (key, value: unknown) => (isSkipped(key) ? undefined : value))) as JsonShape;
}

/** Members of items have text as keys, and unknown members may be any value. */
function isSkipped(key: string): boolean {
  return key === 'additionalProperties' || key === 'propertyNames';
}

/** Values of a shape, and values that differ from one of them in some place. */
function valuesOf(shape: JsonShape): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fitting(shape), weight: 12 }, { arbitrary: fc.jsonValue({ maxDepth: 1 }), weight: 1 });
}

function fitting({ type, const: only, enum: choices, pattern, items, properties, required }: JsonShape) {
  if (only !== undefined) return fc.constant(only);
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  if (type === 'string') return fc.string({ maxLength: 5 });
  if (type === 'number') return fc.double();
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(fc.oneof(...[items ?? {}].map(valuesOf)), { maxLength: 2 });
  if (type !== 'object') return fc.jsonValue({ maxDepth: 1 });
  const members = Object.entries(properties ?? {}).map(([name, member]): [string, fc.Arbitrary<unknown>] => [
    name,
    required?.includes(name) === true
      ? fc.oneof({ arbitrary: valuesOf(member), weight: 30 }, { arbitrary: fc.constant(undefined), weight: 1 })
      : fc.option(valuesOf(member), { nil: undefined }),
  ]);
  // JSON has no member that is undefined.
  return fc.record(Object.fromEntries(members)).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
}

describe('the shapes of items', () => {
  it('are those of the protocol', () => {
    const found = ITEM_SHAPES;
    const expected = Object.fromEntries(
      Object.entries(schemas).map(([type, schema]) => [type, shapeOf(schema).properties]),
    );
    if (process.env.UPDATE_DOCUMENTS === undefined) expect(found).toEqual(expected);
    else writeFileSync(FILE, generatedFile());
    expect(readFileSync(FILE, 'utf8')).toContain('Generated from');
  });

  it.each(Object.keys(schemas))('%s: a value of a member fits exactly if the schema accepts it', (type) => {
    const members = Object.entries(schemas[type]!.shape as Record<string, z.ZodType>);
    const seen = { accepted: 0, refused: 0 };
    for (const [name, schema] of members) {
      const shape = ITEM_SHAPES[type as keyof typeof ITEM_SHAPES][name]!;
      fc.assert(
        fc.property(valuesOf(shape), (value) => {
          const { success } = schema.safeParse(value);
          seen[success ? 'accepted' : 'refused'] += 1;
          expect(fitsShape(shape, value)).toBe(success);
        }),
        { numRuns: 300 },
      );
    }
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(20);
  });
});
