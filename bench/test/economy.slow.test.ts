import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runTask as runWithThreads, WAYS } from '../economy/run-task.mjs';
import { economyPage, lostTasks, taskTable, totalOf } from '../economy/table.mjs';
import { calls, script } from '../economy/turns.mjs';
import { TASKS } from '../economy/tasks/index.mjs';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

const PAGE = new URL('../../docs/explanation/economy.md', import.meta.url);
const RESULT = new URL('../results/economy.json', import.meta.url);
const GENERATED = /(?<=<!-- generated economy -->\n)[\s\S]*(?=<!-- end of economy -->)/u;

const taskOf = (name: string) => TASKS.find((task) => task.name === name)!;

/** One task of each kind. The row itself runs all tasks, and compares each with its expected result. */
const TRIED = ['single-lookup', 'triage-prose', 'fix-test', 'count-todos', 'fan-out', 'pagination'];

describe('tasks', () => {
  it.each(TRIED.map((name) => [name, taskOf(name)] as const))(
    '%s is done in each way, and no way takes more turns than one call per turn',
    async (_name, task) => {
      const [one, parallel, scripts] = await figuresOf(task);
      for (const figures of [one, parallel, scripts]) {
        expect(figures.outputTokens).toBeGreaterThan(10);
        expect(figures.newInputTokens).toBeLessThan(figures.inputTokens);
        expect(figures.inputTextTokens).toBeLessThan(figures.inputTokens);
      }
      expect(parallel.turns).toBeLessThanOrEqual(one.turns);
      expect(scripts.turns).toBeLessThanOrEqual(parallel.turns);
      // One call or several in a turn: the model's texts are the same.
      expect(parallel.outputTokens).toBe(one.outputTokens);
    },
  );

  it('counts are the same in every run', async () => {
    const task = taskOf('fan-out');
    expect(await figuresOf(task)).toEqual(await figuresOf(task));
  });
});

describe('an unfinished task is detected', () => {
  const broken = (name: string, changes: object) => ({ ...taskOf(name), ...changes });
  const waysOf = (name: string, ways: object) => broken(name, { ways: { ...taskOf(name).ways, ...ways } });

  it('a script with a different result', async () => {
    const task = waysOf('pagination', {
      scripts: [script("return { bug: (await tools.listIssues({ state: 'open' })).issues.length };")],
    });
    await expect(runTask(task, 'scripts')).rejects.toThrow('the script found something else');
  });

  it('a script that fails', async () => {
    const task = waysOf('single-lookup', { scripts: [script("return await tools.getWeather({ town: 'Oslo' });")] });
    await expect(runTask(task, 'scripts')).rejects.toThrow('ScriptTypeError');
  });

  it('an answer without reading its sources', async () => {
    const task = waysOf('fan-out', { parallel: [calls(['listMembers', { team: 'atlas' }])] });
    await expect(runTask(task, 'parallel')).rejects.toThrow('which was not read');
  });

  it('a world in the wrong state', async () => {
    const task = taskOf('rename-symbol');
    const search = task.ways.one[0]!;
    await expect(runTask(waysOf('rename-symbol', { one: [search] }), 'one')).rejects.toThrow('the world is not');
    await expect(runTask(broken('single-lookup', { state: { changed: true } }), 'one')).rejects.toThrow(
      'the world is not',
    );
  });
});

describe('the page', () => {
  const result = JSON.parse(readFileSync(RESULT, 'utf8'));
  const [{ tasks }] = result.rows;

  it('shows the committed result', () => {
    const page = readFileSync(PAGE, 'utf8');
    expect(page).toMatch(GENERATED);
    const shown = page.replace(GENERATED, () => `\n${economyPage(result)}\n`);
    if (process.env.UPDATE_DOCUMENTS === undefined) expect(page).toBe(shown);
    else writeFileSync(PAGE, shown);
  });

  it('lists every task, and the cases in which scripts lose', () => {
    expect(tasks.map(({ name }: { name: string }) => name)).toEqual(TASKS.map(({ name }) => name));
    expect(tasks.length).toBeGreaterThanOrEqual(12);
    const lost = lostTasks(tasks, 'inputTokens').map(({ name }) => name);
    expect(lost).toContain('single-lookup');
    expect(lost).toContain('follow-prose');
    expect(lost.length).toBeLessThan(tasks.length);
  });

  it('its last line is the sum of the others', () => {
    const [, ...lines] = taskTable(tasks);
    expect(lines).toHaveLength(tasks.length + 1);
    for (const way of WAYS) {
      const turns = tasks.map((task: any) => task.ways[way].turns).reduce((sum: number, one: number) => sum + one, 0);
      expect(totalOf(tasks, way, 'turns')).toBe(turns);
      expect(lines.at(-1)![1]).toContain(String(turns));
    }
  });
});

async function figuresOf(task: (typeof TASKS)[number]) {
  const figures = [];
  for (const way of WAYS) figures.push((await runTask(task, way as Way)).figures);
  return figures as [Figures, Figures, Figures];
}

type Way = Parameters<typeof runWithThreads>[1];
type Figures = Awaited<ReturnType<typeof runTask>>['figures'];

function runTask(task: (typeof TASKS)[number], way: Way) {
  return runWithThreads(task, way, { threads: sharedThreads() });
}
