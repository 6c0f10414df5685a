import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { collect, openHarness, valueOf } from './open-harness.js';

const item = z.object({ id: z.number(), name: z.string(), rank: z.number().optional() });

/** `list` returns the same object at every call; `shapeless` has no output schema. */
function open() {
  const kept = {
    items: [
      { id: 2, name: 'two' },
      { id: 1, name: 'one' },
    ],
  };
  const read = { description: 'Lists items', effect: 'read', approval: 'never', execute: () => kept } as const;
  const harness = openHarness({
    tools: [
      defineTool({ name: 'list', output: z.object({ items: z.array(item) }), ...read }),
      defineTool({ name: 'shapeless', ...read }),
    ],
    expose: { spawn: true },
  });
  return { kept, harness, value: async (source: string) => valueOf(await harness.runScript(source)) };
}

const ORIGINAL = {
  items: [
    { id: 2, name: 'two' },
    { id: 1, name: 'one' },
  ],
};

const CHANGES = 'got.items.sort((a, b) => a.id - b.id); got.items.push({ id: 3, name: "new" }); got.items[0].rank = 9;';
const CHANGED = {
  items: [
    { id: 1, name: 'one', rank: 9 },
    { id: 2, name: 'two' },
    { id: 3, name: 'new' },
  ],
};

describe('a result in a script is ordinary data', () => {
  it.each<[string, unknown]>([
    ['return got.items.sort((a, b) => a.id - b.id)[0].id', 1],
    ['return got.items.reverse().map(({ id }) => id)', [1, 2]],
    ['return got.items.push({ id: 3, name: "three" })', 3],
    ['return got.items.splice(0, 1)[0].id', 2],
    ['return got.items.pop()?.id', 1],
    ['got.items.forEach((item, index) => { item.rank = index; }); return got.items.map(({ rank }) => rank)', [0, 1]],
    ['for (const item of got.items) item.name = item.name.toUpperCase(); return got.items[0].name', 'TWO'],
    ['got.items[0].name += "!"; return got.items[0].name', 'two!'],
    ['Object.assign(got.items[1], { rank: 7 }); return got.items[1].rank', 7],
    ['got.items.length = 1; return got.items.length', 1],
    ['got.items = got.items.filter(({ id }) => id > 1); return got.items.length', 1],
    ['delete got.items[0].rank; return Object.keys(got.items[0])', ['id', 'name']],
    ['const [first] = got.items; first.id *= 10; return got.items[0].id', 20],
    ['got.items.fill(got.items[0]); return got.items[1].id', 2],
  ])('%s', async (use, expected) => {
    expect(await open().value(`const got = await tools.list({});\n${use}`)).toEqual(expected);
  });

  it('if it comes from the catalog, from a detached task, or in the data of an error', async () => {
    const source = `
      const found = await catalog.list(); found.push('more');
      const done = await tools.spawn.exec('list', {}).done; done.items.pop();
      const wrong = await tools.list(JSON.parse('{ "unknown": 1 }')).catch((error) => error);
      wrong.data.seen = true;
      return [found.at(-1), done.items.length, wrong.data.seen];`;
    expect(await open().value(source)).toEqual(['more', 1, true]);
  });

  it('has the ordinary prototypes', async () => {
    const source = `const got = await tools.list({});
      return [Object.getPrototypeOf(got) === Object.prototype, Array.isArray(got.items), got.items instanceof Array];`;
    expect(await open().value(source)).toEqual([true, true, true]);
  });
});

describe('a change of a result by a script', () => {
  it('is visible neither to a second call with the same result nor to the tool', async () => {
    const { kept, value } = open();
    const source = `const got = await tools.list({}); ${CHANGES} return [got, await tools.list({})];`;
    expect(await value(source)).toEqual([CHANGED, ORIGINAL]);
    expect(kept).toEqual(ORIGINAL);
  });

  it('is visible to no call that was answered in the same batch', async () => {
    const source = `const [got, other] = await Promise.all([tools.list({}), tools.list({})]); ${CHANGES} return other;`;
    expect(await open().value(source)).toEqual(ORIGINAL);
  });

  it('is not in the operations', async () => {
    const { harness } = open();
    const { operations } = await harness.runScript(`const got = await tools.list({}); ${CHANGES}`);
    expect(operations.map(({ result }) => result)).toEqual([ORIGINAL]);
  });

  it('is not in the events', async () => {
    const { harness } = open();
    const block = `<tool-calls>\nconst got = await tools.list({}); ${CHANGES}\nreturn got.items.length\n</tool-calls>`;
    const events: StreamEvent[] = await collect(harness.processText(block));
    const done = events.find(({ payload }) => payload.type === 'tool_call_done');
    expect(done?.payload).toMatchObject({ operation: { result: ORIGINAL } });
  });

  it('is not in the catalog’s shapes of earlier results', async () => {
    const source = `const got = await tools.shapeless({}); got.secret = true; got.items = 'gone';
      return await catalog.describe('shapeless');`;
    const told = await open().value(source);
    expect(told).toContain('items');
    expect(told).not.toContain('secret');
  });

  it('is in the arguments of a later call', async () => {
    const { harness } = open();
    const source = `const got = await tools.list({}); ${CHANGES} await tools.shapeless(got as any).catch(() => {});`;
    const { operations } = await harness.runScript(source);
    expect(operations[1]!.input).toEqual(CHANGED);
  });
});
