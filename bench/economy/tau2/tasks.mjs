import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { RETAIL_TOOLS } from './retail.mjs';

/**
 * The folder with the data of tau2-bench: `retail-tasks.json` and `retail-db.json`. Another one: TOOLSCRIPT_TAU2.
 */
const FOLDER = process.env.TOOLSCRIPT_TAU2 ?? new URL('../../../../../shared/fixtures/tau2', import.meta.url).pathname;

/**
 * An action of a task, with what it needs.
 *
 * @typedef {object} Action
 * @property {string} tool
 * @property {Record<string, unknown>} args
 * @property {boolean} changes
 * @property {Record<string, number>} flows Arguments that are the whole result of an earlier action, which a script
 * passes on.
 * @property {readonly number[]} reads Earlier actions in whose results the model must read an argument.
 * @property {boolean} fails The shop refuses the action.
 *
 * @typedef {{ id: string, ask: string, actions: readonly Action[] }} RetailTask
 */

/** The reason why the tasks are not there; undefined if they are. */
export const whyAbsent = existsSync(`${FOLDER}/retail-tasks.json`)
  ? undefined
  : `the data of tau2-bench is not in ${FOLDER}. Put it there, or set TOOLSCRIPT_TAU2`;

const read = (name) => JSON.parse(readFileSync(`${FOLDER}/${name}.json`, 'utf8'));

let database;

/** A new database of the shop. It shares the records that no tool has changed. */
export function openDatabase() {
  database ??= read('retail-db');
  return Object.fromEntries(Object.entries(database).map(([table, records]) => [table, { ...records }]));
}

/** The records that differ from those of a new database, by table. */
export function changedRecords(db) {
  return Object.fromEntries(
    Object.entries(db).map(([table, records]) => [
      table,
      Object.fromEntries(
        Object.entries(records).filter(
          ([id, record]) => record !== database[table][id] && !isDeepStrictEqual(record, database[table][id]),
        ),
      ),
    ]),
  );
}

const TOOLS = new Map(RETAIL_TOOLS.map((tool) => [tool.name, tool]));

/** Makes the actions one by one on a new database, without a harness. */
export function databaseAfter({ actions }) {
  const db = openDatabase();
  for (const { tool, args } of actions) resultOf(db, tool, args);
  return db;
}

function resultOf(db, tool, args) {
  try {
    return { value: TOOLS.get(tool).run(db, structuredClone(args)) };
  } catch (error) {
    return { refusal: error.message };
  }
}

/** @returns {readonly RetailTask[]} */
export function retailTasks() {
  return read('retail-tasks').map(({ id, user_scenario: { instructions }, evaluation_criteria: { actions } }) => {
    const ask = [instructions.reason_for_call, instructions.known_info].filter(Boolean).join('\n');
    const db = openDatabase();
    const results = [];
    return {
      id,
      ask,
      actions: (actions ?? []).map(({ name: tool, arguments: args }) => {
        const sources = sourcesOf(args, ask, results);
        const { value, refusal } = resultOf(db, tool, args);
        results.push(JSON.stringify(value ?? refusal));
        return { tool, args, changes: TOOLS.get(tool).changes === true, fails: refusal !== undefined, ...sources };
      }),
    };
  });
}

/**
 * The earlier results that contain the arguments. A value that the user says needs none. The model itself writes a value
 * that is in no result, such as a summary.
 */
function sourcesOf(args, ask, results) {
  const flows = {};
  const reads = new Set();
  for (const [name, value] of Object.entries(args)) {
    for (const part of [value].flat()) {
      if (typeof part !== 'string' || part === '' || ask.includes(part)) continue;
      const whole = results.findIndex((result) => result === JSON.stringify(part));
      const inside = results.findIndex((result) => result.includes(JSON.stringify(part)));
      if (whole >= 0) flows[name] = whole;
      else if (inside >= 0) reads.add(inside);
    }
  }
  return { flows, reads: [...reads] };
}
