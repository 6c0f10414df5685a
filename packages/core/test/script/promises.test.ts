import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';

/** The effects of a script after its end. */
let deeds: string[] = [];
const harness = createHarness({
  tools: [
    defineTool({
      name: 'remove',
      description: 'Removes.',
      effect: 'write',
      approval: 'never',
      input: z.object({ id: z.number() }),
      output: z.object({ removed: z.number() }),
      execute: async ({ id }, { signal }) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        signal.throwIfAborted();
        deeds.push(`removed ${id}`);
        return { removed: id };
      },
    }),
  ],
});
afterAll(() => harness.close());

/** The codes of the diagnostics, after the script's end and effects. */
async function endOf(source: string): Promise<string> {
  deeds = [];
  const outcome = await harness.runScript(source);
  const told = outcome.diagnostics.filter(({ severity }) => severity !== 'info').map(({ code }) => code);
  const value = outcome.status === 'completed' ? JSON.stringify(outcome.value) : outcome.status;
  return [value, ...deeds, ...new Set(told)].join(', ');
}

describe('work that is not awaited', () => {
  it.each([
    ['[1, 2].forEach((id) => tools.remove({ id }))', 'failed, async-foreach'],
    ['[1, 2].forEach((id) => { tools.remove({ id }); })', 'failed, floating-promise'],
    ['[{ id: 1 }].forEach(tools.remove)', 'failed, async-foreach'],
    ['const { remove } = tools; [{ id: 1 }].forEach(remove)', 'failed, async-foreach'],
    ['const drop = (id: number) => tools.remove({ id }); [1].forEach(drop)', 'failed, async-foreach'],
    [
      'const drop = async (id: number) => { await tools.remove({ id }) }; [1].forEach((id) => drop(id))',
      'failed, async-foreach',
    ],
    [
      'const drop = async (id: number) => { await tools.remove({ id }) }; [1].forEach((id) => { drop(id); })',
      'failed, floating-promise',
    ],
    ['[1].map((id) => tools.remove({ id })); return 1', 'failed, async-map'],
    ['await [1].map((id) => { return tools.remove({ id }) }); return 1', 'failed, async-map'],
    ['const all = [1].map((id) => tools.remove({ id })); return 1', 'failed, async-map'],
    ['Array.from([1], (id) => tools.remove({ id })); return 1', 'failed, async-map'],
    ['return { all: [1].map((id) => tools.remove({ id })) }', 'failed, async-map'],
    ['await Promise.all([[1]].map((ids) => ids.map((id) => tools.remove({ id })))); return 1', 'failed, async-map'],
    ['return [1].filter((id) => tools.remove({ id }))', 'failed, async-predicate'],
  ])('refuses the script where a list starts it: %s', async (source, end) => {
    expect(await endOf(source)).toBe(end);
  });

  it.each([
    ['Promise.all([1, 2].map((id) => tools.remove({ id }))); return 1', '1, removed 1, removed 2'],
    ['Promise.all([tools.remove({ id: 1 })]).then(() => console.log("done")); return 1', '1, removed 1'],
    ['const done = tools.remove({ id: 1 }); return 1', '1, removed 1'],
    ['let done; done = tools.remove({ id: 1 }); return 1', '1, removed 1'],
    [
      'async function drop(id: number) { await tools.remove({ id }) }\ndrop(1); drop(2); return 1',
      '1, removed 1, removed 2',
    ],
    [
      'const drop = (id: number) => tools.remove({ id });\nfor (const id of [1, 2]) drop(id);\nreturn 1',
      '1, removed 1, removed 2',
    ],
    [
      'const got: number[] = []; const drop = async (id: number) => { got.push((await tools.remove({ id })).removed) };\ndrop(1); drop(2); return got',
      '[1,2], removed 1, removed 2',
    ],
    ['const api = { drop: (id: number) => tools.remove({ id }) }; api.drop(1); return 1', '1, removed 1'],
    [
      'class Box { async drop(id: number) { await tools.remove({ id }) } }\nconst box = new Box(); box.drop(1); return 1',
      '1, removed 1',
    ],
    [
      'const got: number[] = []; tools.remove({ id: 1 }).then((one) => got.push(one.removed));\ntools.remove({ id: 2 }).then((one) => got.push(one.removed)); return got',
      '[1,2], removed 1, removed 2',
    ],
    ['const name = "remove" as const; tools[name]({ id: 1 }); return 1', '1, removed 1'],
    [
      'const both = async (task: (args: { id: number }) => unknown) => { await task({ id: 1 }); await task({ id: 2 }) };\nboth(tools.remove); return 1',
      '1, removed 1, removed 2',
    ],
    ['(async () => { await tools.remove({ id: 1 }) })(); return 1', '1, removed 1'],
    [
      'async function outer() { async function drop() { await tools.remove({ id: 1 }) } drop(); }\nawait outer(); return 1',
      '1, removed 1',
    ],
    ['tools.remove({ id: 1 }).catch((error) => console.error(error)); return 1', '1, removed 1'],
    [
      'const drop = async () => { await new Promise<void>((done) => setTimeout(() => done(), 1)); await tools.remove({ id: 1 }) };\ndrop(); return 1',
      '1, removed 1',
    ],
    ['const prefix = "a"; tools.remove({ id: 1 }).then((one) => console.log(prefix, one)); return 1', '1, removed 1'],
  ])('is awaited where that keeps the order: %s', async (source, end) => {
    expect(await endOf(source)).toBe(`${end}, repair-floating-call`);
  });

  it.each([
    [
      'what follows is used',
      'const out: string[] = [];\ntools.remove({ id: 1 }).then(() => out.push(suffix));\nconst suffix = "x"; return out',
    ],
    [
      'what follows changes the same list',
      'const out: string[] = [];\ntools.remove({ id: 1 }).then(() => out.push("a"));\nout.push("b"); return out',
    ],
    [
      'a variable is assigned in the same loop',
      'let last = 0; for (const id of [1]) { last = id; tools.remove({ id }).then(() => console.log(last)); } return 1',
    ],
    [
      'a function of the script uses what follows',
      'const drop = async () => { await tools.remove({ id: step }) };\ndrop();\nconst step = 1; return 1',
    ],
    [
      'a promise of the script’s own is resolved later',
      'let go = () => {}; const gate = new Promise<void>((resolve) => { go = resolve });\nasync function drop() { await gate; await tools.remove({ id: 1 }) }\ndrop(); go(); return 1',
    ],
    [
      'a promise of the script’s own has a timer, and is resolved later by other code',
      'let go = () => {}; const gate = new Promise<void>((resolve) => { go = resolve; setTimeout(() => {}, 1) });\nasync function drop() { await gate; await tools.remove({ id: 1 }) }\ndrop(); go(); return 1',
    ],
    [
      'a loop waits for what follows',
      'let isOver = false; const drop = async () => { while (!isOver) await sleep(1); await tools.remove({ id: 1 }) };\ndrop(); isOver = true; return 1',
    ],
    [
      'a method of the script uses what follows',
      'const api = { async drop() { await tools.remove({ id: step }) } };\napi.drop();\nconst step = 1; return 1',
    ],
    [
      'a loop never ends',
      'const drop = async () => { while (true) { await tools.remove({ id: 1 }); await sleep(60_000) } };\ndrop(); await sleep(1); return 1',
    ],
    ['the function around it is not async', 'function drop() { tools.remove({ id: 1 }) }\ndrop(); return 1'],
  ])('is reported and left unchanged where %s', async (_, source) => {
    const end = await endOf(source);
    expect(end).toContain('floating-promise');
    expect(end).not.toContain('repair-floating-call');
  });

  it.each([
    'const all = new Set(); for (const id of [1, 2]) all.add(tools.remove({ id })); return 1',
    'const tasks = [1].map((id) => () => tools.remove({ id })); for (const task of tasks) task(); return 1',
    '[1, 2].reduce((before, id) => before.then(() => tools.remove({ id })), Promise.resolve<unknown>(0)); return 1',
  ])('is reported when it was aborted, if nothing showed it before: %s', async (source) => {
    expect(await endOf(source)).toBe('1, aborted-call');
  });

  it('is reported once for each place, with the number of calls', async () => {
    const outcome = await harness.runScript(
      'const all = new Set();\nfor (const id of [1, 2]) all.add(tools.remove({ id }));',
    );
    expect(outcome.diagnostics).toMatchObject([{ code: 'aborted-call', severity: 'warning', line: 2 }]);
    expect(outcome.diagnostics[0]?.message).toContain('tools.remove (2 calls) was aborted');
  });

  it.each([
    'void tools.remove({ id: 1 }); return 1',
    'const { remove } = tools; void remove({ id: 1 }); return 1',
    'void tools\n  .remove({ id: 1 }); return 1',
    'void tools["remove"]({ id: 1 }); return 1',
  ])('is not reported if `void` marks it as deliberate: %s', async (source) => {
    expect(await endOf(source)).toBe('1');
  });

  it.each([
    'const all = [1].map((id) => tools.remove({ id })); await Promise.all(all); return 1',
    'const first = tools.remove({ id: 1 }); await first; return 1',
    'const drop = (id: number) => tools.remove({ id }); await drop(1); return 1',
    'await Promise.all([[1]].map((ids) => ids.map((id) => tools.remove({ id }))).flat()); return 1',
    'await new Promise<void>((resolve, reject) => { tools.remove({ id: 1 }).then(() => resolve()).catch(reject) }); return 1',
    'const api = { drop: (id: number) => tools.remove({ id }), keep: (id: number) => id }; api.keep(2); await api.drop(1); return 1',
    'const chain = [1].reduce((before, id) => before.then(() => tools.remove({ id })), Promise.resolve<unknown>(0)); await chain; return 1',
    'const drop = (ids: number[]) => Promise.all(ids.map((id) => tools.remove({ id }))); await drop([1]); return 1',
    'const list = { forEach: async (each: (id: number) => Promise<unknown>) => { await each(1) } }; await list.forEach((id) => tools.remove({ id })); return 1',
  ])('is not found where something waits: %s', async (source) => {
    expect(await endOf(source)).toBe('1, removed 1');
  });
});
