import { runTask, WAYS } from '../economy/run-task.mjs';
import { lostTasks, MEASURES, NAMES, ratioTable, selectionTable, taskTable, totalOf } from '../economy/table.mjs';
import { TASKS } from '../economy/tasks/index.mjs';
import { CODING_ROLE } from '../economy/worlds.mjs';
import { alternate } from '../measure.mjs';
import { median } from '../statistics.mjs';

/*
 * What the same tasks cost a model that calls tools one a turn, several at once where the data flow allows it, or by
 * scripts. The model is scripted; agent loop, adapter (openai-responses), harness and tools are the real ones.
 *
 * What makes it fair:
 *
 * 1. Each way is done to the end, and checked: the last script returned the right value; who calls tools one by one
 *    has read every fact that the answer rests on; the folder, or the service, is afterwards as it should be.
 * 2. All ways have the same tools, the same role, the same question and the same last sentence. Structured calls have
 *    the tools as functions and read no word about scripts; scripts have no functions, and read the rules and the
 *    tools as declarations, results included.
 * 3. No way says more than it must: no text before calls, no call whose result is not needed, no check that another
 *    way leaves out. Nobody makes a mistake. Structured ways know their tools well: one search with its matches
 *    instead of many files, one patch for many files without lines around its changes.
 * 4. Scripts are written as a model writes them, comments apart, and return what the model must see and no more. What
 *    must be judged is returned and read, and the next script is another turn.
 * 5. Results of the coding tools are shown to structured calls as text (`readable-results.mjs`), not as JSON that
 *    holds a file twice. What that saves them is in a remark.
 * 6. Where the data flow allows no two calls at once, or one call is all, `parallel calls` is the same as one a turn.
 * 7. Without a shell, but where the task names one: a shell's command line is a script.
 *
 * What is counted: the request bodies as they were sent, as JSON, by o200k: system text, tools and conversation, in
 * every turn anew. "New" leaves out what the request before had too (its tools, its text, its items), which is what a
 * prompt cache saves at most. Of the answers: text, names and arguments of calls, scripts as the JSON argument that
 * they are. Seconds are computed and not slept: one for each answer, and what the run took with a model that answers
 * at once (median of some).
 */

const MODEL_SECONDS = 1;
/** For a remark: a shorter text that teaches scripts. */
const SHORT_TEXT_TOKENS = 1_500;
/** Scripts have to stay so much better than the others, over all tasks. */
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

/** What would be otherwise, if some of it were done otherwise. */
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

/** A model that has both, and calls for each task in the way that costs less. */
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
