import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { groupsOf } from '../economy/bfcl/plans.mjs';
import { ANSWER, ASK, measuredRun, runBfclTask, withCatalog } from '../economy/bfcl/run-bfcl-task.mjs';
import { CATALOGS, catalogTable, costTable, SUBJECTS, subjectTable } from '../economy/bfcl/table.mjs';
import { BFCL_TASKS } from '../economy/bfcl/tasks.mjs';
import { object } from '../economy/bfcl/services/schemas.mjs';
import { SERVICES } from '../economy/bfcl/services/index.mjs';
import { sum } from '../economy/count-tokens.mjs';
import { NAMES } from '../economy/table.mjs';
import { alternate } from '../measure.mjs';

/*
 * The token cost of the calls of a public data set (BFCL v4, multi-turn, base) in the three ways of `economy`. The
 * calls, their arguments, their order and the offered services are those of the data set; see
 * `economy/bfcl/data/NOTICE`. This repository adds the implementations of the services, the
 * descriptions of their tools (as long as those of the data set), the user's text (one text of the mean length), the
 * model's final text, and the scripts.
 *
 * Rules of a fair comparison:
 *
 * 1. All ways make the same calls; a run with different calls fails. So scripts save no call.
 * 2. Parallel calls go into one request as soon as their arguments are known. The harness runs them in order, so a call
 *    that only needs the effect of another one is in the same request.
 * 3. A script returns every informative result completely. It does not return zip codes and ids that it passes
 *    on, and it returns no confirmation except that of the last call.
 * 4. Conditions of the user ("if the pressure is below 40") are part of the script, and need a request in other ways.
 */

/** Scripts must stay better by this factor, with the default of `instructionTokens`. */
const AT_LEAST = { one: 1.05, parallel: 1 };
/** A short run does one task in this number. */
const QUICK_STEP = 40;

export const name = 'economy-bfcl';
export const ownResult = true;

export async function measure({ effort }) {
  const tasks = effort.economyRuns > 1 ? BFCL_TASKS : BFCL_TASKS.filter((_, index) => index % QUICK_STEP === 0);
  const measured = [];
  for (const task of tasks) measured.push({ task, ...(await measureTask(task)) });
  const resultTokens = sum(measured.map((one) => one.resultTokens));
  const result = {
    counts: { ...countsOf(tasks), resultTokens },
    totals: totalsOf(measured),
    bySubject: bySubject(measured),
  };
  const rows = [];
  for (const measure of ['cost', 'inputTokens', 'turns']) rows.push(await totalRow(result, measure));
  Object.assign(rows[0], { result });
  Object.assign(rows.at(-1), {
    notes: ['scripts with the default of instructionTokens'],
    tables: [catalogTable(result), costTable(result), subjectTable(result)],
  });
  return rows;
}

async function measureTask(task) {
  const scripts = await runBfclTask(task, 'scripts');
  const runs = { one: await runBfclTask(task, 'one'), parallel: await runBfclTask(task, 'parallel') };
  for (const [name, catalog] of Object.entries(CATALOGS)) runs[name] = await withCatalog(task, scripts, catalog);
  const ways = Object.entries(runs).map(([name, run]) => [name, withCatalogCost(measuredRun(run))]);
  return { ways: Object.fromEntries(ways), resultTokens: resultTokensOf(runs.one) };
}

function resultTokensOf({ requests }) {
  return sum(requests.at(-1).input.map(({ output = '' }) => countTokens(output)));
}

/**
 * Adds the cost of the system text and the tools: the full price in the first request, and a tenth in each later one.
 */
function withCatalogCost(figures) {
  return { ...figures, catalogCost: figures.catalogTokens * (1 + 0.1 * (figures.turns - 1)) };
}

function totalsOf(measured) {
  const [{ ways }] = measured;
  return Object.fromEntries(Object.keys(ways).map((name) => [name, totalOf(measured.map((one) => one.ways[name]))]));
}

function totalOf(figures) {
  return Object.fromEntries(Object.keys(figures[0]).map((name) => [name, sum(figures.map((one) => one[name]))]));
}

function bySubject(measured) {
  return Object.fromEntries(
    Object.keys(SUBJECTS).map((subject) => [
      subject,
      totalsOf(measured.filter(({ task }) => task.classes.includes(subject))),
    ]),
  );
}

function countsOf(tasks) {
  const turns = tasks.flatMap((task) => task.turns);
  return {
    tasks: tasks.length,
    turns: turns.length,
    calls: turns.flat().length,
    tools: sum(tasks.flatMap(({ classes }) => classes.map((service) => SERVICES[service].tools.length))),
    oneCall: turns.filter((calls) => calls.length < 2).length,
    waiting: turns.filter((calls) => groupsOf(calls).length > 1).length,
    documents: documentLength(),
    askTokens: countTokens(ASK),
    answerTokens: countTokens(ANSWER),
  };
}

/** The length of the descriptions in the form of the data set: a line for each tool, JSON with spaces. */
function documentLength() {
  const documents = Object.values(SERVICES).flatMap(({ about, tools }) =>
    tools.map(({ name, does, takes, gives }) => ({
      name,
      description: `${about} ${does}`,
      parameters: { ...object(takes), type: 'dict' },
      response: { type: 'dict', properties: gives },
    })),
  );
  const spaced = (document) => JSON.stringify(document).replaceAll('":', '": ').replaceAll(',"', ', "');
  return documents.map(spaced).join('\n').length;
}

function totalRow({ totals, counts }, measure) {
  const row = {
    name: `economy-bfcl-${measure.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`,
    title: `${{ cost: 'cost', inputTokens: 'input tokens', turns: 'requests' }[measure]} of ${counts.tasks} tasks of BFCL v4`,
    unit: measure === 'turns' ? 'requests' : 'tokens',
    better: 'lower',
    selfRatio: true,
    ...(measure === 'cost'
      ? { atLeast: Object.fromEntries(Object.entries(AT_LEAST).map(([way, times]) => [NAMES[way], times])) }
      : {}),
  };
  const entry = (title, role, total) => ({ name: title, role, block: () => [total[measure]] });
  const entries = [
    entry(NAMES.one, 'peer', totals.one),
    entry(NAMES.parallel, 'peer', totals.parallel),
    entry(NAMES.scripts, 'ours', totals.default),
  ];
  return alternate(row, entries, 1);
}
