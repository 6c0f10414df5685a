import { calls, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';
import { ANSWER, ASK, FAILED_LINES, FAILURES, LOGS, SCRIPT } from '../logs.mjs';

const search = ['grepFiles', { pattern: String.raw` 5\d\d `, path: 'logs', matches: true, limit: 2000 }];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'log-errors',
  title: '1 200 lines of logs, failures by endpoint, no shell',
  role: CODING_ROLE,
  ask: ASK,
  open: folderWorld(LOGS),
  ways: { one: [calls(search)], parallel: [calls(search)], scripts: [script(SCRIPT)] },
  answer: ANSWER,
  evidence: FAILED_LINES,
  value: FAILURES,
  why: 'Nearly as much: one search finds the lines in each way, and they weigh about what the text that teaches scripts does. Of the tokens that a cache does not have, the script takes fewer; twice as many lines, and it would win.',
};
