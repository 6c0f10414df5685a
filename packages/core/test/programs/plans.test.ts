import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms()));

/** The tools, lines and flags of a plan. */
async function planOf(talk: Conversation, source: string): Promise<unknown[]> {
  const { plan, error } = await talk.harness.runScript(source, { heap: talk.heap, mode: 'dry-run' });
  expect(error).toBeUndefined();
  return plan.map(({ tool, line, conditional, repeated, input }) => [tool, line, conditional && repeated, input]);
}

async function begun(...scripts: readonly string[]): Promise<Conversation> {
  const talk = new Conversation(harness);
  for (const script of scripts) expect((await talk.run(script)).error).toBeUndefined();
  return talk;
}

describe('the plan of a script', () => {
  it('has the calls of the functions of earlier scripts that it uses, at its own lines, without arguments', async () => {
    const talk = await begun(
      `async function payAll(names: string[]) { for (const to of names) await tools.pay({ to, euros: 1 }); }`,
      `const twice = async () => { await payAll(['a']); return await tools.math.double({ n: 1 }) };`,
      `class Payer { async pay() { await twice() } }\nconst list = [new Payer()];`,
    );
    const pay = ['pay', 2, true, undefined];
    const double = ['math.double', 2, true, undefined];
    expect(await planOf(talk, `const a = 1;\nawait payAll(['b']);`)).toEqual([pay]);
    expect(await planOf(talk, `const a = 1;\nconst f = twice; await f();`)).toEqual([double, pay]);
    expect(await planOf(talk, `const a = 1;\nfor (const one of list) await one.pay();`)).toEqual([double, pay]);
    expect(await planOf(talk, `await tools.pay({ to: 'b', euros: 2 });\nawait payAll([]);`)).toEqual([
      ['pay', 1, false, { to: 'b', euros: 2 }],
      pay,
    ]);
  });

  it('has none for data, for a name that is declared again, and for functions that it does not use', async () => {
    const talk = await begun(
      `interface Row { n: number }
      const rows: Row[] = await Promise.all([1].map(async (n) => ({ n: await tools.math.double({ n }) })));
      async function load() { return await tools.math.double({ n: 1 }) }
      const loaded = { n: await load(), at: 'x', pairs: new Map<string, number[]>() };
      const plain = () => rows.length;`,
    );
    expect(await planOf(talk, `return [rows.length, loaded.n, plain()]`)).toEqual([]);
    expect(await planOf(talk, `const load = () => 1; return load()`)).toEqual([]);
    expect(await planOf(talk, `return await load()`)).toEqual([['math.double', 1, true, undefined]]);
  });

  it('follows functions that a statement puts into a variable', async () => {
    const talk = await begun(
      `const jobs: (() => Promise<unknown>)[] = [];\nlet job = async (): Promise<unknown> => 1;`,
      `jobs.push(() => tools.math.double({ n: 1 }));\njob = async () => await tools.pay({ to: 'a', euros: 1 });`,
    );
    expect(await planOf(talk, `return await jobs[0]!()`)).toEqual([['math.double', 1, true, undefined]]);
    expect(await planOf(talk, `return await job()`)).toEqual([['pay', 1, true, undefined]]);
  });

  it('covers no call of an earlier function by a decision about the plan', async () => {
    const asked: boolean[] = [];
    const approvals = ({ planned }: { planned?: boolean | undefined }) => {
      asked.push(planned === true);
      return { decision: 'approve', remember: 'plan' } as const;
    };
    const talk = await begun(`const payOne = async () => await tools.pay({ to: 'a', euros: 1 });`);
    const end = await talk.run(`await payOne(); await payOne(); return 1`, { approvals });
    expect([end.value, asked]).toEqual([1, [false, false]]);
  });
});
