import { parseSync } from 'oxc-parser';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
import { tries } from '@toolscript/testkit/some-cases';
import { ORDINARY } from './ordinary-scripts.js';

const compiler = createCompiler({ deadlineMs: 10_000 });
afterAll(() => compiler.close());

const TOKENS = (
  '( ) [ ] { } ` ${ a b tools tools.x() await 1 "s" \'t\' /r/g < > , ; : ? ?. ?? => = == + - ! ~ ** & | . ... if else for while do return ' +
  'async function class extends new typeof void keyof infer readonly as satisfies type interface enum namespace export default import ' +
  'const let var static get switch case try catch finally yield in of instanceof label: 😀 // /* */ \\u0061 <T> <!-- --> ``` &lt; &amp; eval( ' +
  'require( .constructor( constructor with( @d #p get this super arguments null import.meta \ud800 \0 \u2028 \ufeff 0x1 1n .5 "use strict"'
).split(' ');

const soup = fc
  .array(fc.tuple(fc.constantFrom(...TOKENS), fc.constantFrom('', ' ', '\n')), { maxLength: 40 })
  .map((tokens) => tokens.flat().join(''));

/** Ordinary scripts with a part removed or added. */
const damaged = fc
  .tuple(
    fc.constantFrom(...ORDINARY),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.nat(8),
    fc.constantFrom('', ...TOKENS),
  )
  .map(([{ source }, share, cut, token]) => {
    const at = Math.floor(source.length * share);
    return source.slice(0, at) + token + source.slice(at + cut);
  });

async function outcomeOf(source: string): Promise<'compiled' | 'refused'> {
  const result = await compiler.compile(source, { language: 'ts', maxSourceBytes: 65_536, toolNames: ['x'] });
  for (const diagnostic of result.ok ? result.script.diagnostics : result.diagnostics) {
    expect(diagnostic.line).toBeGreaterThanOrEqual(1);
    expect(diagnostic.column).toBeGreaterThanOrEqual(1);
  }
  if (!result.ok) {
    expect(['ScriptSyntaxError', 'ScriptPolicyError', 'ScriptTooLargeError']).toContain(result.failure.code);
    expect(result.failure.line).toBeGreaterThanOrEqual(1);
    expect(result.failure.frame).toContain('^');
    return 'refused';
  }
  expectOneFunction(result.script.javascript);
  result.script.originalPosition(2, 1);
  return 'compiled';
}

/** The output is a script of one parenthesised arrow function, for any input. */
function expectOneFunction(javascript: string): void {
  const { program, errors } = parseSync('a.js', javascript, {
    lang: 'js',
    sourceType: 'script',
    preserveParens: false,
  });
  expect(errors.map(({ message }) => message)).toEqual([]);
  expect(
    program.body.map((statement) => statement.type === 'ExpressionStatement' && statement.expression.type),
  ).toEqual(['ArrowFunctionExpression']);
}

const SOUPS = tries(4_000);
const DAMAGED = tries(3_000);

describe('any source', () => {
  it('has a seed that is accepted', async () => {
    for (const { source } of ORDINARY) expect(await outcomeOf(source)).toBe('compiled');
  });

  it('has a result if it consists of random tokens', async () => {
    const counts = { compiled: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(soup, async (source) => {
        counts[await outcomeOf(source)]++;
      }),
      { numRuns: SOUPS },
    );
    expect(counts.compiled).toBeGreaterThan(SOUPS / 80);
    expect(counts.refused).toBeGreaterThan(SOUPS / 80);
  });

  it('has a result if it is a damaged ordinary script', async () => {
    const counts = { compiled: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(damaged, async (source) => {
        counts[await outcomeOf(source)]++;
      }),
      { numRuns: DAMAGED },
    );
    expect(Math.min(counts.compiled, counts.refused)).toBeGreaterThan(DAMAGED / 15);
  });

  it('has a result if it is arbitrary text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (source) => {
        await outcomeOf(source);
      }),
      { numRuns: tries(1000) },
    );
    expect(compiler.stats().restarts).toBe(0);
  });
});
