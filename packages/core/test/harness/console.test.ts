import { describe, expect, it } from 'vitest';
import type { Outcome } from '#core/protocol/index.js';
import { sharedHarness, valueOf } from './open-harness.js';

const { harness } = sharedHarness();

const logsOf = async (source: string) => (await harness.runScript(source)).logs.map(({ level, text }) => [level, text]);
const valueOfBoth = (outcome: Outcome) => ({
  value: valueOf(outcome),
  output: outcome.output,
  logs: outcome.logs.map(({ text }) => text).join(''),
});
const textOf = async (source: string) => (await logsOf(source)).map(([, text]) => text).join('\n');

describe('the console', () => {
  it('shows a table: a line for each entry, a column for each member', async () => {
    expect(await textOf('console.table([{ id: 1, name: "one" }, { id: 22, tags: ["a"] }])')).toBe(
      [
        '(index) | id | name | tags',
        '--------|----|------|------',
        '0       | 1  | one  |',
        '1       | 22 |      | ["a"]',
      ].join('\n'),
    );
  });

  it.each([
    ['console.table(["a", "b"])', '(index) | value\n--------|------\n0       | a\n1       | b'],
    ['console.table({ x: { n: 1 }, y: { n: 2 } })', '(index) | n\n--------|--\nx       | 1\ny       | 2'],
    ['console.table([{ a: 1, b: 2 }], ["b"])', '(index) | b\n--------|--\n0       | 2'],
    ['console.table(new Map([["k", { v: 1 }]]))', '(index) | v\n--------|--\nk       | 1'],
    ['console.table([{ a: 1 }, 5])', '(index) | a | value\n--------|---|------\n0       | 1 |\n1       |   | 5'],
    ['console.table(5)', '5'],
    ['console.table([{ text: "two\\nlines" }])', '(index) | text\n--------|-------------\n0       | "two\\nlines"'],
  ])('%s', async (source, expected) => {
    expect(await textOf(source)).toBe(expected);
  });

  it.each(['console.log("%j", list)', 'text(list)', 'text({ list })', 'console.log("%j", { a: { list } })'])(
    'reads no more of a long list than it shows: %s',
    async (show) => {
      const list = 'let read = 0; const list = Array.from({ length: 300_000 }, () => ({ toJSON: () => ++read }));';
      const { value: read, ...outcome } = valueOfBoth(await harness.runScript(`${list} ${show}; return read`));
      expect(read).toBeGreaterThan(1_000);
      expect(read).toBeLessThan(70_000);
      expect(outcome.output + outcome.logs).toContain('[1,2,3,');
    },
  );

  it('truncates and marks a long member of a value shown as JSON', async () => {
    const long = await textOf('console.log("%j", { a: "x".repeat(1_000_000), b: 1 })');
    expect(long).toMatch(/^\{"a":"x{8000}/u);
    expect(long).toContain('…');
    expect(await textOf('console.log("%j", { a: "x".repeat(8_000) })')).toBe(JSON.stringify({ a: 'x'.repeat(8_000) }));
    expect(await textOf('console.log("%j|%j", { u: undefined, d: new Date(0) }, undefined)')).toBe(
      '{"d":"1970-01-01T00:00:00.000Z"}|undefined',
    );
  });

  it('shows the first hundred entries of a long table, and the number of the others', async () => {
    const text = await textOf('console.table(Array.from({ length: 250 }, (_, n) => ({ n })))');
    expect(text.split('\n')).toHaveLength(103);
    expect(text).toMatch(/… 150 more$/u);
  });

  it.each([
    ['console.log("%s has %d of %i", "box", 2.5, 7.9)', 'box has 2.5 of 7'],
    ['console.log("%j %o", { a: 1 }, { b: "x" })', '{"a":1} { b: "x" }'],
    ['console.log("%cstyled", "color: red", "rest")', 'styled rest'],
    ['console.log("100%", "sure %s", 1)', '100% sure %s 1'],
    ['console.log("%d%% done", 50)', '50% done'],
    ['console.log("%s and %s", "one")', 'one and %s'],
    ['console.log("%d", {} as any)', 'NaN'],
    ['console.log("%s")', '%s'],
    ['console.log()', ''],
    ['console.dir({ a: [1, { b: 2 }] }, { depth: 1 })', '{ a: [1, { b: 2 }] }'],
  ])('%s', async (source, expected) => {
    expect(await textOf(source)).toBe(expected);
  });

  it('reports failed assertions as errors, and nothing else', async () => {
    const source =
      'console.assert(true, "right"); console.assert(1 > 2, "%d is less", 1); console.assert(false); console.assert(null, { a: 1 });';
    expect(await logsOf(source)).toEqual([
      ['error', 'Assertion failed: 1 is less'],
      ['error', 'Assertion failed'],
      ['error', 'Assertion failed: { a: 1 }'],
    ]);
  });

  it('indents each line in a group', async () => {
    const source =
      'console.group("outer"); console.warn("two\\nlines"); console.groupCollapsed(); console.log("deep"); console.groupEnd(); console.log("back"); console.groupEnd(); console.groupEnd(); console.log("out");';
    expect(await logsOf(source)).toEqual([
      ['log', 'outer'],
      ['warn', '  two\n  lines'],
      ['log', '    deep'],
      ['log', '  back'],
      ['log', 'out'],
    ]);
  });

  it('counts by labels', async () => {
    const source = 'console.count(); console.count("a"); console.count(); console.countReset(); console.count();';
    expect(await textOf(source)).toBe('default: 1\na: 1\ndefault: 2\ndefault: 1');
  });

  it('measures by labels, with the script’s clock', async () => {
    const source =
      'console.time("work"); await sleep(20); console.timeLog("work", "half"); console.timeEnd("work"); console.timeEnd("work"); console.time(); console.timeEnd();';
    const [half, end, gone, still] = await logsOf(source);
    expect(half).toEqual(['log', expect.stringMatching(/^work: \d+ms half$/u)]);
    expect(end).toEqual(['log', expect.stringMatching(/^work: \d+ms$/u)]);
    expect(gone).toEqual(['warn', 'No such label "work" for console.timeEnd()']);
    expect(still).toEqual(['log', 'default: 0ms']);
  });

  it('traces to the place of the call, in the model’s own lines', async () => {
    const source = 'const inner = () => {\n  console.trace("here");\n};\ninner();';
    expect(await logsOf(source)).toEqual([
      ['error', 'Trace: here\n    at inner (script.ts:2:11)\n    at (script.ts:4:1)'],
    ]);
  });

  it('shows the readable part of a value that throws when it is read', async () => {
    const source =
      'console.log("a", { get b() { throw new Error("no") } }, "c"); console.table([new Proxy({}, { ownKeys() { throw 1 } })]);';
    expect(await logsOf(source)).toEqual([
      ['log', 'a { b: [a value that cannot be shown] } c'],
      ['log', '(index) | value\n--------|-------------------------------\n0       | [a value that cannot be shown]'],
    ]);
  });

  it.each([
    ['console.log({ a: 1, get b(): number { throw 1; }, c: 3 })', '{ a: 1, b: [a value that cannot be shown], c: 3 }'],
    ['console.log([1, { get b(): number { throw 1; } }, 3])', '[1, { b: [a value that cannot be shown] }, 3]'],
    [
      'console.log(new Map([["k", { get b(): number { throw 1; } }]]))',
      'Map {"k" => { b: [a value that cannot be shown] }}',
    ],
    [
      'console.table([{ a: 1, get b(): number { throw 1; } }])',
      '(index) | a | b\n--------|---|-------------------------------\n0       | 1 | [a value that cannot be shown]',
    ],
    [
      'const error = new Error("no"); Object.defineProperty(error, "name", { get() { throw 1; } }); error.stack = undefined; console.log([error])',
      '[[a value that cannot be shown]: no]',
    ],
  ])('shows every other member where one cannot be read: %s', async (source, expected) => {
    expect(await textOf(source)).toBe(expected);
  });

  it.each([
    ['console.table(new Array(4e9))', /… 3999999900 more$/u],
    ['console.table([{ a: 1 }], new Array(4e9))', /^\(index\)/u],
    ['console.table({ length: 1e9 })', /^length +\| 1000000000$/mu],
    ['console.table(new Proxy([], { get: (_, key) => key === "length" ? 4e9 : key }))', /… 3999999900 more$/u],
    ['console.log(new Array(4e9))', /… 3999999900 more\]$/u],
    ['console.log(new Map(Array.from({ length: 200_000 }, (_, n) => [n, { n }])))', /… 199900 more\}$/u],
    ['console.log(new Set(Array.from({ length: 200_000 }, (_, n) => n)))', /… 199900 more\}$/u],
    // Each level contains the next level a hundred times.
    ['let wide: unknown = 1; for (let n = 0; n < 7; n++) wide = new Array(100).fill(wide); console.log(wide)', /more/u],
    [
      'let wide: unknown = {}; for (let n = 0; n < 7; n++) wide = Object.fromEntries(new Array(100).fill(wide).map((held, at) => [at, held])); console.log(wide)',
      /more/u,
    ],
    ['const long = "x".repeat(5e6); console.log(new Array(100).fill(long))', /more characters\]$/u],
  ])('does no more work than a line shows: %s', async (source, expected) => {
    const outcome = await harness.runScript(source, { limits: { computeMs: 2_000 } });
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(outcome.logs.map(({ text }) => text).join('\n')).toMatch(expected);
  });
});
