import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentSources, type EarlierCall } from '#core/text/argument-sources.js';
import { tries } from '@toolscript/testkit/some-cases';

const readFile: EarlierCall = {
  tool: 'readFile',
  line: 5,
  result: { path: 'src/session.js', content: 'L1: export const limit = 3;\nL2:   return expiresAt < now;' },
};
const list: EarlierCall = { tool: 'listDir', line: 2, result: { entries: [{ path: 'src/session.js', size: 48_213 }] } };

/** A text that no other text of the test has. */
const distinct = fc.integer({ min: 1, max: 1e9 }).map((number) => `value-number-${number}-of-the-law`);
const json = fc.jsonValue({ maxDepth: 3 });

/** A value with a text in it, at a random place. */
function around(text: string): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constant(text),
    json.map((other) => [other, text]),
    json.map((other) => ({ other, inner: { text } })),
  );
}

function leaves(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(leaves)];
}

describe('the sources of arguments', () => {
  it('name the value, and the first call whose result has it', () => {
    expect(argumentSources({ input: { files: [{ path: 'src/session.js' }] } }, [list, readFile])).toEqual({
      sources: [{ path: 'files[0].path', tool: 'listDir', call: 1, line: 2, isWhole: true }],
      isComplete: true,
    });
  });

  it('have the lines of a patch, without its marks and the line numbers of the result', () => {
    const patch = '*** Update File: a\n@@\n-  return expiresAt < now;\n+  return expiresAt > now;';
    expect(argumentSources({ input: { patch } }, [list, readFile]).sources).toEqual([
      { path: 'patch', tool: 'readFile', call: 2, line: 5, isWhole: false },
    ]);
  });

  it('put the call with most of a value first', () => {
    const text = 'src/session.js: export const limit = 3;\nexport const limit = 3;';
    expect(argumentSources({ input: text }, [list, readFile]).sources).toEqual([
      { path: '', tool: 'readFile', call: 2, line: 5, isWhole: false },
      { path: '', tool: 'listDir', call: 1, line: 2, isWhole: false },
    ]);
  });

  it('have numbers with enough digits, and keys that are no identifiers', () => {
    const keyed = { tool: 'count', result: { 'src/cart.js': 7 } };
    expect(argumentSources({ input: { size: 48_213, limit: 7, path: 'src/cart.js' } }, [list, keyed]).sources).toEqual([
      { path: 'size', tool: 'listDir', call: 1, line: 2, isWhole: true },
      { path: 'path', tool: 'count', call: 2, isWhole: true },
    ]);
  });

  it('leave out what the script itself says, and what is short', () => {
    const source = "await tools.writeFile({ path: 'src/session.js' })";
    expect(argumentSources({ input: { path: 'src/session.js' }, source }, [list]).sources).toEqual([]);
    const short = { tool: 'flags', result: ['yes', 3, 'main'] };
    expect(argumentSources({ input: ['yes', 3, 'main'] }, [short]).sources).toEqual([]);
  });

  it('find a distinctive text of any result in any argument, whole, as a line and as a word', () => {
    fc.assert(
      fc.property(
        distinct.chain((text) => fc.tuple(fc.constant(text), around(text), fc.array(json, { maxLength: 3 }))),
        fc.constantFrom('whole', 'line', 'word'),
        ([text, result, others], form) => {
          const value = { whole: text, line: `other\n${text}\n`, word: `see (${text}), and so on` }[form];
          const earlier = [...others, result, result].map((each) => ({ tool: 'any', result: each }));
          const { sources } = argumentSources({ input: { value } }, earlier);
          expect(sources).toEqual([{ path: 'value', tool: 'any', call: others.length + 1, isWhole: form === 'whole' }]);
        },
      ),
      { numRuns: tries(500) },
    );
  });

  it('find nothing that no result has, and take any JSON', () => {
    fc.assert(
      fc.property(json, fc.array(json, { maxLength: 4 }), fc.boolean(), (random, results, isShared) => {
        const input = isShared ? [random, results[0] ?? null] : random;
        for (const { call, isWhole, path } of argumentSources(
          { input },
          results.map((result) => ({ tool: 'any', result })),
        ).sources) {
          const value = path === '' ? input : leaves(input);
          const texts = leaves(results[call - 1]);
          const whole = leaves(value).some((leaf) => texts.some((text) => text.includes(leaf.trim())));
          expect(!isWhole || whole).toBe(true);
          expect(call).toBeLessThanOrEqual(results.length);
        }
      }),
      { numRuns: tries(500) },
    );
  });

  it('say that they are incomplete where there is too much to compare', () => {
    const large = { tool: 'read', result: 'x y\n'.repeat(200_000) };
    expect(argumentSources({ input: 'src/session.js' }, [large, list])).toEqual({ sources: [], isComplete: false });
    expect(argumentSources({ input: 'src/session.js' }, [list, large])).toMatchObject({
      sources: [{ call: 1 }],
      isComplete: false,
    });
    expect(argumentSources({ input: ['x'.repeat(200_000), 'src/session.js'] }, [list]).isComplete).toBe(false);
    expect(argumentSources({ input: Array.from({ length: 30 }, () => 'src/session.js') }, [list])).toMatchObject({
      sources: { length: 12 },
      isComplete: false,
    });
  });
});
