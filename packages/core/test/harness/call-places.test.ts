import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failureOf, sharedHarness, valueOf } from './open-harness.js';

const { harness } = sharedHarness();

/** The lines of a script's calls, in call order. */
async function linesOf(source: string): Promise<(number | undefined)[]> {
  const outcome = await harness.runScript(source, { limits: { maxToolCalls: 200 } });
  valueOf(outcome);
  return outcome.operations.map(({ line }) => line);
}

describe('the place of a call', () => {
  it('is the same in every iteration of a loop, and different for another call in it', async () => {
    const source = [
      'for (let i = 0; i < 3; i++) {',
      '  await tools.add({ a: i });',
      '  if (i > 0)',
      '    await tools.add({ a: i, b: 2 });',
      '}',
    ].join('\n');
    expect(await linesOf(source)).toEqual([2, 2, 4, 2, 4]);
  });

  it('is that of the callback, even if built-ins or the library call it', async () => {
    const source = [
      'const list = [1, 2];',
      'await Promise.all(list.map((a) =>',
      '  tools.add({ a })));',
      'const calls = [];',
      "new URLSearchParams('a=1&b=2').forEach((value) => {",
      '  calls.push(tools.add({ a: Number(value) }));',
      '});',
      'const toJSON = { toJSON() {',
      '  calls.push(tools.add({ a: 8 }));',
      '  return 1; } };',
      'JSON.stringify([toJSON, toJSON]);',
      'await Promise.all(calls);',
    ].join('\n');
    expect(await linesOf(source)).toEqual([3, 3, 6, 6, 9, 9]);
  });

  it('is the place where the tool was passed to a built-in', async () => {
    const source = [
      'const inputs = [{ a: 1 }, { a: 2 }];',
      'await Promise.all(inputs.map(tools.add));',
      'await Reflect.apply(tools.add, undefined, [{ a: 3 }]);',
      'await Promise.all(inputs.map(tools.add));',
    ].join('\n');
    expect(await linesOf(source)).toEqual([2, 2, 3, 4, 4]);
  });

  it('is distinguished in functions of every kind', async () => {
    const source = [
      'class Reader {',
      '  static async read(a) {',
      '    return tools.add({ a });',
      '  }',
      '  get sum() {',
      '    return tools.add({ a: 5 });',
      '  }',
      '}',
      'async function* pages() {',
      '  for (let a = 0; a < 2; a++)',
      '    yield await tools.add({ a });',
      '}',
      'function* made() {',
      '  yield tools.add({ a: 7 });',
      '}',
      'for await (const page of pages()) await Reader.read(page.sum);',
      'await new Reader().sum;',
      'for (const promise of made()) await promise;',
    ].join('\n');
    expect(await linesOf(source)).toEqual([11, 3, 11, 3, 6, 14]);
  });

  it('stays correct when places are revisited in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 40 }), async (order) => {
        const sites = Array.from({ length: 8 }, (_, site) => `  () => tools.add({ a: ${site} }),`);
        const source = [
          'const sites = [',
          ...sites,
          '];',
          `for (const site of ${JSON.stringify(order)})`,
          '  await sites[site]();',
        ];
        expect(await linesOf(source.join('\n'))).toEqual(order.map((site) => site + 2));
      }),
      { numRuns: 15 },
    );
  });

  it('cannot be forged by names, traces or code', async () => {
    const source = [
      "const named = { 'x (script.ts:99:1)': () => tools.add({ a: 1 }) };",
      "await named['x (script.ts:99:1)']();",
      'try { Error.prepareStackTrace = () => []; } catch {}',
      'try { Error.stackTraceLimit = 0; } catch {}',
      'await tools.add({ a: 2 });',
      "await named['x (script.ts:99:1)']();",
    ].join('\n');
    expect(await linesOf(source)).toEqual([1, 5, 1]);
  });

  it('of an error is reported, whatever trace length the script has set', async () => {
    const source = [
      'try { Error.stackTraceLimit = 0; } catch {}',
      "try { Object.defineProperty(Error, 'stackTraceLimit', { value: 0 }); } catch {}",
      "throw new Error('here');",
    ].join('\n');
    expect(failureOf(await harness.runScript(source))).toMatchObject({ message: 'Error: here', line: 3 });
  });
});
