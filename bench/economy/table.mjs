import { median } from '../statistics.mjs';
import { WAYS } from './run-task.mjs';

/** The names of the ways in tables. */
export const NAMES = { one: 'one call a turn', parallel: 'parallel calls', scripts: 'scripts' };

/** The figures of each way of each task. `within`: a smaller difference depends more on the machine than on the way. */
export const MEASURES = {
  turns: { title: 'turns', unit: 'turns' },
  inputTokens: { title: 'input tokens', unit: 'tokens' },
  newInputTokens: { title: 'of them new', unit: 'tokens' },
  outputTokens: { title: 'output tokens', unit: 'tokens' },
  cost: { title: 'cost', unit: 'tokens' },
  wallSeconds: { title: 'seconds', unit: 's', within: 0.5 },
};

/**
 * A task that was measured.
 *
 * @typedef {object} Measured
 * @property {string} name
 * @property {string} title
 * @property {string} why
 * @property {boolean} isCoding On a folder with the coding tools.
 * @property {Record<'one' | 'parallel' | 'scripts', Record<keyof typeof MEASURES | 'inputTextTokens', number>>} ways
 */

/** @param {readonly Measured[]} tasks */
export function totalOf(tasks, way, measure) {
  return tasks.reduce((total, { ways }) => total + ways[way][measure], 0);
}

/** The tasks in which scripts need more than the better of the structured ways. */
export function lostTasks(tasks, measure) {
  const { within = 0 } = MEASURES[measure];
  return tasks.filter((task) => task.ways.scripts[measure] - betterOf(task, measure) > within);
}

/** The better figure of the structured ways. */
function betterOf({ ways: { one, parallel } }, measure) {
  return Math.min(one[measure], parallel[measure]);
}

/**
 * A header, a line for each task, and one for all tasks. Each cell has the figures of the three ways, in their order.
 */
export function taskTable(tasks) {
  const cells = (of) => Object.keys(MEASURES).map((measure) => WAYS.map((way) => shown(of(way, measure))).join(' / '));
  return [
    ['task', ...Object.values(MEASURES).map(({ title }) => title)],
    ...tasks.map(({ title, ways }) => [title, ...cells((way, measure) => ways[way][measure])]),
    ['all', ...cells((way, measure) => totalOf(tasks, way, measure))],
  ];
}

/**
 * A header, and a line for each measure: the cost of scripts compared with each other way over all tasks, compared with
 * the better of both in the middle task, and the tasks in which scripts cost more.
 */
export function ratioTable(tasks) {
  const percent = (ratio) => `${Math.round(100 * ratio)} %`;
  const total = (way, measure) => totalOf(tasks, way, measure);
  return [
    ['scripts take', `of ${NAMES.one}`, `of ${NAMES.parallel}`, 'of the better, median task', 'more than the better'],
    ...Object.entries(MEASURES).map(([measure, { title }]) => [
      title,
      ...['one', 'parallel'].map((way) => percent(total('scripts', measure) / total(way, measure))),
      percent(median(tasks.map((task) => task.ways.scripts[measure] / betterOf(task, measure)))),
      `in ${lostTasks(tasks, measure).length} of ${tasks.length}`,
    ]),
  ];
}

/**
 * A header, and a line for each selection of the tasks: the input and the cost of scripts compared with each other way.
 */
export function selectionTable(tasks) {
  const percent = (selected, way, measure) =>
    `${Math.round((100 * totalOf(selected, 'scripts', measure)) / totalOf(selected, way, measure))} %`;
  const largest = tasks.toSorted((one, other) => gainOf(other) - gainOf(one))[0];
  const coding = tasks.filter(({ isCoding }) => isCoding);
  const selections = [
    [`all ${tasks.length}`, tasks],
    [`the ${coding.length} on a folder with the coding tools`, coding],
    [`all but the one with the largest gain (${largest.title})`, tasks.filter((task) => task !== largest)],
  ];
  return [
    [
      'scripts take, of',
      'input of one call a turn',
      'of parallel calls',
      'cost of one call a turn',
      'of parallel calls',
    ],
    ...selections.map(([title, selected]) => [
      title,
      ...['inputTokens', 'cost'].flatMap((measure) =>
        ['one', 'parallel'].map((way) => percent(selected, way, measure)),
      ),
    ]),
  ];
}

function gainOf({ ways: { parallel, scripts } }) {
  return parallel.inputTokens - scripts.inputTokens;
}

/** The tasks in which scripts cost more than 115 % of the better structured way, the most expensive first. */
function dearTasks(tasks) {
  const ratio = (task) => task.ways.scripts.cost / betterOf(task, 'cost');
  return tasks
    .filter((task) => ratio(task) > 1.15)
    .toSorted((one, other) => ratio(other) - ratio(one))
    .map((task) => ({ task, percent: Math.round(100 * ratio(task)) }));
}

/** The part of the page that is generated from the results. */
export function economyPage({ date, machine, rows }) {
  const [{ tasks, remarks }] = rows;
  const lost = lostTasks(tasks, 'inputTokens');
  const dear = dearTasks(tasks);
  const won = tasks.filter((task) => !lost.includes(task));
  const list = (chosen) => chosen.map((task) => `- **${task.title}.** ${task.why}${priceOf(task)}`).join('\n');
  return `Each cell: ${WAYS.map((way) => NAMES[way]).join(' / ')}.

${markdown(taskTable(tasks))}

${markdown(ratioTable(tasks))}

${markdown(selectionTable(tasks))}

Measured on ${date.slice(0, 10)} with ${machine.system.split(' ')[0]}, ${machine.cores} cores, Node ${machine.node}. Tokens and turns are the same on every machine.

${remarks.map((remark) => `- ${remark}`).join('\n')}

## Where scripts cost more

In ${dear.length} of ${tasks.length} tasks scripts cost more than 115 % of the better of the structured ways.

${dear.map(({ task, percent }) => `- **${task.title}**: ${percent} %, ${shown(task.ways.scripts.cost - betterOf(task, 'cost'))} weighted tokens more.`).join('\n')}

## Where scripts lose

In ${lost.length} of ${tasks.length} tasks scripts read more input tokens than the better of the structured ways. What they take more of stands behind each task.

${list(lost)}

## Where they win

${list(won)}
`;
}

/** The figures in which scripts need more than the other ways. */
function priceOf(task) {
  const more = ['inputTokens', 'newInputTokens', 'outputTokens'].filter(
    (measure) => lostTasks([task], measure).length > 0,
  );
  return more.length === 0 ? '' : ` *(More ${more.map((measure) => PRICES[measure]).join(', ')}.)*`;
}

const PRICES = { inputTokens: 'input', newInputTokens: 'new input', outputTokens: 'output' };

/** A table, with its header first. */
export function markdown([head, ...lines]) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...lines.map(row)].join('\n');
}

/** The figure as text: whole numbers with separated thousands; seconds to a tenth. */
export function shown(value) {
  const text = Number.isInteger(value) ? String(value) : value.toFixed(1);
  return text.replaceAll(/\B(?=(?:\d{3})+(?!\d|\.\d*$))/gu, ' ');
}
