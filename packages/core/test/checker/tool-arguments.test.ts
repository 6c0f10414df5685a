import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, type Harness, type HarnessOptions } from '#core/index.js';
import type { Outcome, Tool } from '#core/protocol/index.js';

const MODES = ['draft', 'final'] as const;
let calls = 0;

function tool(definition: Pick<Parameters<typeof defineTool>[0], 'name' | 'input' | 'inputSchema'>): Tool {
  return defineTool({
    ...definition,
    description: 'Does it.',
    approval: 'never',
    execute: () => (calls += 1),
  } as never);
}

const tools = [
  tool({
    name: 'find',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 2 },
        state: { enum: ['open', 'closed'] },
        limit: { type: 'integer', minimum: 1, maximum: 100 },
        filter: { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] },
        rows: { type: 'array', items: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } },
      },
      required: ['query'],
    },
  }),
  tool({
    name: 'save',
    input: z.object({
      path: z.string().regex(/^\//u),
      mode: z.enum(MODES).default('draft'),
      size: z.number().max(10).optional(),
    }),
  }),
  tool({
    name: 'pay',
    inputSchema: {
      type: 'object',
      oneOf: [
        { properties: { by: { const: 'card' }, amount: { type: 'number', maximum: 100 } }, required: ['by', 'amount'] },
        { properties: { by: { const: 'bank' }, amount: { type: 'number', minimum: 100 } }, required: ['by', 'amount'] },
      ],
    },
  }),
  tool({
    name: 'page',
    inputSchema: {
      type: 'object',
      properties: {
        from: { $ref: '#/$defs/Place' },
        to: { $ref: '#/$defs/Place' },
        size: { enum: [10, 50] },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'string' }], items: false, minItems: 2 },
        note: { type: 'string' },
        after: { type: 'string', format: 'date-time' },
      },
      required: ['from'],
      $defs: { Place: { enum: ['start', 'end'] } },
    },
  }),
  tool({ name: 'window', input: z.object({ from: z.number(), to: z.number() }).refine((w) => w.from < w.to) }),
];

const harness = createHarness({ tools, approvals: 'auto' });
afterAll(() => harness.close());

function open(options: Partial<HarnessOptions>): Harness {
  const opened = createHarness({ tools, approvals: 'auto', ...options });
  onTestFinished(() => opened.close());
  return opened;
}

/** `line:column` of each error that rejected the script, with its message; empty if the script ran. */
async function refused(source: string, under = harness): Promise<string[]> {
  const before = calls;
  const outcome: Outcome = await under.runScript(source);
  if (outcome.status === 'completed') return [];
  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError', phase: 'checking' } });
  expect(calls).toBe(before);
  return outcome.diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ line, column, message }) => `${line}:${column} ${message}`);
}

/** The diagnostics without those of repairs. */
function toldOf({ diagnostics }: Outcome) {
  return diagnostics.filter(({ severity }) => severity !== 'info');
}

describe('a call with literal arguments', () => {
  it.each([
    [
      'a number beyond its range',
      'await tools.find({ query: "ab", limit: 500 })',
      /^1:33 args\.limit of tools\.find: .*at most 100, received 500/u,
    ],
    ['a text that is too short', 'await tools.find({ query: "a" })', /^1:20 args\.query .*at least 2 characters/u],
    ['a fraction for an integer', 'await tools.find({ query: "ab", limit: 1.5 })', /^1:33 args\.limit .*integer/u],
    ['a text without its pattern', 'await tools.save({ path: "a" })', /^1:20 args\.path .*matches/u],
    ['a choice that is not offered', 'await tools.save({ path: "/a", mode: "last" })', /^1:32 .*"last"/u],
    ['a missing member', 'await tools.find({ limit: 5 })', /query/u],
    ['no members', 'await tools.find({})', /^1:18 args\.query/u],
    ['a nested object without members', 'await tools.find({ query: "ab", filter: {} })', /^1:33 args\.filter\.label/u],
    [
      'a list of an object without members',
      'await tools.find({ query: "ab", rows: [{}] })',
      /^1:40 args\.rows\[0\]\.id/u,
    ],
    ['null for the arguments', 'await tools.find(null)', /^1:18 args of tools\.find/u],
    ['undefined for the arguments', 'await tools.find(undefined)', /query/u],
    ['no arguments', 'await tools.find()', /1:13 /u],
    ['null for a member that must be there', 'await tools.find({ query: null })', /^1:20 .*null/u],
    ['a number for a text', 'await tools.find({ query: 12 })', /^1:20 .*string/u],
    ['a text for a number', 'await tools.find({ query: "ab", limit: "5" })', /^1:33 .*integer, received string/u],
    ['what no alternative takes', 'await tools.pay({ by: "card", amount: 500 })', /amount/u],
    ['what only the whole shows', 'await tools.window({ from: 2, to: 1 })', /^1:20 args of tools\.window/u],
    [
      'on a later line',
      'const x = 1\nif (x > 2)\n  await tools.find({ query: "ab",\n    limit: 0 })',
      /^4:5 args\.limit/u,
    ],
    ['in a try', 'try { await tools.find({ query: "" }) } catch {}', /^1:26 args\.query/u],
    ['of a task', 'tools.spawn.exec("find", { query: "" })', /^1:28 args\.query/u],
  ])('is refused for %s', async (_, source, message) => {
    const under = source.includes('spawn') ? open({ expose: { spawn: true } }) : harness;
    const found = await refused(source, under);
    expect(found[0]).toMatch(message);
    expect(found).toHaveLength(1);
  });

  it('gets a report of every mistake at its place', async () => {
    const found = await refused('await tools.find({\n  query: "",\n  limit: 0,\n  state: "shut",\n})');
    expect(found.map((line) => line.slice(0, 3))).toEqual(['2:3', '3:3', '4:3']);
  });

  it('runs if the tool accepts them', async () => {
    const before = calls;
    await refused(
      'await tools.find({ query: "ab", limit: 100, rows: [{ id: "1" }] }); await tools.save({ path: "/a" })',
    );
    expect(calls).toBe(before + 2);
  });
});

describe('a variable that always holds the same literal', () => {
  it.each([
    ['a constant', 'const limit = 500; await tools.find({ query: "ab", limit })', /^1:52 args\.limit/u],
    ['one that is never assigned', 'let limit = 500; await tools.find({ query: "ab", limit: limit })', /^1:50 /u],
    ['an object', 'const args = { query: "ab", state: "shut" }; await tools.find(args)', /^1:63 .*state/u],
    ['an object spread', 'const base = { query: "a" }; await tools.find({ ...base, limit: 5 })', /^1:47 args\.query/u],
    [
      'a member',
      'const LIMITS = { all: 500 }; await tools.find({ query: "ab", limit: LIMITS.all })',
      /^1:62 args\.limit/u,
    ],
  ])('is judged as that literal: %s', async (_, source, message) => {
    const [found] = await refused(source);
    expect(found).toMatch(message);
  });

  it.each([
    'let limit = 500; limit = 5; await tools.find({ query: "ab", limit })',
    'let limit = 500; [limit] = [5]; await tools.find({ query: "ab", limit })',
    'let limit = 500; (limit as any) = 5; await tools.find({ query: "ab", limit })',
    'let limit = 500; const set = () => { limit-- }; while (limit > 5) set(); await tools.find({ query: "ab", limit })',
    'const args = { query: "ab", limit: 500 }; args.limit = 5; await tools.find(args)',
    'const args: any = { query: "ab", limit: 500 }; delete args.limit; await tools.find(args)',
    'const args = { query: "ab", limit: 500 }; const same = args; same.limit = 5; await tools.find(args)',
    'const args = { query: "ab", limit: 500 }; Object.assign(args, { limit: 5 }); await tools.find(args)',
    'const args = { query: "ab", limit: 500 }; const fix = (a) => { a.limit = 5 }; fix(args); await tools.find(args)',
    'const args = { query: "ab", limit: 500 }; ({ x: args.limit } = { x: 5 }); await tools.find(args)',
    'const rows = [{}]; for (const row of rows) row.id = "1"; await tools.find({ query: "ab", rows })',
    'const rows = [{}]; rows.map((row: any) => { row.id = "1" }); await tools.find({ query: "ab", rows })',
    'const filter: any = {}; filter.label = "x"; await tools.find({ query: "ab", filter })',
    'const base = { filter: {} as any }; const copy = { ...base }; copy.filter.label = "x"; await tools.find({ query: "ab", ...base })',
    'const limit = 500; { const limit = 5; await tools.find({ query: "ab", limit }) }',
    'const f = async (limit = 500) => tools.find({ query: "ab", limit }); await f(5)',
  ])('counts for nothing where it may change: %s', async (source) => {
    expect(await refused(source)).toEqual([]);
  });
});

describe('a variable that holds different literals in turn', () => {
  it.each([
    ['for (const limit of [5, 500]) await tools.find({ query: "ab", limit })', /^1:63 args\.limit .*500/u],
    ['await Promise.all([5, 500].map((limit) => tools.find({ query: "ab", limit })))', /args\.limit .*500/u],
    ['const all = ["open", "shut"]; for (const state of all) await tools.find({ query: "ab", state })', /args\.state/u],
    ['for (const one of [{ query: "ab" }, { query: "a" }]) await tools.find(one)', /args\.query/u],
    ['for (const one of [{ q: "ab" }, { q: "a" }]) await tools.find({ query: one.q })', /args\.query/u],
  ])('is judged as each of them: %s', async (source, message) => {
    const found = await refused(source);
    expect(found[0]).toMatch(message);
    expect(found).toHaveLength(1);
  });

  it.each([
    'for (const limit of [5, 500]) if (limit < 100) await tools.find({ query: "ab", limit })',
    'for (const limit of [5, 500]) { if (limit > 100) continue; await tools.find({ query: "ab", limit }) }',
    'for (const limit of [5, 500]) limit > 100 ? 0 : await tools.find({ query: "ab", limit })',
    'for (let limit of [5, 500]) { limit = 5; await tools.find({ query: "ab", limit }) }',
    'for (const one of [{ query: "a" }]) { one.query = "ab"; await tools.find(one) }',
    'for (const one of [{ query: "ab", limit: 500 }] as any[]) { delete one.limit; await tools.find(one) }',
    'const limits = [500]; limits[0] = 5; for (const limit of limits) await tools.find({ query: "ab", limit })',
    'for (const limit of [5, ...[6]]) await tools.find({ query: "ab", limit })',
  ])('counts for nothing where the script asks, or changes it: %s', async (source) => {
    expect(await refused(source)).toEqual([]);
  });
});

describe('a call with partly literal arguments', () => {
  const start = 'const some = JSON.parse("500");';

  it.each([
    [`${start} await tools.find({ query: String(some), limit: 500 })`, /args\.limit/u],
    [`${start} await tools.find({ ...JSON.parse("{}"), query: "ab", limit: 500 })`, /args\.limit/u],
    [`${start} await tools.find({ query: some, filter: {} })`, /args\.filter\.label/u],
    [`${start} await tools.find({ query: some, filter: { label: some, lable: 1 } })`, /lable/u],
    [`${start} await tools.save({ path: some, size: 11 })`, /args\.size/u],
    [`${start} const all = { query: "ab", extra: \`\${some}\` }; await tools.find(all)`, /args\.extra/u],
  ])('is refused for what is certainly wrong: %s', async (source, message) => {
    const [found] = await refused(source);
    expect(found).toMatch(message);
  });

  it.each([
    'const some = JSON.parse("\\"bank\\""); await tools.pay({ by: some, amount: 500 })',
    'const some = JSON.parse("500"); await tools.pay({ by: "bank", amount: some })',
    'const some = JSON.parse("3"); await tools.window({ from: 2, to: some })',
    'await tools.find({ limit: 5, ...JSON.parse("{\\"query\\":\\"ab\\"}") })',
    'await tools.find({ limit: 500, ...JSON.parse("{\\"query\\":\\"ab\\",\\"limit\\":5}") })',
    'const key = "query"; await tools.find({ [key]: "ab", limit: 5 })',
    'const more = { query: "ab", extra: [1].find((n) => n > 1) }; await tools.find(more)',
    'const more: any = { limit: 500, toJSON: () => ({ query: "ab" }) }; await tools.find(more)',
    'const rows = [1, 2].map((id) => ({ id: String(id) })); await tools.find({ query: "ab", rows: [...rows, { id: "3" }] })',
  ])('runs where the rest decides: %s', async (source) => {
    expect(await refused(source)).toEqual([]);
  });
});

describe('literal arguments', () => {
  it('are reported as a warning if types are', async () => {
    const under = open({ typecheck: 'warn', mode: 'dry-run' });
    const outcome = await under.runScript('await tools.find({ query: "" })');
    expect(outcome.status).toBe('completed');
    expect(toldOf(outcome)).toMatchObject([{ severity: 'warning', code: 'tool-arguments', line: 1, column: 20 }]);
  });

  it('are left to the tool if the script declares them as any', async () => {
    for (const said of ['any', 'never', 'unknown as any']) {
      const outcome = await harness.runScript(`await tools.find({ query: "" } as ${said})`);
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolValidationError' } });
    }
  });

  it('are left to the tool without type checks', async () => {
    const outcome = await open({ typecheck: 'off' }).runScript('await tools.find({ query: "" })');
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolValidationError' } });
  });

  it('are judged by each harness with its own tools, also where they share a compiler and are declared alike', async () => {
    const { createCompiler } = await import('#core/script/index.js');
    const compiler = createCompiler();
    onTestFinished(() => compiler.close());
    const limited = (most: number) =>
      open({ compiler, tools: [tool({ name: 'take', input: z.object({ n: z.number().refine((n) => n < most) }) })] });
    const source = 'await tools.take({ n: 5 })';
    expect(await refused(source, limited(10))).toEqual([]);
    expect(await refused(source, limited(3))).toHaveLength(1);
  });
});

describe('a computed argument', () => {
  it.each([
    ['await tools.find(JSON.stringify({ query: "ab" }))', /^1:18 .*string/u],
    ['await tools.find(["ab"].map((query) => ({ query })))', /^1:18 .*query/u],
    ['await tools.find(String(5))', /^1:18 .*string/u],
    ['await tools.find({ query: "ab", filter: JSON.stringify({ label: "x" }) })', /^1:33 .*string/u],
    ['await tools.find({ query: ["ab"].join().length })', /^1:20 .*number/u],
    ['await tools.find({ query: "ab", rows: [String(5)] })', /^1:40 .*string/u],
    ['const label = String(5); await tools.find({ query: label, filter: [{ label }] })', /^1:59 .*label/u],
    ['const one = tools.window({ from: 1, to: 2 }); await tools.window(tools.window({ from: 1, to: 2 }))', /./u],
    ['await tools.page({ from: ["start"].join() === "x" ? "begin" : "end" })', /^1:20 .*"begin"/u],
    ['await tools.find({ query: "ab" }, { limit: 5 })', /^1:35 .*2/u],
  ])('is refused where it cannot fit: %s', async (source, message) => {
    const [found] = await refused(source);
    expect(found).toMatch(message);
  });

  it.each([
    'for (const from of ["start", "end"]) await tools.page({ from })',
    'for (const size of [10, 50]) await tools.page({ from: "start", size })',
    'const places = ["start", "end"]; await Promise.all(places.map((from) => tools.page({ from, to: from })))',
    'const args = { from: "start", note: String(5) }; await tools.page(args)',
    'let from = "start"; if (Math.random() > 2) from = "end"; await tools.page({ from })',
    'const pair = "a b".split(" "); await tools.page({ from: "start", pair })',
    'const note = "ab".match(/x/u)?.[0] ?? null; await tools.page({ from: "end", after: new Date(0) })',
    'const args = {}; args.from = "start"; await tools.page(args)',
    'const args: Record<string, string> = {}; args["from"] = "start"; await tools.page(args)',
    'async function page(options: { from: string; note?: string }) { return tools.page(options) } await page({ from: "end" })',
  ])('runs without a warning where it may: %s', async (source) => {
    const outcome = await harness.runScript(source);
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(toldOf(outcome).filter(({ message }) => !message.includes("on type '{}'"))).toEqual([]);
  });

  it('is reported as a warning if it may be undefined', async () => {
    const outcome = await harness.runScript(
      'const found = ["ab"].find((text) => text !== ""); await tools.find({ query: found })',
    );
    expect(outcome.status).toBe('completed');
    expect(toldOf(outcome)).toMatchObject([{ severity: 'warning', code: 'ts2322' }]);
  });

  it('is reported with the choices themselves, not the name of their type', async () => {
    const outcome = await harness.runScript('await tools.page({ from: String(5) === "" ? "begin" : "end" })');
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { hint: expect.stringContaining('from: "start" | "end"') },
    });
  });
});

describe('null for an optional member', () => {
  const NOTE = "args.limit of tools.find is null, which the tool's schema does not allow; the member was omitted.";

  it('counts as absent, with a note', async () => {
    const outcome = await harness.runScript('return await tools.find({ query: "ab",\n  limit: null })');
    expect(outcome.diagnostics).toEqual([
      { severity: 'info', code: 'null-as-absent', message: NOTE, line: 2, column: 3 },
    ]);
    expect(outcome).toMatchObject({ status: 'completed', operations: [{ input: { query: 'ab' } }] });
  });

  it('counts as absent if it only may be null', async () => {
    const outcome = await harness.runScript(
      'const limit = "ab".match(/x/u)?.length ?? null; return await tools.find({ query: "ab", limit })',
    );
    expect(outcome).toMatchObject({ status: 'completed', operations: [{ input: { query: 'ab' } }] });
  });

  it('is noted once if it is known only during the call', async () => {
    const source = `const limit = "ab".match(/x/u)?.length ?? null;
      for (let turn = 0; turn < 3; turn++) await tools.find({ query: "ab", limit });`;
    const outcome = await harness.runScript(source);
    expect(outcome.diagnostics).toEqual([
      { severity: 'info', code: 'null-as-absent', message: NOTE, line: 2, column: 56 },
    ]);
  });

  it('is noted once if both the check and the call find it', async () => {
    const outcome = await harness.runScript('return await tools.find({ query: "ab", limit: null })');
    expect(outcome.diagnostics.map(({ message }) => message)).toEqual([NOTE]);
  });
});
