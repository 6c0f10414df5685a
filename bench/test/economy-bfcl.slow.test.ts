import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BFCL_TASKS } from '../economy/bfcl/tasks.mjs';
import { groupsOf, PLANS } from '../economy/bfcl/plans.mjs';
import { measuredRun, runBfclTask, withCatalog } from '../economy/bfcl/run-bfcl-task.mjs';
import { bfclSection, CATALOGS } from '../economy/bfcl/table.mjs';
import { openWorld } from '../economy/bfcl/world.mjs';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

const PAGE = new URL('../../docs/explanation/economy.md', import.meta.url);
const RESULT = new URL('../results/economy-bfcl.json', import.meta.url);
const GENERATED = /(?<=<!-- generated economy-bfcl -->\n)[\s\S]*(?=<!-- end of economy-bfcl -->)/u;

const CALLS = BFCL_TASKS.flatMap((task) => task.turns.flat());
/** Enough tasks to reach every service. The row itself does all tasks, and fails if a call differs. */
const TRIED = BFCL_TASKS.filter((_, index) => index % 24 === 6);
const taskOf = (number: number) => BFCL_TASKS[number]!;

describe('the calls of the data set', () => {
  it('are those of 200 tasks, and each task has its own id', () => {
    expect(new Set(BFCL_TASKS.map(({ id }) => id)).size).toBe(200);
    expect(CALLS).toHaveLength(1_161);
  });

  it('fit the schemas of the tools that their task is offered', () => {
    for (const task of BFCL_TASKS) {
      const tools = new Map(openWorld(task).tools.map((tool) => [tool.name, tool]));
      for (const { tool, args } of task.turns.flat()) {
        expect(tools.get(tool)?.validateInput(args), `${task.id} ${tool}`).toMatchObject({ ok: true });
        expect(Object.keys(tools.get(tool)!.inputSchema['properties'] as object)).toEqual(
          expect.arrayContaining(Object.keys(args)),
        );
      }
    }
  });
});

describe('scripts', () => {
  it.each(TRIED.map((task) => [task.id, task] as const))(
    'make exactly the calls of %s, in their order, and every call succeeds',
    async (_id, task) => {
      const { requests } = await runScripts(task);
      expect(requests.length).toBeGreaterThanOrEqual(task.turns.length);
    },
  );

  it('of a run with a different call to the services are detected', async () => {
    const [first, ...others] = taskOf(92).turns;
    const [call] = first!;
    const wrong = [{ ...call!, flows: { cityA: "'94016'" } }];
    await expect(runScripts({ ...taskOf(92), turns: [wrong, ...others] })).rejects.toThrow('94016');
  });

  it('compute the inputs of later calls, and contain conditions', () => {
    const [[say]] = PLANS.scripts(taskOf(70).turns[1]!) as [[{ code: string }]];
    expect(say.code).toContain('.some((psi) => psi < 32)');
    expect(say.code).toContain('destination: shop.shopLocation');
    expect(say.code).not.toContain('Oakwood');
  });

  it('start over where the model must have read the results so far', () => {
    expect(PLANS.scripts(taskOf(47).turns[1]!)).toHaveLength(2);
  });
});

describe('parallel calls', () => {
  it('are never in one request with a call whose result they need', () => {
    for (const turn of BFCL_TASKS.flatMap((task) => task.turns)) {
      const groups = groupsOf(turn);
      const placeOf = (index: number) => groups.findIndex((group) => group.includes(turn[index]!));
      expect(groups.flat()).toHaveLength(turn.length);
      for (const [index, { flows = {}, when = '' }] of turn.entries()) {
        for (const [, needed] of [...Object.values(flows), when].join(' ').matchAll(/\$(\d)/gu))
          expect(placeOf(Number(needed))).toBeLessThan(placeOf(index));
      }
    }
  });

  it('take as few requests as their dependencies allow', () => {
    expect(groupsOf(taskOf(69).turns[0]!).map((group) => group.map(({ tool }) => tool))).toEqual([
      ['get_zipcode_based_on_city', 'get_zipcode_based_on_city', 'liter_to_gallon'],
      ['estimate_distance', 'fillFuelTank'],
    ]);
  });
});

it('a run with another catalogue counts as if it had been run with it', async () => {
  const task = taskOf(50);
  const catalog = { docs: { results: false }, instructionTokens: 1_500 };
  const really = measuredRun(await runScripts(task, catalog));
  const reckoned = measuredRun(await withCatalog(task, await runScripts(task), catalog));
  expect(reckoned).toEqual(really);
});

it('every catalogue shows each tool with its arguments', async () => {
  const offers = new Map(BFCL_TASKS.map((task) => [task.classes.join(), task]));
  expect(offers.size).toBe(20);
  for (const task of offers.values()) {
    for (const catalog of Object.values(CATALOGS)) {
      const { requests } = await withCatalog(task, { requests: [{}], answers: [] }, catalog);
      for (const { name } of openWorld(task).tools)
        expect(requests[0].instructions).toMatch(new RegExp(`${name}\\(arg`));
    }
  }
});

describe('the page', () => {
  const committed = JSON.parse(readFileSync(RESULT, 'utf8'));
  const [{ result }] = committed.rows;

  it('shows the committed result', () => {
    const page = readFileSync(PAGE, 'utf8');
    expect(page).toMatch(GENERATED);
    const shown = page.replace(GENERATED, () => `\n${bfclSection(committed)}\n`);
    if (process.env.UPDATE_DOCUMENTS === undefined) expect(page).toBe(shown);
    else writeFileSync(PAGE, shown);
  });

  it('covers all tasks, and each total is the sum over the subjects', () => {
    expect(result.counts).toMatchObject({ tasks: BFCL_TASKS.length, calls: CALLS.length });
    for (const [name, total] of Object.entries<any>(result.totals)) {
      const costs = Object.values<any>(result.bySubject).map((subject) => subject[name].cost);
      expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe(total.cost);
    }
  });
});

function runScripts(task: (typeof BFCL_TASKS)[number], catalog = {}) {
  return runBfclTask(task, 'scripts', catalog, sharedThreads());
}
