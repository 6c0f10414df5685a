import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadContenders } from './contenders/index.mjs';
import { FULL, QUICK, QUICK_ROWS } from './effort.mjs';
import { describeMachine } from './machine.mjs';
import { absentRow } from './measure.mjs';
import { reportEnd, reportHead, reportRow } from './report.mjs';
import { ROWS } from './rows/index.mjs';
import { failureOf, judge } from './verdict.mjs';

/**
 * Measures the rows, prints a report and writes it to `results/`. `npm run bench` runs it after installing and building
 * everything that is missing; see its `--help`.
 */

const RESULTS = new URL('results/', import.meta.url);

const options = readOptions();
const wanted = options.row ?? (options.quick ? QUICK_ROWS : undefined);
const chosen = ROWS.filter(({ name }) => wanted?.includes(name) ?? true);
// The interval keeps the process open, because no handle of Toolscript does so while it only waits.
const open = setInterval(() => {}, 60_000);
const machine = describeMachine();
const { contenders, missing } = await loadContenders(options);
process.stdout.write(reportHead({ machine, quick: options.quick, contenders, missing }));
if (options.quick && options.row === undefined) process.stdout.write(`\n${describeLeftOut()}\n`);
const rows = await measureRows();
const verdict = judge(rows);
process.stdout.write(reportEnd(verdict, performance.now() / 1_000));
writeResults();
clearInterval(open);
const failure = failureOf(verdict, options);
if (failure !== undefined) console.error(`\nThe check fails: ${failure}.`);
process.exit(failure === undefined ? 0 : 1);

function describeLeftOut() {
  const leftOut = ROWS.filter((row) => !chosen.includes(row)).map(({ name }) => name);
  return `A quick run leaves out ${leftOut.join(', ')}. With --row NAME, it measures one of them.`;
}

async function measureRows() {
  const measured = [];
  for (const row of chosen) {
    const results = await measureOne(row);
    for (const result of results) process.stdout.write(reportRow(result, missing));
    if (row.ownResult) writeOwnResult(row.name, results);
    measured.push(...results);
  }
  return measured;
}

/** Measures a row. After a wrong answer or a crash, the other rows still run, but the whole run fails. */
async function measureOne(row) {
  try {
    return await row.measure({ contenders, effort: options.quick ? QUICK : FULL });
  } catch (error) {
    return [
      {
        ...absentRow(
          { name: row.name, title: 'could not be measured', unit: '', better: 'lower' },
          String(error?.stack ?? error),
        ),
        broken: true,
      },
    ];
  }
}

/** A short or partial run never replaces a whole one. */
function writeResults() {
  const whole = !options.quick && options.row === undefined;
  const date = new Date().toISOString();
  const versions = contenders.map(({ name, role, version, note }) => ({ name, role, version, note }));
  const text = `${JSON.stringify({ date, quick: options.quick, machine, contenders: versions, missing, rows }, null, 2)}\n`;
  mkdirSync(RESULTS, { recursive: true });
  const files = whole ? [`${date.slice(0, 10)}-${process.version}.json`, 'latest.json'] : ['partial.json'];
  for (const file of files) writeFileSync(new URL(file, RESULTS), text);
  process.stdout.write(`\nWritten to bench/results/${files.join(' and ')}.\n`);
}

/** Writes an independent row to a separate file, next to the file of the run. */
function writeOwnResult(name, results) {
  if (options.quick || results.some(({ broken, absent }) => broken || absent !== undefined)) return;
  const text = `${JSON.stringify({ date: new Date().toISOString(), machine, rows: results }, null, 2)}\n`;
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL(`${name}.json`, RESULTS), text);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      row: { type: 'string', multiple: true },
    },
  });
  const unknown = values.row?.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown === undefined) return values;
  console.error(`There is no row "${unknown}". The rows: ${ROWS.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
