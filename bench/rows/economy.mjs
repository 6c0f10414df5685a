import { runTask, WAYS } from '../economy/run-task.mjs';
import { lostTasks, MEASURES, NAMES, ratioTable, selectionTable, taskTable, totalOf } from '../economy/table.mjs';
import { TASKS } from '../economy/tasks/index.mjs';
import { CODING_ROLE } from '../economy/worlds.mjs';
import { alternate } from '../measure.mjs';
import { median } from '../statistics.mjs';

/*
 * The token cost of the same tasks for a model that calls one tool a turn, several at once if the data flow allows it,
 * or tools by scripts. The model is scripted; agent loop, adapter (openai-responses), harness and tools are real.
 *
 * Rules of a fair comparison:
 *
 * 1. Each way completes the task, and is checked: the last script returned the right value; the structured ways have
 *    read every fact that the answer depends on; the folder, or the service, has the expected final state.
 * 2. All ways have the same tools, the same role, the same question and the same last sentence. Structured calls have
 *    the tools as functions and read no word about scripts; scripts have no functions, and read the rules and the
 *    tools as declarations, results included.
 * 3. No way writes more than necessary: no text before calls, no call whose result is not needed, no check that another
 *    way omits. No way contains a mistake. Structured ways use their tools well: one search with its matches instead of
 *    many files, one patch for many files without context lines.
 * 4. Scripts are written as a model writes them, without comments, and return only the data that the model must see.
 *    Data that it must judge is returned and read, and the next script is another turn.
 * 5. Results of the coding tools are shown to structured calls as text (`readable-results.mjs`), not as JSON that
 *    contains a file twice. A remark states how much this saves.
 * 6. If the data flow allows no parallel calls, or one call suffices, `parallel calls` equals one a turn.
 * 7. No shell, unless the task names one: a shell's command line is a script.
 *
 * The count covers the request bodies as they were sent, as JSON, by o200k: system text, tools and conversation,
 * counted again in every turn. "New" excludes the part that the previous request contained too (its tools, its text,
 * its items), which is the maximum saving of a prompt cache. For answers it covers text, names and arguments of calls,
 * and scripts as JSON arguments. Seconds are computed and not slept: one for each answer, plus the duration of the run
 * with a model that answers at once (the median of some runs).
 */

const MODEL_SECONDS = 1;
/** For a note in the report: a shorter text that teaches scripts. */
const SHORT_TEXT_TOKENS = 1_500;
/** Scripts must stay better than the others by this factor, over all tasks. */
const AT_LEAST = {
  turns: { one: 2.5, parallel: 1.3 },
  inputTokens: { one: 2, parallel: 1.1 },
  cost: { one: 1 / 0.55, parallel: 1 / 0.65 },
};

export const name = 'economy';
export const ownResult = true;

export async function measure({ effort }) {
  const tasks = [];
  for (const task of TASKS) tasks.push(await measureTask(task, effort.economyRuns));
  const rows = [];
  for (const measure of Object.keys(MEASURES)) rows.push(await totalRow(tasks, measure));
  const remarks = effort.economyRuns > 1 ? await remarksOn(tasks) : [];
  const lost = lostTasks(tasks, 'inputTokens').map(({ title, why }) => `scripts lose: ${title}: ${why}`);
  Object.assign(rows[0], { tasks, remarks });
  Object.assign(rows.at(-1), {
    notes: [`each cell: ${WAYS.map((way) => NAMES[way]).join(' / ')}`, ...remarks, ...lost],
    tables: [taskTable(tasks), ratioTable(tasks), selectionTable(tasks)],
  });
  return rows;
}

async function measureTask(task, runs) {
  const ways = {};
  for (const way of WAYS) {
    const times = [];
    let figures;
    for (let run = 0; run < runs; run++) {
      const done = await runTask(task, way);
      times.push(done.tookMs);
      figures = done.figures;
    }
    const tookSeconds = median(times) / 1_000;
    ways[way] = { ...figures, wallSeconds: figures.turns * MODEL_SECONDS + tookSeconds };
  }
  return { name: task.name, title: task.title, why: task.why, isCoding: task.role === CODING_ROLE, ways };
}

function totalRow(tasks, measure) {
  const { title, unit } = MEASURES[measure];
  const budgets = Object.entries(AT_LEAST[measure] ?? {}).map(([way, times]) => [NAMES[way], times]);
  const row = {
    name: `economy-${measure.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`,
    title: `${measure === 'newInputTokens' ? 'new input tokens' : title} of ${tasks.length} tasks`,
    unit,
    better: 'lower',
    selfRatio: true,
    ...(budgets.length === 0 ? {} : { atLeast: Object.fromEntries(budgets) }),
  };
  const entries = WAYS.map((way) => ({
    name: NAMES[way],
    role: way === 'scripts' ? 'ours' : 'peer',
    block: () => [totalOf(tasks, way, measure)],
  }));
  return alternate(row, entries, 1);
}

/** The effect of different assumptions. */
async function remarksOn(tasks) {
  return [
    wholeResults(tasks, await inputTokensWith('parallel', { wholeResults: true })),
    textsAlone(tasks),
    shortText(tasks, await inputTokensWith('scripts', { instructionTokens: SHORT_TEXT_TOKENS })),
    await bothOffered(tasks),
  ];
}

async function inputTokensWith(way, options) {
  let total = 0;
  for (const task of TASKS) total += (await runTask(task, way, options)).figures.inputTokens;
  return total;
}

/** A model with both ways, which uses the cheaper one for each task. */
async function bothOffered(tasks) {
  let cost = 0;
  for (const task of TASKS) {
    const [byCalls, byScripts] = [
      await runTask(task, 'parallel', { bothOffered: true }),
      await runTask(task, 'scripts', { bothOffered: true }),
    ];
    cost += Math.min(byCalls.figures.cost, byScripts.figures.cost);
  }
  const [ofScripts, ofParallel] = ['scripts', 'parallel'].map((way) => percentOf(cost, totalOf(tasks, way, 'cost')));
  return `With functions beside scripts (\`functions: 'all'\`), a model that chooses the cheaper way for each task would cost ${ofScripts} % of scripts alone and ${ofParallel} % of parallel calls: it reads every tool twice.`;
}

function wholeResults(tasks, inputTokens) {
  const more = percentOf(inputTokens, totalOf(tasks, 'parallel', 'inputTokens')) - 100;
  return `With results as JSON of everything, as the harness gives them, parallel calls would take ${more} % more input tokens.`;
}

function textsAlone(tasks) {
  const [one, parallel] = ['one', 'parallel'].map((way) =>
    percentOf(totalOf(tasks, 'scripts', 'inputTextTokens'), totalOf(tasks, way, 'inputTextTokens')),
  );
  return `Counted by the texts alone, without the JSON around them, scripts take ${one} % of the input tokens of ${NAMES.one} and ${parallel} % of those of ${NAMES.parallel}.`;
}

function shortText(tasks, inputTokens) {
  const fewer = 100 - percentOf(inputTokens, totalOf(tasks, 'scripts', 'inputTokens'));
  return `With \`instructionTokens: ${SHORT_TEXT_TOKENS}\` scripts would take ${fewer} % fewer input tokens; whether a model writes them as well then is not measured.`;
}

function percentOf(part, whole) {
  return Math.round((100 * part) / whole);
}
