import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';

/**
 * Decisions by the cost of an error: a wrong rejection costs a turn, a missed mistake costs an effect. The table of
 * docs/reference/diagnostics.md has a row for each decision.
 */
const state = z.enum(['open', 'closed', 'merged']);
const tools = [
  defineTool({
    name: 'read',
    description: 'Reads.',
    approval: 'never',
    input: z.object({ id: z.string() }),
    output: z.object({
      id: z.number(),
      state,
      title: z.string(),
      user: z.object({ name: z.string() }),
      tags: z.array(z.string()),
    }),
    execute: () => ({ id: 1, state: 'open' as const, title: 'a', user: { name: 'n' }, tags: ['x'] }),
  }),
  defineTool({
    name: 'list',
    description: 'Lists.',
    approval: 'never',
    input: z.object({}),
    output: z.object({
      rows: z.array(z.object({ id: z.number(), title: z.string(), owner: z.object({ name: z.string() }) })),
    }),
    execute: () => ({ rows: [{ id: 1, title: 'a', owner: { name: 'n' } }] }),
  }),
  defineTool({
    name: 'notes.write',
    description: 'Writes.',
    approval: 'never',
    input: z.object({ text: z.string() }),
    execute: () => null,
  }),
  defineTool({
    name: 'lines.append',
    description: 'Has the name of a method of another language.',
    approval: 'never',
    input: z.object({ text: z.string() }),
    execute: () => null,
  }),
];
const harness = createHarness({ tools, approvals: 'auto' });
const unchecked = createHarness({ tools, approvals: 'auto', typecheck: 'off', mode: 'dry-run' });
afterAll(async () => {
  await harness.close();
  await unchecked.close();
});

/** The decision as text: `refused CODE`, `told CODE` (a warning), or `runs`. */
async function decisionOn(source: string, under = harness): Promise<string> {
  const outcome = await under.runScript(source, { mode: 'dry-run' });
  const [first] = outcome.diagnostics.filter(({ code }) => !code.startsWith('repair-'));
  if (outcome.status === 'failed') return `refused ${first?.code}`;
  return first === undefined ? 'runs' : `told ${first.code}`;
}

const WRITE = 'await tools.notes.write({ text: id })';
const ROWS = 'const { rows } = await tools.list();';
const READ = 'const item = await tools.read({ id: "1" });';

describe('async functions passed to list methods', () => {
  it.each([
    [`["1"].map(async (id) => { ${WRITE} })`, 'refused async-map'],
    [`await ["1"].map(async (id) => { ${WRITE} })`, 'refused async-map'],
    [`return ["1"].map(async (id) => { ${WRITE} })`, 'refused async-map'],
    [`const save = async (id: string) => { ${WRITE} }; ["1"].map(save)`, 'refused async-map'],
    [`["1"].forEach(async (id) => { ${WRITE} })`, 'refused async-foreach'],
    ['let n = 0; ["1"].forEach(async () => { n++ }); return n', 'told async-foreach'],
    ['return ["1"].filter(async (id) => (await tools.read({ id })).state === "open")', 'refused async-predicate'],
    ['return ["1"].some(async (id) => (await tools.read({ id })).title)', 'refused async-predicate'],
    [
      'const isOpen = async (id: string) => (await tools.read({ id })).state === "open"; return ["1"].find(isOpen)',
      'refused async-predicate',
    ],
    [`await Promise.all(["1"].map(async (id) => { ${WRITE} }))`, 'runs'],
    [`const all = ["1"].map(async (id) => { ${WRITE} }); await Promise.all(all)`, 'runs'],
    [`for (const one of ["1"].map(async (id) => { ${WRITE} })) await one`, 'runs'],
    [
      `const list = { filter: async (test: (id: string) => Promise<boolean>) => test("1") }; return list.filter(async (id) => id === "1")`,
      'runs',
    ],
    [
      'return ["1"].reduce(async (before, id) => { await before; await tools.read({ id }) }, Promise.resolve())',
      'runs',
    ],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('promises and tools that are used as values', () => {
  it.each([
    ['return `${tools.read({ id: "1" })}`', 'refused promise-in-text'],
    ['const item = tools.read({ id: "1" }); return `${item}`', 'refused promise-in-text'],
    ['const item = tools.read({ id: "1" }); return JSON.stringify(item)', 'refused promise-in-text'],
    ['if (tools.read({ id: "1" })) return 1', 'refused ts2801'],
    [
      'const isOpen = async (id: string) => (await tools.read({ id })).state === "open"; if (!isOpen("1")) return 1',
      'refused promise-in-condition',
    ],
    [
      'const isOpen = async (id: string) => (await tools.read({ id })).state === "open"; return isOpen("1") ? 1 : 2',
      'refused promise-in-condition',
    ],
    [
      'const isOn: boolean = true; const item = isOn ? tools.read({ id: "1" }) : null; return item && (await item).title',
      'runs',
    ],
    ['const isOn: boolean = true; return (isOn ? tools.read({ id: "1" }) : null) ?? 1', 'told promise-in-condition'],
    ['switch (tools.read({ id: "1" })) { case null: return 1; default: return 2 }', 'refused promise-in-condition'],
    ['const item = tools.read({ id: "1" }); if (item) return 1; return 2', 'refused promise-in-condition'],
    ['const item = tools.read({ id: "1" }); return !item', 'refused promise-in-condition'],
    ['const item = tools.read({ id: "1" }); return item ? 1 : 2', 'refused promise-in-condition'],
    ['const item = tools.read({ id: "1" }); if (item === null) return 1; return 2', 'refused promise-in-condition'],
    ['const item = tools.read({ id: "1" }); if (item) return (await item).title', 'runs'],
    ['const item = tools.read({ id: "1" }); if (item) await Promise.all([item]); return 1', 'runs'],
    ['const item = tools.read({ id: "1" }) as any; return item || 1', 'runs'],
    ['return { item: tools.read({ id: "1" }) }', 'refused promise-in-result'],
    ['const item = tools.read({ id: "1" }); return [item]', 'refused promise-in-result'],
    ['await tools.read;', 'refused uncalled-tool'],
    ['tools.notes.write;', 'refused uncalled-tool'],
    ['return tools.notes.write', 'refused uncalled-tool'],
    ['const all = [1].map(() => { return tools.notes.write }); return all.length', 'runs'],
    ['const write = tools.notes.write; await write({ text: 5 })', 'refused tool-arguments'],
    ['const { write } = tools.notes; await write({ text: 5 })', 'refused tool-arguments'],
    ['const notes = tools.notes; await notes.write({ text: 5 })', 'refused tool-arguments'],
    ['const write = tools.notes.write; await write({ text: "a" })', 'runs'],
    ['void tools.notes.write({ text: "a" })', 'runs'],
    ['const item = tools.read({ id: "1" }); return `${(await item).title}`', 'runs'],
    ['return tools.read({ id: "1" })', 'runs'],
    ['const read = async () => ({ item: tools.read({ id: "1" }) }); return (await read()).item', 'runs'],
    ['const call = tools.read; return call({ id: "1" })', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('objects in places for strings', () => {
  it.each([
    [`${READ} await tools.notes.write({ text: \`item: \${item}\` })`, 'refused object-in-text'],
    [`${READ} return 'by ' + item.user`, 'refused object-in-text'],
    ['return `${(await tools.read({ id: "1" })).user}`', 'refused object-in-text'],
    [`${READ} console.log(\`item: \${item}\`)`, 'told object-in-text'],
    [`${READ} return \`\${item.title} \${item.tags} \${item.user.name}\``, 'runs'],
    [`${ROWS} return 'all: ' + rows`, 'refused object-in-text'],
    [`${ROWS} return rows.join(', ')`, 'refused object-in-text'],
    [`${ROWS} return String(rows.filter((row) => row.id > 1))`, 'refused object-in-text'],
    [`${ROWS} for (const row of rows) text(\`- \${row}\`)`, 'refused object-in-text'],
    [`${ROWS} return rows.map((row) => row.id).concat(rows.map((row) => \`\${row.owner}\`))`, 'refused object-in-text'],
    [`${ROWS} return rows.map((row) => row.title).join() + \`\${rows.length} \${rows.some((row) => row.id)}\``, 'runs'],
    [`${ROWS} for (const { owner: { name }, title } of rows) text(\`\${title} \${name}\`); return 1`, 'runs'],
    [`${ROWS} return rows.map((row: any) => { row = { ...row, toString: () => 'a' }; return \`\${row}\` })`, 'runs'],
    [`${READ} return JSON.parse(item)`, 'runs'],
    [`return JSON.parse(tools.read({ id: "1" }))`, 'refused ts2345'],
    ['return JSON.stringify({ item: [tools.read({ id: "1" })] })', 'refused promise-in-text'],
    ['return JSON.stringify({ item: [await tools.read({ id: "1" })] })', 'runs'],
    ['let rest: any = 1; rest = 2; return tools.list(JSON.stringify({ rest }))', 'refused ts2345'],
    ['return catalog.search({ limit: 1 }, "read")', 'refused ts2345'],
    ['return catalog.search("read", { limit: 1 })', 'runs'],
    [
      'const all = await Promise.allSettled([tools.read({ id: "1" })]); return all.map((one) => one.value.titel)',
      'refused ts2551',
    ],
    [
      'const all = await Promise.allSettled([tools.read({ id: "1" })]); return all.map((one) => one.value.title)',
      'told ts18048',
    ],
    [`${ROWS} function ids() { rows.map((row) => row.id); } return ids()`, 'refused lost-value'],
    [`${ROWS} function ids() { rows.map((row) => { text(row.title); return row.id; }); } ids()`, 'runs'],
    [`${READ} return JSON.parse(item.title)`, 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('callbacks of lists that return nothing', () => {
  it.each([
    ['const all = [1].map((n) => { n + 1 }); return all', 'refused callback-value'],
    ['return [1].filter((n) => { n > 1 })', 'refused callback-value'],
    ['const isLarge = (n: number) => { Math.abs(n) }; return [1].some(isLarge)', 'refused callback-value'],
    ['return [1].reduce((sum, n) => { sum + n }, 0)', 'refused callback-value'],
    ['const rows = [2, 1]; rows.sort((a, b) => { a - b }); return rows', 'refused callback-value'],
    ['const all: any = [1]; return all.reduce(0, (sum: number, n: number) => sum + n)', 'refused callback-missing'],
    ['let sum = 0; [1].map((n) => { sum += n }); return sum', 'runs'],
    ['let sum = 0; [1].map((n) => { sum += n })', 'runs'],
    ['let sum = 0; [1].some((n) => { sum += n }); return sum', 'runs'],
    ['return [1].map((n) => { if (n > 1) return n })', 'runs'],
    ['return [1].map((n) => { throw new Error(`${n}`) })', 'runs'],
    [
      'const own = { filter: (test: (n: number) => void) => test(1) }; return own.filter((n) => { Math.abs(n) }) ?? 1',
      'runs',
    ],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('a promise of several calls used as their values', () => {
  const ALL = 'Promise.all(["1", "2"].map((id) => tools.read({ id })))';
  it.each([
    [`const items: any = ${ALL}; return items[0].title`, 'refused promise-as-value'],
    [`const items: any = ${ALL}; return items.map((item: any) => item.title)`, 'refused promise-as-value'],
    [`const items: any = ${ALL}; for (const item of items) text(item.title); return 1`, 'refused promise-as-value'],
    [`const items = ${ALL}; return items.then((all) => all.length)`, 'runs'],
    [`const items = ${ALL}; return (await items).length`, 'runs'],
    [`let items: any = ${ALL}; items = await items; return items[0].title`, 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('a list of promises', () => {
  const KEPT = 'const all: any[] = []; for (const id of ["1"]) all.push(tools.read({ id }));';
  it.each([
    [`${KEPT} await all; return 1`, 'refused floating-promise'],
    [`${KEPT} return all`, 'refused promise-in-result'],
    [`${KEPT} return 1`, 'refused floating-promise'],
    [`${KEPT} return all.length`, 'refused floating-promise'],
    [`${KEPT} return await Promise.all(all)`, 'runs'],
    [`${KEPT} for (const one of all) await one; return 1`, 'runs'],
    [`${KEPT} const wait = async (list: any[]) => { for (const one of list) await one }; await wait(all)`, 'runs'],
    [`${KEPT} return (await all[0]).title`, 'runs'],
    ['const all: any[] = []; const add = () => all; add().push(tools.read({ id: "1" })); await all[0]', 'runs'],
    ['const kept = { push: async (one: any) => await one }; await kept.push(tools.read({ id: "1" }))', 'runs'],
    ['const all = new (class { push(one: any) { return one } })(); await all.push(tools.read({ id: "1" }))', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('arithmetic with texts and objects of results', () => {
  it.each([
    [`${READ} let sum = 0; sum += item.title; return sum`, 'refused ts2322'],
    [`${ROWS} let sum = 0; for (const row of rows) sum += row.title; return sum`, 'refused ts2322'],
    [`${ROWS} let sum: number = 0; for (const { title } of rows) { sum += title; } return sum`, 'refused ts2322'],
    [`${ROWS} return rows.reduce((sum, row) => sum + row.title, 0)`, 'refused ts2769'],
    [`${ROWS} return rows.reduce((sum, { title }) => { return sum + title; }, 0)`, 'refused ts2769'],
    [`${READ} return item - 1`, 'refused object-in-arithmetic'],
    [`${READ} return item.user * 2`, 'refused object-in-arithmetic'],
    [`${ROWS} return rows / 2`, 'refused object-in-arithmetic'],
    [`${ROWS} return -rows`, 'refused object-in-arithmetic'],
    [`${ROWS} return rows.map((row) => row * 2)`, 'refused object-in-arithmetic'],
    [`${READ} let sum = 0; sum += Number(item.title); return sum`, 'runs'],
    [`${READ} let sum = 0; sum += parseFloat(item.title) || 0; return sum`, 'runs'],
    [`${READ} let line = ''; line += item.title; return line`, 'runs'],
    [`${READ} let sum: any = 0; sum += item.title; return sum`, 'runs'],
    [`${READ} let key: any = 0; key = 'a'; key += item.title; return key`, 'runs'],
    [`${READ} let key = 0; key = 'a' as any; key += item.title; return key`, 'told ts2322'],
    [`${READ} let line = 0; line += ': '; return line`, 'told ts2322'],
    [`${ROWS} return rows.reduce((line, row) => line + row.title, '')`, 'runs'],
    [`${ROWS} return rows.reduce((sum, row) => sum + row.id, 0)`, 'runs'],
    [`${ROWS} return rows.reduce((sum, row) => sum + row.title.length, 0)`, 'runs'],
    [`${READ} return item.title * 2`, 'told ts2362'],
    [`${READ} return item.id - 1`, 'runs'],
    [`${ROWS} return rows.map((row) => row.id * 2)`, 'runs'],
    [`${ROWS} return rows.length / 2`, 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('values that a function loses', () => {
  it.each([
    ['function sum(a: number, b: number) { a + b; } return [sum(1, 2)]', 'refused lost-value'],
    ['const pair = (a: number) => { { a, a }; }; return [pair(1)]', 'refused lost-value'],
    ['function note() { "nothing to do"; } note(); return 1', 'runs'],
    ['let n = 0; function add() { n > 0 && n++; } add(); return n', 'runs'],
    ['function sum(a: number) { if (a > 1) return a; a + 1; } return sum(2)', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('an object used as a list', () => {
  it.each([
    [`${READ} return item[0].title`, 'refused ts7053'],
    ['const byId: Record<string, number> = {}; return byId["a"] ?? 0', 'runs'],
    ['const row = { a: 1 }; const key: string = "a"; return row[key]', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('methods of other languages', () => {
  it.each([
    ['const rows: any = []; rows.extend([1]); return rows', 'refused foreign-method'],
    ['const { lines } = tools; return lines.append({ text: "a" })', 'runs'],
    ['const add = (to: typeof tools) => to.lines.append({ text: "a" }); return add(tools)', 'runs'],
    ['const row = JSON.parse("{}"); return row.title.strip()', 'refused foreign-method'],
    ['const query = new URLSearchParams("a=1"); query.append("b", "2"); return `${query}`', 'runs'],
    ['const bag = { items: () => [1] }; return bag.items()', 'runs'],
    ['class Bag { append(n: number) { return n } } return new Bag().append(1)', 'runs'],
    ['const row: any = {}; return row.append?.(1) ?? 0', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('integers that a number would round', () => {
  it.each([
    ['return 2512292042121000001', 'refused inexact-integer'],
    ['return 9_007_199_254_740_993', 'refused inexact-integer'],
    ['return 123456789012345680000', 'runs'],
    ['return 9007199254740992 + 1e21 + 1_000 + 0.1234567890123456789', 'runs'],
    ['return String(2512292042121000001n) + "2512292042121000001"', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('comparisons that can never hold', () => {
  it.each([
    [`${READ} if (item.state === "opened") await tools.notes.write({ text: "a" })`, 'refused ts2367'],
    [`${READ} switch (item.state) { case "opened": return 1 }`, 'refused ts2678'],
    [`${READ} return item.id === item.title`, 'refused ts2367'],
    [`${READ} switch (item.state) { case "opened": return 1; case "shut": return 2 }`, 'refused ts2678'],
    [`${READ} switch (item.state) { case "open": return 1; case "shut": return 2 }`, 'told ts2678'],
    [`${READ} switch (item.state) { case "opened": return 1; default: return 2 }`, 'told ts2678'],
    ["return '' == 0", 'told ts2367'],
    ['let step: "a" | "b" | "c" = "a"; const next = () => { step = "b" }; next(); return step === "b"', 'told ts2367'],
    [`${READ} return item.state === "open"`, 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('functions that are only declared', () => {
  it.each([
    ['declare function helper(n: number): number; return helper(1)', 'refused missing-implementation'],
    [
      'declare const fetch: (url: string) => Promise<any>; return fetch("https://a.example")',
      'refused missing-implementation',
    ],
    ['declare const tools: any; return (await tools.read({ id: "1" })).title', 'runs'],
    ['declare function read(args: { id: string }): Promise<any>; return (await read({ id: "1" })).title', 'runs'],
    ['declare const helper: any; return typeof helper === "undefined"', 'runs'],
    [
      'function twice(n: number): number; function twice(n: string): string; function twice(n: any) { return n + n } return twice(1)',
      'runs',
    ],
    ['declare global { interface Window { a: string } } return 1', 'runs'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });
});

describe('additions by repairs', () => {
  it.each([
    'export default async function run({ tools, context }) { return tools.read({ id: context.scriptId }) }',
    'export default async (ctx: { tools: typeof tools }) => ctx.tools.read({ id: "1" })',
    'async function main({ tools }: { tools: typeof globalThis.tools }) { return tools.read({ id: "1" }) }',
    'async function main(wait = 1) { await sleep(wait); return tools.read({ id: "1" }) }\nmain().then((item) => console.log(item))',
  ])('is not complained about: %s', async (source) => {
    expect(await decisionOn(source)).toBe('runs');
  });
});

it('without type checks, faults that need no types are reported', async () => {
  expect(await decisionOn(`["1"].map(async (id) => { ${WRITE} })`, unchecked)).toBe('told async-map');
});

describe('a tool that does not exist', () => {
  it.each([
    ['return await tools.reed({ id: "1" })', 'refused ts2339'],
    ['try { return await tools.reed({ id: "1" }) } catch (error) { return String(error) }', 'told ts2339'],
    ['try { return await tools.nothing() } finally { console.log(1) }', 'refused ts2339'],
  ])('%s: %s', async (source, decision) => {
    expect(await decisionOn(source)).toBe(decision);
  });

  it('fails in the `try` of a script that catches it', async () => {
    const outcome = await harness.runScript(
      'try { await tools.reed({ id: "1" }) } catch (error: any) { return error.name } return "none"',
    );
    expect(outcome).toMatchObject({ status: 'completed', value: 'ToolNotFoundError' });
  });
});
