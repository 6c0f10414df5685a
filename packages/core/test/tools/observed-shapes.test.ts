import { parseSync } from 'oxc-parser';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '#core/tools/catalog.js';
import { defineTool } from '#core/tools/define-tool.js';
import { createObservedShapes, mergeShapes, valueShape, typeOfShape } from '#core/schema/observed-shapes.js';
import { openHarness, valueOf } from '../harness/open-harness.js';
import { tries } from '@toolscript/testkit/some-cases';

const tool = (outputSchema?: object) =>
  defineTool({
    name: 'probe',
    description: 'Probes.',
    effect: 'read',
    inputSchema: { type: 'object', additionalProperties: true },
    ...(outputSchema && { outputSchema }),
    execute: ({ give }) => give,
  });

/** The type after all results were seen, in this order. */
const typeAfter = (...results: unknown[]) =>
  typeOfShape(results.map(valueShape).reduce((all, shape) => mergeShapes(all, shape)));

const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'c',
    'content-type',
    '__proto__',
    'constructor',
    'x\u202ey',
    '*/',
    '\n',
    '2024-01-02',
    '"',
    '\\',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const leaf = fc.oneof(fc.constantFrom(null, true, 1, 'text'), fc.string({ maxLength: 3 }));
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    leaf,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(key, tie('json'), { maxKeys: 5 }),
    // The number of names: enough to be a record, or too many for a deeply nested place.
    fc
      .tuple(tie('json'), fc.integer({ min: 20, max: 90 }), fc.nat(100))
      .map(([value, count, from]) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${word(index + from)}`, value])),
      ),
  ),
}));

/** A name of letters only, because it must be valid as a member's name. */
function word(index: number): string {
  return [...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
}

describe('an observed shape', () => {
  it.each([
    [[{ a: 1 }], '{ a: number }'],
    [[{ a: 1, b: 'x' }, { a: null }], '{ a: number | null; b?: string }'],
    [[[1, 'a'], []], '(string | number)[]'],
    [[[]], 'any[]'],
    [[[{ id: 1 }, { id: 2, tag: 'x' }]], '{ id: number; tag?: string }[]'],
    [[undefined, 'x'], 'string | undefined'],
    [[{}], '{}'],
    [[{ 'content-type': 'x', 'a b': 1 }], '{ "a b": number; "content-type": string }'],
    [[{ '2024-01-02': 1, '2024-01-03': 2 }], 'Record<string, number>'],
    [[{ 'ann@example.org': { age: 3 } }], 'Record<string, { age: number }>'],
    [[{ '3f2a9c1e-77aa-4b1c': true }], 'Record<string, boolean>'],
    [[{ 'a\u202eb': 1 }], 'Record<string, number>'],
    [[{ 'src/main.ts': 'x', total: 2 }], 'Record<string, string | number>'],
    [[Array.from({ length: 90 }, (_, index) => ({ [word(index)]: index }))], 'Record<string, number>[]'],
    [[Object.fromEntries(Array.from({ length: 70 }, (_, index) => [word(index), 'x']))], 'Record<string, string>'],
  ])('of %j is %s', (results, type) => {
    expect(typeAfter(...results)).toBe(type);
  });

  it('does not depend on the order of the calls, or on a repeated call', () => {
    const many = fc
      .array(json, { minLength: 1, maxLength: 6 })
      .chain((results) =>
        fc.tuple(
          fc.constant(results),
          fc.shuffledSubarray([...results, ...results], { minLength: results.length * 2 }),
        ),
      );
    fc.assert(
      fc.property(many, ([results, shuffled]) => {
        expect(typeAfter(...shuffled)).toBe(typeAfter(...results));
        const shapes = shuffled.map(valueShape);
        const nested = shapes.reduceRight((all, shape) => mergeShapes(shape, all));
        expect(typeOfShape(nested)).toBe(typeAfter(...results));
      }),
      { numRuns: tries(400) },
    );
  });

  it('of any JSON parses as TypeScript, on one line, and is small', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, fc.jsonValue()), { minLength: 1, maxLength: 6 }), (results) => {
        const type = typeAfter(...results);
        expect(parseSync('type.ts', `type T = ${type};`).errors).toEqual([]);
        expect(type).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(type.length).toBeLessThanOrEqual(4_000);
      }),
      { numRuns: tries(400) },
    );
  });

  it('contains no value', () => {
    const secret = fc.constantFrom('swordfish', 'ann@example.org', 424_242, 'secret-17');
    const holding = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        secret,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'ann@example.org', '424242'), tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.array(holding, { minLength: 1, maxLength: 4 }), (results) => {
        expect(typeAfter(...results)).not.toMatch(/swordfish|ann|4242|secret/);
      }),
    );
  });

  it('stays bounded for any number of different results', () => {
    let shape = valueShape({});
    const nest = (level: number, seed: number): unknown =>
      level === 0
        ? seed
        : Object.fromEntries([0, 1, 2].map((at) => [`k${word(seed * 7 + at)}`, nest(level - 1, seed + at)]));
    for (let seed = 0; seed < 300; seed++) shape = mergeShapes(shape, valueShape(nest(5, seed)));
    expect(JSON.stringify(shape, (_, part: unknown) => (part instanceof Map ? [...part] : part)).length).toBeLessThan(
      500_000,
    );
    expect(typeOfShape(shape)).toMatch(/^Record<string, /);
  });

  it('of deeply nested or very long results is shortened', () => {
    const deep = JSON.parse(`${'{"a":['.repeat(90)}1${']}'.repeat(90)}`) as unknown;
    expect(typeAfter(deep)).toBe('{ a: { a: { a: { a: object[] }[] }[] }[] }');
    const wide = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [
        `member${word(index)}${'x'.repeat(40)}`,
        { [`inner${word(index)}${'y'.repeat(40)}`]: 1 },
      ]),
    );
    expect(typeAfter(wide)).toMatch(/^\{ memberaxxx.*: object; /);
  });
});

describe('observed shapes', () => {
  it('are kept for each tool object, separate from those of another version', () => {
    const shapes = createObservedShapes();
    const [one, other] = [tool(), tool()];
    shapes.observe(one, { a: 1 }, undefined);
    expect(shapes.resultType(one, undefined)).toBe('{ a: number }');
    expect(shapes.resultType(other, undefined)).toBeUndefined();
  });

  it('still change after many calls without a change', () => {
    const shapes = createObservedShapes();
    const probe = tool();
    for (let call = 0; call < 500; call++) shapes.observe(probe, { a: 1 }, 'ann');
    for (let call = 0; call < 256; call++) shapes.observe(probe, { a: 'x' }, 'ann');
    expect(shapes.resultType(probe, 'ann')).toBe('{ a: string | number }');
  });

  it('are shown by describe with a mark, and only without an output schema', () => {
    const shapes = createObservedShapes();
    const [open, typed] = [tool(), tool({ type: 'object', properties: { b: { type: 'string' } } })];
    for (const one of [open, typed]) shapes.observe(one, { a: 1 }, undefined);
    expect(createCatalog([open], shapes).describe('probe')).toBe(
      `${createCatalog([open]).describe('probe')}// observed, not promised: Promise<{ a: number }>\n`,
    );
    expect(createCatalog([typed], shapes).describe('probe')).not.toContain('observed');
  });

  it('of one principal are not shown to another', async () => {
    const harness = openHarness({ tools: [tool()], approvals: 'auto' });
    const describeFor = async (principal?: string) =>
      valueOf(await harness.runScript(`return await catalog.describe('probe')`, { ...(principal && { principal }) }));
    valueOf(await harness.runScript(`await tools.probe({ give: { diagnosis: 1 } })`, { principal: 'ann' }));
    expect(await describeFor('ann')).toContain('diagnosis');
    expect(await describeFor('ben')).not.toContain('diagnosis');
    expect(await describeFor()).not.toContain('diagnosis');
  });

  it('are stored for a limited number of principals', () => {
    const shapes = createObservedShapes();
    const probe = tool();
    for (let index = 0; index <= 1_000; index++) shapes.observe(probe, { a: 1 }, `p${index}`);
    expect(shapes.resultType(probe, 'p0')).toBeUndefined();
    expect(shapes.resultType(probe, 'p1000')).toBe('{ a: number }');
  });

  it('reach a later script through describe, from scripts and from structured calls, and change nothing else', async () => {
    const harness = openHarness({ tools: [tool()], approvals: 'auto' });
    const before = [harness.instructions(), harness.declarations(), harness.instructions({ carrier: 'text' })];
    const describeProbe = async () => valueOf(await harness.runScript(`return await catalog.describe('probe')`));
    expect(await describeProbe()).not.toContain('observed');
    valueOf(await harness.runScript(`await tools.probe({ give: { id: 'hidden', list: [1, 2] } })`));
    await harness.callTool('probe', { give: { id: 'hidden', more: true } });
    const text = await describeProbe();
    expect(text).toContain('// observed, not promised: Promise<{ id: string; list?: number[]; more?: boolean }>');
    expect(text).not.toContain('hidden');
    expect([harness.instructions(), harness.declarations(), harness.instructions({ carrier: 'text' })]).toEqual(before);
  });
});
