import conditional from './conditional.mjs';
import countTodos from './count-todos.mjs';
import explainFile from './explain-file.mjs';
import fanOut from './fan-out.mjs';
import filterResult from './filter-result.mjs';
import fixTest from './fix-test.mjs';
import followProse from './follow-prose.mjs';
import joinSources from './join-sources.mjs';
import logErrors from './log-errors.mjs';
import logErrorsShell from './log-errors-shell.mjs';
import migrateConfigs from './migrate-configs.mjs';
import moveFunction from './move-function.mjs';
import pagination from './pagination.mjs';
import renameSymbol from './rename-symbol.mjs';
import retry from './retry.mjs';
import singleLookup from './single-lookup.mjs';
import triageProse from './triage-prose.mjs';

/** @type {readonly import('../run-task.mjs').Task[]} */
export const TASKS = [
  singleLookup,
  explainFile,
  followProse,
  triageProse,
  moveFunction,
  fixTest,
  renameSymbol,
  migrateConfigs,
  countTodos,
  logErrors,
  logErrorsShell,
  filterResult,
  joinSources,
  retry,
  conditional,
  fanOut,
  pagination,
];
