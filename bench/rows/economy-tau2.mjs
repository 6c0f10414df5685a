import { sum } from '../economy/count-tokens.mjs';
import { NAMES } from '../economy/table.mjs';
import { openShop, runRetailTask } from '../economy/tau2/run-retail-task.mjs';
import { retailTasks, whyAbsent } from '../economy/tau2/tasks.mjs';
import { absentRow, alternate } from '../measure.mjs';

/*
 * The token cost of the gold actions of tau2-bench (retail) in the three ways of `economy`. The tasks, their actions and
 * the database are those of the data set, which lies beside the checkout; the tools are this repository's own. Each run
 * must leave the database that the actions leave one by one.
 *
 * Rules of a fair comparison:
 *
 * 1. All ways make the same actions, in one turn of the user. Its text is the reason for the call and what the user knows.
 * 2. Parallel calls go into one request as soon as the user's text or earlier results contain their arguments.
 * 3. A script passes on only an id that a call returned as its whole result. For a value inside of a result the model
 *    reads this result first, and writes the next script then.
 * 4. A script returns all other results completely.
 */

/** A short run does one task in this number. */
const QUICK_STEP = 30;
const MEASURES = { cost: 'cost', inputTokens: 'input tokens', turns: 'requests' };

export const name = 'economy-tau2';
export const ownResult = true;

export async function measure({ effort }) {
  if (whyAbsent !== undefined)
    return [absentRow({ name, title: 'tasks of tau2-bench', unit: 'tokens', better: 'lower' }, whyAbsent)];
  const all = retailTasks().filter(({ actions }) => actions.length > 0);
  const tasks = effort.economyRuns > 1 ? all : all.filter((_, index) => index % QUICK_STEP === 0);
  const totals = {};
  for (const way of Object.keys(NAMES)) {
    const figures = await figuresOf(tasks, way);
    totals[way] = Object.fromEntries(
      Object.keys(figures[0]).map((member) => [member, sum(figures.map((one) => one[member]))]),
    );
  }
  const counts = {
    tasks: tasks.length,
    actions: sum(tasks.map(({ actions }) => actions.length)),
    refused: sum(tasks.map(({ actions }) => actions.filter(({ fails }) => fails).length)),
    sameDatabases: tasks.length * Object.keys(NAMES).length,
  };
  const rows = [];
  for (const member of Object.keys(MEASURES)) rows.push(await totalRow({ totals, counts }, member));
  Object.assign(rows[0], {
    result: { counts, totals },
    notes: [`${counts.actions} actions; ${counts.sameDatabases} runs left the database of the actions one by one`],
  });
  return rows;
}

async function figuresOf(tasks, way) {
  const shop = openShop();
  try {
    const figures = [];
    for (const task of tasks) figures.push(await runRetailTask(task, way, shop));
    return figures;
  } finally {
    await shop.harness.close();
  }
}

function totalRow({ totals, counts }, member) {
  const row = {
    name: `economy-tau2-${member.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`,
    title: `${MEASURES[member]} of ${counts.tasks} tasks of tau2-bench, retail`,
    unit: member === 'turns' ? 'requests' : 'tokens',
    better: 'lower',
    selfRatio: true,
  };
  const entry = (way, role) => ({ name: NAMES[way], role, block: () => [totals[way][member]] });
  return alternate(row, [entry('one', 'peer'), entry('parallel', 'peer'), entry('scripts', 'ours')], 1);
}
