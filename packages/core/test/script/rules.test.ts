import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
import type { Diagnostic } from '#core/protocol/index.js';
import { compiled } from './running.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

const TOOLS = ['readFile', 'writeFile', 'listDir', 'grepFiles', 'applyPatch', 'exec', 'prompts.save', 'get-user'];

const WARNED: readonly [code: string, source: string][] = [
  ['repair-floating-call', 'tools.exec({ argv: ["ls"] })'],
  ['repair-floating-call', 'tools.prompts.save({})'],
  ['repair-floating-call', 'tools["exec"]({})'],
  ['repair-floating-call', 'if (x) tools.exec({})'],
  ['repair-floating-call', 'x && tools.exec({})'],
  ['repair-floating-call', 'tools.exec({}).then((r) => r)'],
  ['repair-floating-call', 'const { exec } = tools; exec({})'],
  ['floating-promise', 'const f = () => { tools.exec({}) }'],
  ['floating-promise', 'items.forEach((x) => { tools.exec({ x }) })'],
  ['floating-promise', 'const o = { ...tools.exec({}) }'],
  ['floating-promise', 'const s = tools.exec({}).stdout'],
  ['floating-promise', 'for (const f of tools.listDir({})) f()'],
  ['promise-in-text', 'const s = `${tools.exec({})}`'],
  ['promise-in-text', 'const s = "a" + tools.exec({})'],
  ['promise-in-text', 'const s = JSON.stringify(tools.exec({}))'],
  ['promise-in-text', 'console.log("x", tools.exec({}))'],
  ['promise-in-text', 'String(tools.exec({}) as any)'],
  ['promise-in-condition', 'if (tools.exec({})) { x() }'],
  ['promise-in-condition', 'while (!tools.exec({})) { x() }'],
  ['promise-in-condition', 'const y = tools.exec({}) ? 1 : 2'],
  ['promise-in-condition', 'const y = tools.exec({}) || 2'],
  ['promise-in-condition', 'const y = tools.exec({}) === 2'],
  ['async-foreach', '[1].forEach(async (x) => { await tools.exec({}) })'],
  ['async-foreach', 'items.forEach(async function (x) {})'],
  ['unknown-tool', 'await tools.readfile({})'],
  ['unknown-tool', 'await tools.prompts.load({})'],
];

const SILENT: readonly string[] = [
  'await tools.exec({})',
  'void tools.exec({})',
  'const p = tools.exec({}); await p',
  'return tools.exec({})',
  'await Promise.all([1].map((x) => tools.exec({ x })))',
  'const f = () => tools.exec({}); await f()',
  'await tools.exec({}).then((r) => r)',
  'const r = x ? tools.exec({}) : tools.readFile({}); await r',
  'tools.spawn.exec("exec", {}); tools.spawn.cancel("task_1")',
  'for (const { id } of await tools.spawn.list()) await tools.spawn.read(id)',
  'await tools.mcp.github.search({ q: 1 }); await tools.http({})',
  'await tools.get_user({}); await tools["get-user"]({})',
  'await tools.fetchUrl?.({}); if (tools.nothing) { x() }',
  'await tools.exec.call(null, {})',
  'const tools = { made: async () => 1 }; tools.made()',
  '[1].forEach((x) => x)',
  'if (await tools.exec({})) x()',
  'for await (const x of tools.listDir({})) x()',
  'const name = "x"; await tools[name]({})',
];

function isNoInfo({ severity }: Diagnostic): boolean {
  return severity !== 'info';
}

describe('promise rules', () => {
  it.each(WARNED)('%s is a warning at its place: %s', async (code, source) => {
    const { diagnostics } = await compiled(compiler, `let x, items;\n\n  ${source}`, TOOLS);
    const warnings = diagnostics.filter(isNoInfo);
    expect(warnings.map((each) => each.code)).toEqual([code]);
    expect(warnings[0]).toMatchObject({ severity: 'warning', line: 3 });
    expect(warnings[0]?.column).toBeGreaterThan(2);
  });

  it.each(SILENT)('deliberate and correct code gets no warning: %s', async (source) => {
    const { diagnostics } = await compiled(compiler, `let x;\n${source}`, TOOLS);
    expect(diagnostics.filter(isNoInfo)).toEqual([]);
  });
});

describe('unknown tools', () => {
  it.each([
    ['readfile', 'readFile'],
    ['listFiles', 'listDir'],
    ['patchApply', 'applyPatch'],
    ['execute', 'exec'],
    ['prompts.store', 'prompts.save'],
  ])('%s is reported with the nearest name %s', async (written, meant) => {
    const { diagnostics } = await compiled(compiler, `await tools.${written}({})`, TOOLS);
    expect(diagnostics.find(isNoInfo)?.message).toContain(`tools.${meant}`);
  });

  it('are not reported without a list of names', async () => {
    expect((await compiled(compiler, 'return tools.anything({})')).diagnostics).toEqual([]);
  });

  it('are all reported if the list is empty', async () => {
    expect((await compiled(compiler, 'return tools.anything({})', [])).diagnostics).toHaveLength(1);
  });
});

describe('the plan', () => {
  const cases: readonly [source: string, plan: object[]][] = [
    ['return 1', []],
    [
      'const a = await tools.readFile({ path: "a.txt", lines: [1, -2], deep: { ok: true, none: null } });\n  await tools.exec({ argv: [a] });',
      [
        {
          tool: 'readFile',
          line: 1,
          column: 17,
          input: { path: 'a.txt', lines: [1, -2], deep: { ok: true, none: null } },
          repeated: false,
          conditional: false,
        },
        { tool: 'exec', line: 2, column: 9, repeated: false, conditional: false },
      ],
    ],
    ['await tools.exec()', [{ tool: 'exec', repeated: false, conditional: false }]],
    [
      'for (const f of await tools.listDir({})) await tools.readFile({ path: f })',
      [
        { tool: 'listDir', repeated: false, input: {} },
        { tool: 'readFile', repeated: true },
      ],
    ],
    ['while (await tools.exec({})) {}', [{ repeated: true }]],
    ['await Promise.all(xs.map((x) => tools.exec({ x })))', [{ repeated: true, conditional: false }]],
    ['await Promise.all([tools.exec({}), tools.exec({})])', [{ repeated: false }, { repeated: false }]],
    ['if (x) await tools.exec({}); else await tools.readFile({})', [{ conditional: true }, { conditional: true }]],
    ['if (await tools.exec({})) x()', [{ conditional: false }]],
    [
      'const y = x ? await tools.exec({}) : x && (await tools.readFile({}))',
      [{ conditional: true }, { conditional: true }],
    ],
    ['switch (x) { case 1: await tools.exec({}) }', [{ conditional: true }]],
    [
      'try { await tools.exec({}) } catch { await tools.readFile({}) }',
      [{ conditional: false }, { conditional: true }],
    ],
    ['if (x) return 1;\nawait tools.exec({})', [{ conditional: true }]],
    ['const f = () => { if (x) return 1 };\nawait tools.exec({})', [{ conditional: false }]],
    ['async function main() { await tools.exec({}) }\nawait main()', [{ repeated: false, conditional: false }]],
    ['const get = async () => tools.exec({});\nif (x) await get()', [{ repeated: false, conditional: true }]],
    ['const get = async () => tools.exec({});\nawait get(); await get()', [{ repeated: true }]],
    ['async function a() { await b() }\nasync function b() { await tools.exec({}); await a() }', [{ repeated: true }]],
    [
      'await tools.exec({}).catch(() => tools.readFile({}))',
      [{ conditional: false }, { tool: 'readFile', conditional: true, repeated: false }],
    ],
    ['const { exec: run } = tools; await run({ a: `b` })', [{ tool: 'exec', input: { a: 'b' } }]],
    ['const h = await tools.spawn.exec("exec", { a: 1 })', [{ tool: 'exec', input: { a: 1 } }]],
    ['await tools.spawn.list(); await tools.spawn.read("x"); await tools.spawn.wait("x"); tools.spawn.cancel("x")', []],
    ['await tools.mcp.github.search({ __proto__: { a: 1 } })', [{ tool: 'mcp.github.search' }]],
  ];

  it.each(cases)('of %s', async (source, plan) => {
    const script = await compiled(compiler, source);
    expect(script.plan).toHaveLength(plan.length);
    expect(script.plan).toMatchObject(plan);
  });

  it('contains only inputs that are completely literal', async () => {
    const sources = [
      '{ a: x }',
      '{ ...x }',
      '[x]',
      '{ [k]: 1 }',
      'x',
      '{ a() {} }',
      '{ __proto__: {} }',
      '/r/',
      '1n',
      '`${x}`',
    ];
    for (const source of sources) {
      const [call] = (await compiled(compiler, `let x, k; await tools.exec(${source})`)).plan;
      expect(call).not.toHaveProperty('input');
    }
  });
});
