import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
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
    name: 'a function of parameters that all have defaults',
    source: 'async function count(from = 1, { step = 2 } = {}) { return from + step }',
    answer: 3,
    codes: ['repair-function'],
  },
  {
    name: 'a function of one object that holds what scripts are given',
    source:
      'export default async function (ctx) { const { tools } = ctx; return (await ctx.tools.exec({ argv: ["a"] })).stdout }',
    answer: 'a',
    codes: ['repair-export'],
  },
  {
    name: 'a function whose parameter is not used, or may be missing',
    source: 'async (event, input) => input?.name ?? "none"',
    answer: 'none',
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
    name: 'the only function that nobody calls, where nothing else runs',
    source: 'const twice = (x: number) => x * 2;\nconst entry = async () => { return twice(5.5) };',
    answer: 11,
    codes: ['repair-function'],
  },
  {
    name: 'an exported function in a variable',
    source: 'export const handler = async ({ tools }: any) => { return 11 };',
    answer: 11,
    codes: ['repair-export', 'repair-function'],
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
    name: 'entities around literals that hold some of their own',
    source:
      'const s = `<p>a &amp; b</p>`;\nconst t = "&lt;";\nreturn [1, 2].filter((x) => x &gt; 1 &amp;&amp; s).concat([s + t])',
    answer: [2, '<p>a &amp; b</p>&lt;'],
    codes: ['repair-entities'],
  },
  {
    name: 'a timer that is to hold no process',
    source: 'const late = setTimeout(() => {}, 1);\nlate.unref();\nsetInterval(() => {}, 1)\n  .unref();\nreturn 1',
    answer: 1,
    codes: ['repair-timer'],
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
  {
    name: 'words around one fence',
    source: 'I will read the file:\n\n```ts\nreturn 20\n```\n\nThat gives the answer.',
    answer: 20,
    codes: ['repair-prose'],
  },
  {
    name: 'words after a fence at the start',
    source: '```ts\nreturn 21\n```\nDone. It returns 21.',
    answer: 21,
    codes: ['repair-fence', 'repair-prose'],
  },
  {
    name: 'words before a fence that is never closed',
    source: 'Here it is:\n```js\nreturn 22\n',
    answer: 22,
    codes: ['repair-prose'],
  },
  {
    name: 'the language on a line of its own',
    source: 'typescript\nreturn 23',
    answer: 23,
    codes: ['repair-language'],
  },
  {
    name: 'the language before a function that calls itself',
    source: 'js\n(async () => { return 24 })()',
    answer: 24,
    codes: ['repair-language', 'repair-function'],
  },
  {
    name: 'an import of types',
    source: 'import type { Q } from "./q";\nconst q: Q = 25;\nreturn q',
    answer: 25,
    codes: ['repair-import'],
  },
  {
    name: 'an import of nothing but types',
    source: 'import { type Q, type R } from "./q";\nreturn 26 as Q',
    answer: 26,
    codes: ['repair-import'],
  },
  {
    name: 'export before declarations, and main among them',
    source: 'export interface Q { a: number }\nexport const x = 27;\nexport async function main() { return x }',
    answer: 27,
    codes: ['repair-export', 'repair-export', 'repair-export', 'repair-function'],
  },
  {
    name: 'a list of exports',
    source: 'async function main() { return 28 }\nexport { main };',
    answer: 28,
    codes: ['repair-export', 'repair-function'],
  },
  {
    name: 'export default and the name of a function',
    source: 'const go = async () => { return 29 };\nexport default go;',
    answer: 29,
    codes: ['repair-export'],
  },
  {
    name: 'module.exports of a function',
    source: 'const x = 30;\nmodule.exports = async function () { return x };',
    answer: 30,
    codes: ['repair-export', 'repair-export'],
  },
  {
    name: 'module.exports of a list of names',
    source: 'async function main() { return 31 }\nmodule.exports = { main };',
    answer: 31,
    codes: ['repair-export', 'repair-function'],
  },
  {
    name: 'a tool call that nobody awaits',
    source: 'tools.exec({ argv: ["c"] }); return 32',
    answer: 32,
    codes: ['repair-floating-call'],
  },
  {
    name: 'a tool call behind a condition, in an async function, that nobody awaits',
    source: 'async function main() { const x = true; x && tools.exec({ argv: ["c"] }).then((r) => r); return 33 }',
    answer: 33,
    codes: ['repair-floating-call', 'repair-function'],
  },
  {
    name: 'a sequence of tool calls that are not awaited',
    source: 'tools.exec({ argv: ["c"] }), tools.exec({ argv: ["d"] }); return 33',
    answer: 33,
    codes: ['repair-floating-call', 'repair-floating-call'],
  },
  { name: 'a last expression', source: 'const a = [34];\na', answer: [34], codes: ['repair-last-value'] },
  {
    name: 'an awaited call at the end',
    source: 'async function main() { return 35 }\nawait main()',
    answer: 35,
    codes: ['repair-last-value'],
  },
  {
    name: 'a last expression before functions',
    source: 'get({ a: 36 });\nfunction get({ a }: any) { return { a } }',
    answer: { a: 36 },
    codes: ['repair-last-value'],
  },
  { name: 'a text alone', source: '"thirty-seven"', answer: 'thirty-seven', codes: ['repair-last-value'] },
  {
    name: 'a result that is only stored, at the end',
    source: 'const done = await tools.exec({ argv: ["h"] })\nfunction unused() {}',
    answer: { exitCode: 0, stdout: 'h' },
    codes: ['repair-last-value'],
  },
  {
    name: 'parts of a result that are only stored, at the end',
    source: 'const { exitCode, stdout: said = "", none } = await tools.exec({ argv: ["h"] });',
    answer: { exitCode: 0, said: 'h' },
    codes: ['repair-last-value'],
  },
  {
    name: 'items that are only stored, at the end',
    source: 'const [one, ...others] = await Promise.all([tools.exec({ argv: ["h"] }), 2, 3])',
    answer: [{ exitCode: 0, stdout: 'h' }, [2, 3]],
    codes: ['repair-last-value'],
  },
  {
    name: 'a tool call alone that nobody awaits',
    source: 'tools.exec({ argv: ["d"] })',
    answer: { exitCode: 0, stdout: 'd' },
    codes: ['repair-floating-call', 'repair-last-value'],
  },
];

/** Scripts that are repaired with the names of the tools. */
const NAMED: readonly { name: string; source: string; answer: unknown; codes: string[] }[] = [
  {
    name: 'a tool without tools before it',
    source: 'return (await exec({ argv: ["e"] })).stdout',
    answer: 'e',
    codes: ['repair-tool-name'],
  },
  {
    name: 'a tool behind another name',
    source: 'async () => {\n  const [a] = await Promise.all([codemode.exec({ argv: ["f"] })]);\n  return a.stdout;\n}',
    answer: 'f',
    codes: ['repair-tool-name', 'repair-function'],
  },
  {
    name: 'a namespace without tools before it',
    source: 'return (await shell.run({ argv: ["g"] })).stdout',
    answer: 'g',
    codes: ['repair-tool-name'],
  },
  {
    name: 'a tool over several lines',
    source:
      'const a = codemode\n  .shell\n  .run({ argv: ["r"] });\nconst b = await shell\n  .run({ argv: ["s"] });\nreturn [(await a).stdout, b.stdout]',
    answer: ['r', 's'],
    codes: ['repair-tool-name', 'repair-tool-name'],
  },
  {
    name: 'a tool behind the end of its namespace, and in one word',
    source: 'return [(await deep.go({ argv: ["p"] })).stdout, (await far__deep__go({ argv: ["q"] })).stdout]',
    answer: ['p', 'q'],
    codes: ['repair-tool-name', 'repair-tool-name'],
  },
  {
    name: 'a tool given to map',
    source: 'const all = await Promise.all([{ argv: ["i"] }].map(exec));\nreturn all[0].stdout',
    answer: 'i',
    codes: ['repair-tool-name'],
  },
  {
    name: 'tools taken out of another name',
    source:
      'const { exec } = codemode;\nconst { run } = shell;\nconst both = [await exec({ argv: ["l"] }), await run({ argv: ["m"] })];\nreturn both.map((each) => each.stdout)',
    answer: ['l', 'm'],
    codes: ['repair-tool-name', 'repair-tool-name'],
  },
  {
    name: 'a tool by a key of another name',
    source: 'const name = "exec";\nreturn (await functions[name]({ argv: ["n"] })).stdout',
    answer: 'n',
    codes: ['repair-tool-name'],
  },
  {
    name: 'an import of tools itself',
    source: 'import { tools } from "codemode";\nreturn (await tools.exec({ argv: ["o"] })).stdout',
    answer: 'o',
    codes: ['repair-import'],
  },
  {
    name: 'an import of tools under other names',
    source:
      'import {\n  exec as start,\n  readFile,\n} from "tools";\nimport * as sh from "./servers/shell";\nreturn [(await start({ argv: ["t"] })).stdout, (await sh.run({ argv: ["u"] })).stdout, (await readFile({ path: "b.json" })).content]',
    answer: ['t', 'u', '{"n": 3}'],
    codes: ['repair-import', 'repair-import', 'repair-tool-name'],
  },
  {
    name: 'an import from the namespace of a tool',
    source: 'import { run } from "shell";\nreturn (await run({ argv: ["v"] })).stdout',
    answer: 'v',
    codes: ['repair-import'],
  },
  {
    name: 'an import of tools',
    source:
      'import { exec } from "./tools";\nimport * as shell from "servers/shell";\nreturn [(await exec({ argv: ["j"] })).stdout, (await shell.run({ argv: ["k"] })).stdout]',
    answer: ['j', 'k'],
    codes: ['repair-import', 'repair-import', 'repair-tool-name', 'repair-tool-name'],
  },
];

const TOOL_NAMES = ['exec', 'readFile', 'listDir', 'shell.run', 'far.deep.go', 'a.twice', 'b.twice'];

describe('repairs', () => {
  it.each(REPAIRED)('are made and reported: $name', async ({ source, answer, codes }) => {
    const script = await compiled(compiler, source);
    expect(script.diagnostics.map(({ code }) => code)).toEqual(codes);
    expect(script.source).toBe(source);
    expect(await run(script)).toEqual(answer);
  });

  it.each(NAMED)('are made and reported if the tools are known: $name', async ({ source, answer, codes }) => {
    const script = await compiled(compiler, source, TOOL_NAMES);
    expect(script.diagnostics.map(({ code }) => code)).toEqual(codes);
    expect(await run(script)).toEqual(answer);
  });

  it('do not read a name as a tool if several tools, the script or the language have it', async () => {
    for (const source of [
      'return typeof exec === "undefined" ? 1 : exec({})',
      'const codemode = { exec: (x: any) => x }; return codemode.exec({})',
      'return await other.exec({})',
      'return await twice({})',
      'return await structuredClone({})',
      'const tools = {}; return exec({})',
    ]) {
      const { diagnostics } = await compiled(compiler, source, [...TOOL_NAMES, 'structuredClone', 'typeof']);
      expect(
        diagnostics.filter(({ code }) => code === 'repair-tool-name'),
        source,
      ).toEqual(source.includes('typeof') ? [expect.anything()] : []);
    }
  });

  it.each([
    'async function tag({ prefix }) { await tools.exec({ argv: [prefix] }) }',
    'async ({ prefix }) => tools.exec({ argv: [prefix] })',
    'export default async function tag({ prefix }) { await tools.exec({ argv: [prefix] }) }',
    'export default async (prefix) => tools.exec({ argv: [prefix] });',
    'async function main(name: string) { await tools.exec({ argv: [name] }) }',
    'const tag = async (context, { prefix }) => tools.exec({ argv: [prefix] });',
  ])('call no function that needs what only the script knows, and tell of it: %s', async (source) => {
    const script = await compiled(compiler, source, TOOL_NAMES);
    expect(script.diagnostics).toMatchObject([{ code: 'uncalled-function', severity: 'warning', line: 1 }]);
    expect(script.javascript).not.toContain('await tag(');
    expect(await run(script)).toBeUndefined();
  });

  it.each([
    'import { exec } from "mysql2"; await exec({})',
    'import { exec } from "@acme/tools"; await exec({})',
    'import { exec as go } from "execa"; await go({})',
    'import { go } from "tools"; await go({})',
    'import { readFile } from "node:fs/promises"; await readFile({ path: "a" })',
    'start({}); import { exec as start } from "tools"',
  ])('do not read an import of a package, or of a part of a name, as a tool: %s', async (source) => {
    const failure = await refused(compiler, source, TOOL_NAMES);
    expect(failure).toMatchObject({ code: 'ScriptPolicyError' });
  });

  it('do not mention the entry of a script that is rejected', async () => {
    const source = 'tools.exec({ argv: ["a"] });\nasync function main() { eval("1") }\nmain()';
    const result = await compiler.compile(source, { language: 'ts', maxSourceBytes: 65_536 });
    expect(result).toMatchObject({ ok: false, diagnostics: [{ code: 'policy-eval' }] });
  });

  it('use the last part of a name only for a hint', async () => {
    const { diagnostics } = await compiled(compiler, 'return (await run({ argv: ["h"] })).stdout', TOOL_NAMES);
    expect(diagnostics).toMatchObject([{ code: 'bare-tool-name' }]);
    expect(diagnostics[0]?.message).toContain('tools.shell.run(…)');
  });

  it('suggest the likely tools for an unknown name', async () => {
    const { diagnostics } = await compiled(compiler, 'return await read_file({ path: "a" })', TOOL_NAMES);
    expect(diagnostics).toMatchObject([{ code: 'bare-tool-name', severity: 'warning', line: 1, column: 14 }]);
    expect(diagnostics[0]?.message).toContain('tools.readFile(…)');
    const several = await compiled(compiler, 'return await twice({})', TOOL_NAMES);
    expect(several.diagnostics[0]?.message).toContain('`tools.a.twice(…)`, `tools.b.twice(…)`');
    const receiver = await compiled(compiler, 'return await codemode.nothing({})', TOOL_NAMES);
    expect(receiver.diagnostics[0]?.message).toBe('There is no `codemode`. Tools are members of `tools`.');
    expect((await compiled(compiler, 'return readings({})', TOOL_NAMES)).diagnostics).toEqual([]);
  });

  it('do not change a last statement with an effect, and scripts that return', async () => {
    for (const source of [
      'const a = []; a.push(1)',
      'let n = 0; n += 1',
      'let n = 0; n++',
      'const m = new Map(); m',
      'const f = () => 1; f',
      'console.log(1)',
      'text(1)',
      'new Map()',
      'if (Math.random() > 2) return 1; 2',
      'for (const x of [1]) x',
      'const a = Math.max(1); async function unused() { await tools.exec({}) }',
      'function helper(path) { return path } function other() {}',
      'await tools.spawn.exec("build", {})',
    ]) {
      const { diagnostics } = await compiled(compiler, source, TOOL_NAMES);
      expect(diagnostics, source).toEqual([]);
    }
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

  it('do not change text that parses: entities in strings are text', async () => {
    const script = await compiled(compiler, 'return "a &lt; b &amp;&amp; c"');
    expect(script.diagnostics).toEqual([]);
    expect(await run(script)).toBe('a &lt; b &amp;&amp; c');
  });

  it('do not change calls that are awaited, returned, voided or not the last', async () => {
    for (const source of [
      'const f = async () => 1; await f(); return;',
      'const f = async () => 1; void f();',
      'const f = async () => 1; f(); return 2;',
      'const f = () => 1; f(); return;',
    ]) {
      const { diagnostics } = await compiled(compiler, source);
      expect(diagnostics).toEqual([]);
    }
  });

  it('report the errors of the original text if no repair helps', async () => {
    const failure = await refused(compiler, 'const a = 1;\nconst x = &lt; ;\n```');
    expect(failure).toMatchObject({ code: 'ScriptSyntaxError', line: 2 });
    const withWords = await refused(compiler, 'const a = 1;\nconst x = ;\n```\nDone');
    expect(withWords).toMatchObject({ code: 'ScriptSyntaxError', line: 2 });
  });

  it('ignore an export inside a namespace', async () => {
    expect(await run(await compiled(compiler, 'namespace N { export const a = 1 }\nreturn N.a'))).toBe(1);
  });
});

/** Inserts a line that throws at the start of the script's own first statement or function body. */
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
