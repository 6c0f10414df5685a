import { NAMES, markdown, shown } from '../table.mjs';

/** The catalogues that scripts are shown, from the most text to the least. See `Catalog` for their members. */
export const CATALOGS = {
  all: { title: 'all docs, those of results too' },
  arguments: { title: 'all docs but those of results', docs: { results: false } },
  default: { title: 'what 3 000 tokens hold, the default', instructionTokens: 3_000 },
  signatures: { title: 'what 2 000 tokens hold', instructionTokens: 2_000 },
  once: { title: 'all docs, but what a service is only once', docs: { everyOpening: false } },
  onceArguments: {
    title: 'the same without docs of results',
    docs: { everyOpening: false, results: false },
  },
};

/** Characters of the function documents of the data set, for the comparison with the documents of these tools. */
const DATA_SET_DOCUMENTS = 94_004;

/** The services that each appear in a quarter of the tasks. */
export const SUBJECTS = {
  files: 'a file system',
  vehicle: 'a car',
  trading: 'a trading account',
  travel: 'travel',
};

/**
 * Totals over tasks.
 *
 * @typedef {import('../count-tokens.mjs').Figures & { catalogTokens: number, catalogCost: number }} Total
 *
 * @typedef {object} BfclResult
 * @property {Record<'tasks' | 'turns' | 'calls' | 'tools' | 'oneCall' | 'waiting' | 'resultTokens' | 'documents' | 'askTokens' | 'answerTokens', number>} counts
 * `oneCall`: turns of the user with one call or none. `waiting`: those in which a call needs the result of another one.
 * `resultTokens`: of the results of all calls, as structured calls get them. `documents`: characters of the descriptions of these tools, in the form of the data set.
 * @property {Record<'one' | 'parallel' | keyof typeof CATALOGS, Total>} totals
 * @property {Record<keyof typeof SUBJECTS, Record<'one' | 'parallel' | keyof typeof CATALOGS, Total>>} bySubject
 */

/** A header, and a line for each catalogue: the cost of scripts with it, compared with the structured ways. */
export function catalogTable({ totals, counts }) {
  const { one, parallel } = totals;
  const beside = (total) => [
    percent(total.cost, one.cost),
    percent(total.cost, parallel.cost),
    percent(total.inputTokens, one.inputTokens),
    percent(total.inputTokens, parallel.inputTokens),
  ];
  const catalog = (total) => shown(Math.round(total.catalogTokens / counts.tasks));
  return [
    [
      'what is shown of the tools',
      'tokens in each request',
      'cost of one call a turn',
      'of parallel calls',
      'input of one call a turn',
      'of parallel calls',
    ],
    ...Object.entries(CATALOGS).map(([name, { title }]) => [
      `scripts: ${title}`,
      catalog(totals[name]),
      ...beside(totals[name]),
    ]),
    ['structured calls, as JSON Schema', catalog(parallel), ...beside(parallel)],
  ];
}

/** A header, and a line for each way: the parts of its cost, for one task. */
export function costTable({ totals, counts }) {
  const each = (value) => shown(Math.round(value / counts.tasks));
  const line = (title, total) => {
    const { cost, catalogCost, outputTokens, turns } = total;
    const rest = cost - catalogCost - 5 * outputTokens;
    return [title, (turns / counts.tasks).toFixed(1), ...[catalogCost, rest, 5 * outputTokens, cost].map(each)];
  };
  return [
    ['a task', 'requests', 'system text and tools', 'conversation', 'output', 'cost'],
    line(NAMES.one, totals.one),
    line(NAMES.parallel, totals.parallel),
    ...['all', 'arguments', 'default', 'signatures'].map((name) =>
      line(`scripts: ${CATALOGS[name].title}`, totals[name]),
    ),
  ];
}

/** A header, and a line for each subject: the cost of scripts compared with parallel calls. */
export function subjectTable({ bySubject }) {
  const names = ['all', 'arguments', 'default', 'signatures'];
  return [
    ['scripts cost, of parallel calls', ...names.map((name) => CATALOGS[name].title)],
    ...Object.entries(SUBJECTS).map(([subject, title]) => [
      title,
      ...names.map((name) => percent(bySubject[subject][name].cost, bySubject[subject].parallel.cost)),
    ]),
  ];
}

/** The part of the page that is generated from the results. */
export function bfclSection({ date, rows: [{ result }] }) {
  return `${countsText(result)}

${markdown(catalogTable(result))}

${goalText(result)}

What one task costs, in weighted tokens:

${markdown(costTable(result))}

${reasonsText(result)}

${markdown(subjectTable(result))}

Measured on ${date.slice(0, 10)}. The figures are the same on every machine.
`;
}

function countsText({ counts }) {
  const { tasks, turns, calls, tools, documents, askTokens, answerTokens } = counts;
  return `The ${tasks} tasks have ${turns} turns of the user with ${shown(calls)} calls, and each task offers ${Math.round(tools / tasks)} tools. Our descriptions are ${percent(documents, DATA_SET_DOCUMENTS)} as long as those of the data set. The question has ${askTokens} tokens, the mean of 35 questions that were counted; the last words have ${answerTokens}.`;
}

function goalText({ totals }) {
  const { parallel, all } = totals;
  return `Scripts should cost at most 90 % of parallel calls. With the whole catalogue and all its docs they cost ${percent(all.cost, parallel.cost)}, so they do not pay here: the goal is missed. Without docs of results it is ${outcome(totals, 'arguments')}, with the default ${outcome(totals, 'default')}, with 2 000 tokens ${outcome(totals, 'signatures')}. The default and 2 000 tokens hold every tool too, each at least with the names and types of its arguments and of its result; docs are what they leave out.`;
}

function reasonsText({ counts, totals }) {
  const { one, parallel, all, once, onceArguments } = totals;
  const requests = ({ turns }) => (turns / counts.tasks).toFixed(1);
  const more = (name) => shown(Math.round((totals[name].catalogTokens - parallel.catalogTokens) / counts.tasks));
  return `- **There is little for a script to join.** ${counts.oneCall} of the ${counts.turns} turns have one call or none, and only in ${counts.waiting} does a call need what another one brings. Parallel calls take ${requests(parallel)} requests a task and scripts ${requests(all)}, which is ${percent(all.turns, parallel.turns)} of them, and ${percent(all.turns, one.turns)} of those of one call a turn.
- **Results are small:** ${Math.round(counts.resultTokens / counts.calls)} tokens on average. Nothing is filtered, counted or joined, and a script returns what the calls would have brought.
- **The catalogue is most of the cost:** ${percent(parallel.catalogCost, parallel.cost)} of it with parallel calls, ${percent(all.catalogCost, all.cost)} with scripts that read all docs. With all docs, a request of scripts has ${more('all')} tokens more of system text and tools, because declarations say what results look like and because of the rules for scripts; without docs of results it has ${more('arguments')} more.
- **The same calls are longer as a script:** ${percent(all.outputTokens, parallel.outputTokens)} of the output tokens.
- **Descriptions of the data set begin with what the service is**, in some thirty words that are the same for each tool of it. All ways read them with every tool, because a function's schema has no other place for them. Declarations are one text: written there once, these words would leave scripts at ${percent(once.cost, parallel.cost)} of parallel calls, and at ${percent(onceArguments.cost, parallel.cost)} without docs of results.`;
}

function outcome(totals, name) {
  const ratio = totals[name].cost / totals.parallel.cost;
  return `${ratio <= 0.9 ? 'met' : 'missed'} (${Math.round(100 * ratio)} %)`;
}

function percent(part, whole) {
  return `${Math.round((100 * part) / whole)} %`;
}
