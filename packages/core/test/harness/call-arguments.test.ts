import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness } from '#core/index.js';
import { defineTool } from '#core/tools/index.js';
import { isOrdinary, ordinaryJson } from '@toolscript/testkit/ordinary-json';
import { tries } from '@toolscript/testkit/some-cases';
import { openHarness, valueOf } from './open-harness.js';

/** A tool that accepts any arguments, and the arguments that it received. */
function takingAnything() {
  const received: unknown[] = [];
  const take = defineTool({
    name: 'take',
    description: 'Takes anything.',
    input: z.looseObject({}),
    effect: 'read',
    approval: 'never',
    execute: (input) => {
      received.push(input);
      return null;
    },
  });
  return { harness: openHarness({ tools: [take], typecheck: 'off', limits: { maxToolCalls: 200 } }), received };
}

describe('the arguments of a call', () => {
  // Each object differs from its appearance; `JSON.stringify` in the script itself shows its data.
  it.each([
    '{ a: 1, b: "x", c: true }',
    '{ b: -0, a: NaN, c: Infinity, d: 1e21, e: 1e-7, f: 0.1 + 0.2 }',
    '{ 2: "b", 1: "a", z: 0, "-1": 1 }',
    '{ constructor: 2, then: 3, toJSON: 4 }',
    '{ quote: "\\"", line: "\\n\\u2028", lone: "\\ud800", pair: "😀", "key \\" \\n \\ud800": 1 }',
    '{ left: undefined, kept: 1 }',
    '{ [Symbol("s")]: 1, a: 1 }',
    'Object.defineProperty({ a: 1 }, "hidden", { value: 2 })',
    'Object.defineProperty({ a: 1 }, "toJSON", { value() { return { b: 2 }; } })',
    '{ a: 1, toJSON() { return { c: 3 }; } }',
    'new Proxy({ a: 1 }, { get: (target, key) => (key === "toJSON" ? () => ({ p: 1 }) : target[key]) })',
    'new Proxy({ a: 1 }, { get: (target, key) => (key === "a" ? 5 : target[key]) })',
    'new Proxy({ a: 1, b: 2 }, { ownKeys: () => ["b", "a"] })',
    '{ get a() { return 1; }, get b() { delete this.c; return 2; }, c: 3 }',
    '{ get a() { this.added = 1; return 1; } }',
    '{ nested: { a: [1, { b: null }] }, nothing: null }',
    'Object.assign(Object.create(null), { a: 1 })',
    'Object.assign(new (class Point { x = 1; })(), { y: 2 })',
    'Object.freeze({ a: 1 })',
    '(function () { return arguments; })("x", "y")',
    '{}',
  ])('%s is what JSON makes of it', async (expression) => {
    const { harness, received } = takingAnything();
    const source = `const make = () => (${expression}); await tools.take(make()); return JSON.stringify(make());`;
    const expected = valueOf(await harness.runScript(source)) as string;
    expect(received).toEqual([JSON.parse(expected)]);
    expect(JSON.stringify(received[0])).toBe(JSON.stringify(JSON.parse(expected)));
  });

  it.each([
    'Object.setPrototypeOf([1, 2], Object.prototype)',
    'Object.setPrototypeOf([], Object.prototype)',
    'Object.setPrototypeOf([, 1], Object.prototype)',
    'Object.setPrototypeOf(new String("ab"), Object.prototype)',
    'Object.setPrototypeOf(new Number(5), Object.prototype)',
    'Object.setPrototypeOf(Object(5n), Object.prototype)',
    'new Proxy([1], { getPrototypeOf: () => Object.prototype })',
  ])('%s is no object in disguise', async (expression) => {
    const { harness, received } = takingAnything();
    const outcome = await harness.runScript(`await tools.take(${expression})`);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolValidationError' } });
    expect(received).toEqual([]);
  });

  it('are serialised as JSON, whatever plain members they have', async () => {
    const { harness, received } = takingAnything();
    const member = fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null), ordinaryJson);
    const name = fc.oneof(fc.string(), fc.constantFrom('constructor', 'toString', '0', '10'));
    const record = fc.dictionary(name, member).filter(isOrdinary);
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
        received.length = 0;
        const texts = records.map((made) => JSON.stringify(made));
        const source = `for (const text of ${JSON.stringify(texts)}) await tools.take(JSON.parse(text));`;
        valueOf(await harness.runScript(source));
        expect(received.map((input) => JSON.stringify(input))).toEqual(texts);
      }),
      { numRuns: tries(40) },
    );
  });

  it('leave no names that would fill the memory of a script', async () => {
    const { harness } = takingAnything();
    const source =
      'const long = "x".repeat(400_000); for (let i = 0; i < 120; i++) await tools.take({ [i + long]: 1 }); return "all";';
    expect(valueOf(await harness.runScript(source))).toBe('all');
  });
});

describe('the context of a call', () => {
  it('is a plain object whose copies, heirs and proxies have its signal', async () => {
    const signals: unknown[] = [];
    const tool = defineTool({
      name: 'look',
      description: 'Looks at its context.',
      input: z.object({}),
      effect: 'read',
      approval: 'never',
      execute: (_input, context) => {
        expect(Object.getPrototypeOf(context)).toBe(Object.prototype);
        expect(Object.keys(context)).toContain('signal');
        const views = [context, { ...context }, Object.create(context) as typeof context, new Proxy(context, {})];
        signals.push(...views.map(({ signal }) => signal));
        return null;
      },
    });
    const harness = createHarness({ tools: [tool] });
    try {
      valueOf(await harness.runScript('return tools.look({})'));
    } finally {
      await harness.close();
    }
    expect(signals).toHaveLength(4);
    expect(new Set(signals).size).toBe(1);
    expect(signals[0]).toBeInstanceOf(AbortSignal);
  });
});
