import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
import { applyLayers, LineIndex, originalOffset } from '#core/script/syntax/source-text.js';
import * as fc from 'fast-check';
import { compiled, refused, start } from './running.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

describe('positions in the compiled code', () => {
  const scripts: readonly [name: string, source: string][] = [
    ['plain', 'const a = 1;\n\n\nthrow new Error("x" + a);'],
    [
      'after types',
      'interface A {\n  b: string;\n}\ntype C = A | undefined;\n\nlet c: C;\n  throw new Error(`${c as any}`);',
    ],
    [
      'after an enum',
      'enum E {\n  A,\n  B,\n}\nclass P { constructor(private x: number) {} }\nif (E.A === 0) throw new TypeError("no");',
    ],
    [
      'in a function',
      'const f = (n: number): number => {\n  if (n > 2) {\n    throw new Error("deep");\n  }\n  return f(n + 1);\n};\nf(0);',
    ],
    ['after wide characters', 'const s = "😀é漢";\nconst t = "漢漢漢"; throw new Error(s + t);'],
    ['after Windows line ends', 'const t = `a\r\nb`;\r\nconst u = "x";\r\n\r\nthrow new Error(t + u);'],
    ['after comments', '/* one\n two\n*/ // three\n/** four */\nthrow new Error("x");'],
    [
      'on one long line',
      `${'const a = { b: 1, c: [1, 2, 3] }; '.replace('a', 'a1')}${'void 0; '.repeat(200)}throw new Error("x");`,
    ],
    ['in a class', 'class A {\n  #x = 1;\n  static go(): void {\n    null!.x;\n  }\n}\nA.go();'],
    [
      'after a tool call',
      'await tools.exec({\n  argv: ["a"],\n});\nawait tools.readFile({ path: "none" }).catch((e) => {\n  throw new Error("mine");\n});',
    ],
  ];

  it.each(scripts)('map to the line and token of an error: %s', async (_, source) => {
    const script = await compiled(compiler, source);
    const error: unknown = await start(script).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const [, line, column] = /script\.ts:(\d+):(\d+)/.exec((error as Error).stack ?? '') ?? [];
    const position = script.originalPosition(Number(line), Number(column));
    expect(position).toEqual(new LineIndex(source).positionAt(placeOfError(source)));
  });

  it('count lines as the sandbox does, which knows only \\n as a line end', async () => {
    const source = 'const t = `a\u2028b\u2029c`; const u = "x";\r\n\r\n// \u2028\nthrow new Error(t + u);';
    const { javascript, originalPosition } = await compiled(compiler, source);
    const before = javascript.slice(0, javascript.indexOf('new Error')).split('\n');
    const position = originalPosition(before.length, (before.at(-1) ?? '').length + 1);
    expect(position).toEqual({ line: 4, column: 7 });
  });

  it('are undefined in the wrapper and outside', async () => {
    const script = await compiled(compiler, 'return 1');
    const lines = script.javascript.split('\n').length;
    expect(script.originalPosition(1, 1)).toBeUndefined();
    expect(script.originalPosition(lines + 1, 1)).toBeUndefined();
    for (const [line, column] of [
      [0, 0],
      [-1, 5],
      [Number.NaN, 1],
      [1.5, 1],
      [1e9, 1e9],
    ] as const) {
      expect(script.originalPosition(line, column)).toBeUndefined();
    }
    expect((await compiled(compiler, '')).originalPosition(2, 1)).toBeUndefined();
  });

  it('are in the source for every query', async () => {
    const source = 'async () => {\r\n  const x: number = 1;\n  return `${x}\u2028`;\n}';
    const script = await compiled(compiler, source);
    const lines = source.split(/\r\n|\n/);
    fc.assert(
      fc.property(fc.integer({ min: -2, max: 12 }), fc.integer({ min: -2, max: 80 }), (line, column) => {
        const position = script.originalPosition(line, column);
        if (position === undefined) return;
        expect(position.line).toBeGreaterThanOrEqual(1);
        expect(position.line).toBeLessThanOrEqual(lines.length);
        expect(position.column).toBeLessThanOrEqual((lines[position.line - 1] ?? '').length + 1);
      }),
    );
  });
});

describe('positions of syntax errors', () => {
  it.each([
    ['const a = 1;\nconst b = ;', 2, 11],
    ['let s = "😀é漢"; let s = 1', 1, 21],
    ['\r\n\r\n  foo(]', 3, 7],
    ['\u2028x = ;', 1, 6],
    ['```ts\nlet x = ;\n```', 2, 9],
    ['\ufefflet x = ;', 1, 10],
    ['enum E { A = f(), B }', 1, 19],
  ])('refer to the model’s own text: %j', async (source, line, column) => {
    expect(await refused(compiler, source)).toMatchObject({ code: 'ScriptSyntaxError', line, column });
  });

  it('have a frame, a hint if there is one, and a message that names the place', async () => {
    const failure = await refused(compiler, 'const a = 1;\nreturn <div>{a}</div>;\nfoo();');
    expect(failure.message).toBe('JSX is not available in scripts (line 2, column 8).');
    expect(failure.hint).toBeDefined();
    expect(failure.frame).toBe('  1 | const a = 1;\n> 2 | return <div>{a}</div>;\n    |        ^\n  3 | foo();');
  });
});

describe('edits', () => {
  const edits = fc
    .tuple(
      fc.string({ maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(30), fc.nat(30), fc.string({ maxLength: 4 })), { maxLength: 4 }),
    )
    .map(([text, raw]) => {
      const cuts = raw.flatMap(([a, b]) => [a % (text.length + 1), b % (text.length + 1)]).sort((a, b) => a - b);
      const list = raw.map(([, , inserted], index) => ({
        start: cuts[index * 2] ?? 0,
        end: cuts[index * 2 + 1] ?? 0,
        text: inserted,
      }));
      return { text, list };
    });

  it('map every kept character to itself', () => {
    fc.assert(
      fc.property(edits, ({ text, list }) => {
        const edited = applyLayers(text, [list]);
        let at = 0;
        let shift = 0;
        for (const edit of [...list, { start: text.length, end: text.length, text: '' }]) {
          for (; at < edit.start; at++) expect(originalOffset(at + shift, [list])).toBe(at);
          shift += edit.text.length - (edit.end - edit.start);
          at = edit.end;
        }
        expect(originalOffset(edited.length, [list])).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});

/** The position that V8 reports for the error: at `new`, or at the member read of null. */
function placeOfError(source: string): number {
  const thrown = source.search(/new (Type)?Error/);
  return thrown >= 0 ? thrown : source.indexOf('x;', source.indexOf('null'));
}
