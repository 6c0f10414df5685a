import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';

const tool = (name: string, input: z.ZodRawShape) =>
  defineTool({ name, description: 'Does it.', approval: 'never', input: z.object(input), execute: () => null });

const tools = [
  tool('add', { a: z.number(), b: z.number() }),
  tool('kv.set', { key: z.string(), value: z.unknown() }),
  tool('find', { query: z.string(), limit: z.number().optional() }),
  tool('late', { note: z.string().optional(), id: z.string() }),
  tool('sum', { numbers: z.array(z.number()) }),
  tool('github.search_code', { query: z.string() }),
  tool('github.list', {}),
  tool('gitlab.list', {}),
  defineTool({
    name: 'open',
    description: 'Takes any object.',
    approval: 'never',
    inputSchema: { type: 'object', additionalProperties: true },
    execute: () => null,
  }),
];
const harness = createHarness({ tools });
const unchecked = createHarness({ tools, typecheck: 'off' });
afterAll(async () => {
  await harness.close();
  await unchecked.close();
});

async function inputsOf(source: string): Promise<unknown> {
  const { status, operations } = await harness.runScript(source);
  return status === 'completed' ? operations.map(({ tool: name, input }) => [name, input]) : status;
}

describe('arguments by position', () => {
  it.each<[string, string, unknown]>([
    ['await tools.add(1, 2)', 'add', { a: 1, b: 2 }],
    ['const one = 1; await tools.add(one, one + 1)', 'add', { a: 1, b: 2 }],
    ['await tools.add(1, 2 as number)', 'add', { a: 1, b: 2 }],
    ['const { add } = tools; await add(1, 2)', 'add', { a: 1, b: 2 }],
    ['await tools.kv.set("a", { b: 1 })', 'kv.set', { key: 'a', value: { b: 1 } }],
    ['await tools.find("cats")', 'find', { query: 'cats' }],
    ['await tools.find(`cats`, 3)', 'find', { query: 'cats', limit: 3 }],
    ['await tools.sum([1, 2])', 'sum', { numbers: [1, 2] }],
    ['await add(1, 2)', 'add', { a: 1, b: 2 }],
  ])('get the names of the declaration in its order: %s', async (source, name, input) => {
    expect(await inputsOf(source)).toEqual([[name, input]]);
    const outcome = await harness.runScript(source);
    expect(outcome.diagnostics.map(({ code }) => code)).toContain('repair-positions');
  });

  it.each([
    ['another order', 'await tools.kv.set(1, "a")'],
    ['another type in a variable', 'const days = "5".repeat(2); await tools.add(1, days)'],
    ['too few', 'await tools.add(1)'],
    ['too many', 'await tools.find("cats", 3, 4)'],
    ['a required name after those given', 'await tools.late("a")'],
    ['an object first', 'await tools.find({ query: "a" }, { limit: 1 })'],
    ['an unknown order', 'await tools.open("a", 2)'],
  ])('are refused before the run with %s', async (_what, source) => {
    const outcome = await harness.runScript(source);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError' }, operations: [] });
  });

  it('stay as they are where types are not checked', async () => {
    const outcome = await unchecked.runScript('await tools.add(1, 2)');
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolValidationError' } });
  });

  it('are not read in the call of a task or of the script’s own function', async () => {
    expect(await inputsOf('const api = { add: (a: number, b: number) => a + b }; api.add(1, 2); return 1')).toEqual([]);
    expect(await inputsOf('const tools = { add: (a: number, b: number) => a + b }; return tools.add(1, 2)')).toEqual(
      [],
    );
  });
});

describe('a tool that only one namespace has', () => {
  it.each([
    ['await tools.search_code({ query: "a" })', [['github.search_code', { query: 'a' }]]],
    ['await tools.search_code("a")', [['github.search_code', { query: 'a' }]]],
    ['await tools.list({})', 'failed'],
    ['await tools.gitlab.search_code({ query: "a" })', 'failed'],
    ['await tools.github({ query: "a" })', 'failed'],
    ['await search_code({ query: "a" })', 'failed'],
    ['const tools = { search_code: () => 1 }; return tools.search_code()', []],
  ])('is found without its namespace, after `tools.` alone: %s', async (source, inputs) => {
    expect(await inputsOf(source)).toEqual(inputs);
  });
});
