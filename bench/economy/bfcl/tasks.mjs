import { readFileSync } from 'node:fs';

/**
 * A call of the data set, with additions of this repository.
 *
 * @typedef {object} Call
 * @property {string} tool
 * @property {Record<string, unknown>} args
 * @property {Record<string, string>} [flows] Arguments that come from results of earlier calls of the same turn of the
 * user, as TypeScript, with `$0`, `$1` … for those results.
 * @property {string} [when] The condition in the words of the user, as such TypeScript. It is true.
 * @property {boolean} [look] The model must have read the results so far.
 *
 * @typedef {object} BfclTask
 * @property {string} id
 * @property {readonly string[]} classes Services whose tools the model is offered.
 * @property {readonly (readonly Call[])[]} turns Calls by turn of the user.
 * @property {Record<string, object>} initial The state of each service that differs from its default.
 */

/** @type {readonly BfclTask[]} */
export const BFCL_TASKS = readTasks();

function readTasks() {
  const initial = new Map(linesOf('initial-states').map(({ id, ...states }) => [id, states]));
  const flows = new Map(
    linesOf('flows').map(({ id, turn, call, args, ...others }) => [
      [id, turn, call].join(),
      { flows: args, ...others },
    ]),
  );
  return linesOf('gold-calls').map(({ id, classes, turns }) => ({
    id,
    classes,
    turns: turns.map((calls, turn) => calls.map((one, call) => ({ ...one, ...flows.get([id, turn, call].join()) }))),
    initial: initial.get(id) ?? {},
  }));
}

function linesOf(name) {
  const text = readFileSync(new URL(`data/${name}.jsonl`, import.meta.url), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
