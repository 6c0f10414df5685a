import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compiler.js';
import { compiled, refused, run, start } from './running.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

const REPAIRED: readonly { name: string; source: string; answer: unknown; codes: string[] }[] = [
  { name: 'a fence around the script', source: '```ts\nreturn 1\n```', answer: 1, codes: ['repair-fence'] },
  {
    name: 'a fence with spaces and Windows line ends',
    source: '\r\n  ```typescript tool-calls\r\nreturn 1\r\n```  \r\n',
    answer: 1,
    codes: ['repair-fence'],
  },
  { name: 'an opening fence alone', source: '```js\nreturn 2', answer: 2, codes: ['repair-fence'] },
  { name: 'a closing fence alone', source: 'return 3\n```\n', answer: 3, codes: ['repair-fence'] },
  { name: 'a fence around templates', source: '```\nreturn `a${`b`}`\n```', answer: 'ab', codes: ['repair-fence'] },
  {
    name: 'export default before a named function',
    source: 'export default async function main() { return 4 }',
    answer: 4,
    codes: ['repair-export'],
  },
  {
    name: 'export default before a function without a name',
    source: 'export default async function () { return 5 }',
    answer: 5,
    codes: ['repair-export'],
  },
  {
    name: 'export default before an arrow function',
    source: 'const x = 6;\nexport default (async () => x);\n',
    answer: 6,
    codes: ['repair-export'],
  },
  {
    name: 'export default before a function that wants tools',
    source: 'export default async ({ tools }: any) => (await tools.exec({ argv: ["a"] })).stdout',
    answer: 'a',
    codes: ['repair-export'],
  },
  {
    name: 'export default before an object',
    source: 'export default { a: 1 };',
    answer: { a: 1 },
    codes: ['repair-export'],
  },
  {
    name: 'export default before an expression',
    source: 'const a = 7;\nexport default a',
    answer: 7,
    codes: ['repair-export'],
  },
  {
    name: 'a bare async arrow function',
    source: 'async () => {\n  return 8;\n}',
    answer: 8,
    codes: ['repair-function'],
  },
  {
    name: 'a bare arrow function that takes tools',
    source: 'async (tools) => (await tools.exec({ argv: ["b"] })).stdout;',
    answer: 'b',
    codes: ['repair-function'],
  },
  {
    name: 'a bare async function without a name',
    source: 'async function () { return 9 }',
    answer: 9,
    codes: ['repair-function'],
  },
  {
    name: 'a bare async function with a name',
    source: 'interface Q {}\nasync function main(): Promise<number> { return 10 } // end',
    answer: 10,
    codes: ['repair-function'],
  },
  {
    name: 'main among other functions, never called',
    source: 'const x = 11;\nfunction get() { return x }\nasync function main() { return get() }',
    answer: 11,
    codes: ['repair-function'],
  },
  {
    name: 'a function that calls itself, not awaited',
    source: '(async () => { return 12 })();',
    answer: 12,
    codes: ['repair-function'],
  },
  {
    name: 'a function that calls itself, awaited and not returned',
    source: 'await (async () => { return 13 })()',
    answer: 13,
    codes: ['repair-function'],
  },
  {
    name: 'a function that calls itself and catches',
    source: '(async function () { throw 1 })().catch(() => 14)',
    answer: 14,
    codes: ['repair-function'],
  },
  {
    name: 'main() at the end, not awaited',
    source: 'async function main() { return 15 }\nmain();',
    answer: 15,
    codes: ['repair-unawaited-call'],
  },
  {
    name: 'main().catch() before the function',
    source: 'main().catch(console.error)\nasync function main() { return 16 }',
    answer: 16,
    codes: ['repair-unawaited-call'],
  },
  {
    name: 'an async arrow function called at the end',
    source: 'const go = async () => 17\nconst y = 1\ngo()',
    answer: 17,
    codes: ['repair-unawaited-call'],
  },
  {
    name: 'entities',
    source:
      'const s = &quot;a&quot;;\nif (1 &lt; 2 &amp;&amp; 3 &gt;= 3) return [s].map((x) =&gt; x + &#39;!&#x27;)[0];',
    answer: 'a!',
    codes: ['repair-entities'],
  },
  {
    name: 'entities within a fence',
    source: '```ts\nreturn 1 &lt; 2\n```',
    answer: true,
    codes: ['repair-fence', 'repair-entities'],
  },
  {
    name: 'entities in a whole-script function',
    source: 'async () =&gt; { return 1 &lt; 2 }',
    answer: true,
    codes: ['repair-entities', 'repair-function'],
  },
  { name: 'a byte order mark', source: '\ufeffreturn 18', answer: 18, codes: [] },
  { name: 'a #! line', source: '#!/usr/bin/env node\nreturn 19', answer: 19, codes: ['repair-hashbang'] },
  {
    name: 'half a surrogate pair in a string',
    source: 'return "a\ud800b"',
    answer: 'a\ufffdb',
    codes: ['repair-surrogate'],
  },
];

describe('repairs', () => {
  it.each(REPAIRED)('are made and told: $name', async ({ source, answer, codes }) => {
    const script = await compiled(compiler, source);
    expect(script.diagnostics.map(({ code }) => code)).toEqual(codes);
    expect(script.source).toBe(source);
    expect(await run(script)).toEqual(answer);
  });

  it.each(REPAIRED.filter(({ source }) => !source.includes('.catch(')))(
    'keep the place of an error: $name',
    async ({ source }) => {
      for (const ends of ['\n', '\r\n']) {
        const withThrow = insertThrow(source, ends);
        if (withThrow === undefined) continue;
        const script = await compiled(compiler, withThrow.source);
        const error = await start(script).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(positionOf(error, script.originalPosition)).toMatchObject({ line: withThrow.line });
      }
    },
  );

  it('leave alone what parses: entities in strings are text', async () => {
    const script = await compiled(compiler, 'return "a &lt; b &amp;&amp; c"');
    expect(script.diagnostics).toEqual([]);
    expect(await run(script)).toBe('a &lt; b &amp;&amp; c');
  });

  it('leave alone calls that are awaited, returned, voided or not the last', async () => {
    for (const source of [
      'const f = async () => 1; await f();',
      'const f = async () => 1; void f();',
      'const f = async () => 1; f(); return 2;',
      'const f = () => 1; f();',
    ]) {
      const { diagnostics } = await compiled(compiler, source);
      expect(diagnostics).toEqual([]);
    }
  });

  it('report the errors of the text as it was when no repair helps', async () => {
    const failure = await refused(compiler, 'const a = 1;\nconst x = &lt; ;\n```');
    expect(failure).toMatchObject({ code: 'ScriptSyntaxError', line: 2 });
  });

  it('count no export inside a namespace', async () => {
    expect(await run(await compiled(compiler, 'namespace N { export const a = 1 }\nreturn N.a'))).toBe(1);
  });
});

/** Puts a line that throws where the script's own first statement or function body begins. */
function insertThrow(source: string, ends: string): { source: string; line: number } | undefined {
  const marker = /return |throw 1/.exec(source);
  if (marker === null) return undefined;
  const head = source.slice(0, marker.index);
  const altered = `${head}${ends}${ends}throw new RangeError('here');${ends}${source.slice(marker.index)}`;
  const line = altered.slice(0, altered.indexOf('throw new')).split(/\r\n|\n/).length;
  return { source: altered, line };
}

function positionOf(error: unknown, map: (line: number, column: number) => unknown): unknown {
  const [, line, column] = /script\.ts:(\d+):(\d+)/.exec((error as Error).stack ?? '') ?? [];
  return map(Number(line), Number(column));
}
