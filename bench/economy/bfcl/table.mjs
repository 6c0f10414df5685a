import { NAMES, markdown, shown } from '../table.mjs';

/** How much of the tools scripts are shown, from most to least. `docs` and `instructionTokens`: of the catalogue. */
export const CATALOGS = {
  all: { title: 'all docs, those of results too' },
  arguments: { title: 'all docs but those of results', docs: { results: false } },
  default: { title: 'what 3 000 tokens hold, the default', instructionTokens: 3_000 },
  signatures: { title: 'what 2 000 tokens hold', instructionTokens: 2_000 },
  once: { title: 'all docs, and what a service is once instead of with each tool', docs: { everyOpening: false } },
};

/** The services that a quarter of the tasks each is about. */
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
 * @property {{ tasks: number, turns: number, calls: number, tools: number, oneCall: number, waiting: number }} counts
 * `oneCall`: turns of the user with one call. `waiting`: those in which a call needs what another one brings.
 * @property {Record<'one' | 'parallel' | keyof typeof CATALOGS, Total>} totals
 * @property {Record<keyof typeof SUBJECTS, Record<'one' | 'parallel' | keyof typeof CATALOGS, Total>>} bySubject
 */

/** Head, and a line for each catalogue: what scripts take with it beside the structured ways. */
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
      'scripts read of the tools',
      'tokens of a request',
      'cost of one call a turn',
      'of parallel calls',
      'input of one call a turn',
      'of parallel calls',
    ],
    ...Object.entries(CATALOGS).map(([name, { title }]) => [title, catalog(totals[name]), ...beside(totals[name])]),
    ['structured calls, as JSON Schema', catalog(parallel), ...beside(parallel)],
  ];
}

/** Head, and a line for each way: how its cost comes together, for one task. */
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
      line(`scripts, ${CATALOGS[name].title}`, totals[name]),
    ),
  ];
}

/** Head, and a line for each subject: what scripts cost beside parallel calls. */
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

/** The part of the page that the result decides. */
export function bfclSection({ date, rows: [{ result }] }) {
  const { counts, totals } = result;
  const { parallel, all, one } = totals;
  const share = (total) => percent(total.catalogCost, total.cost);
  const catalogs = (name) => Math.round(totals[name].catalogTokens / counts.tasks);
  return `The ${counts.tasks} tasks have ${counts.turns} turns of the user with ${shown(counts.calls)} calls, and offer ${Math.round(counts.tools / counts.tasks)} tools each.

${markdown(catalogTable(result))}

With the whole catalogue and all its docs, scripts cost ${percent(all.cost, parallel.cost)} of parallel calls: they do not pay here. The goal of 90 % is ${goal(totals, 'all')} with all docs, ${goal(totals, 'arguments')} without those of results, ${goal(totals, 'default')} with the default, and ${goal(totals, 'signatures')} with 2 000 tokens. All tools are shown with the default and with 2 000 tokens too, each at least with the names and types of its arguments and of its result; what goes first is docs.

${markdown(costTable(result))}

- **There is little for a script to join.** ${counts.oneCall} of the ${counts.turns} turns are one call or none, and in ${counts.waiting} only does a call need what another one brings. So parallel calls take ${(parallel.turns / counts.tasks).toFixed(1)} requests a task and scripts ${(all.turns / counts.tasks).toFixed(1)}, ${percent(all.turns, parallel.turns)} of them. Beside one call a turn it is ${percent(all.turns, one.turns)}.
- **Results are small.** A result has some ten words here; nothing is filtered, counted or joined, and a script returns what a call would have brought.
- **The catalogue is most of the cost:** ${share(parallel)} with parallel calls, ${share(all)} with scripts that read all docs. Declarations with all docs take ${shown(catalogs('all') - Math.round(parallel.catalogTokens / counts.tasks))} tokens more than the schemas, because they say what results look like, and the rules for scripts are among them; without docs of results it is ${shown(catalogs('arguments') - Math.round(parallel.catalogTokens / counts.tasks))}.
- **The same calls are longer as a script:** ${percent(all.outputTokens, parallel.outputTokens)} of the output tokens.
- **Each description of the data set begins with what its service is**, in some forty words that are the same for all tools of it. Both ways read them with every tool. Written once, they would leave scripts at ${percent(totals.once.cost, parallel.cost)} of parallel calls, all docs read.

${markdown(subjectTable(result))}

Measured on ${date.slice(0, 10)}.
`;
}

function goal({ parallel, ...totals }, name) {
  const ratio = totals[name].cost / parallel.cost;
  return `${ratio <= 0.9 ? 'met' : 'missed'} (${Math.round(100 * ratio)} %)`;
}

function percent(part, whole) {
  return `${Math.round((100 * part) / whole)} %`;
}
