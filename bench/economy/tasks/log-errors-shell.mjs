import { calls, script } from '../turns.mjs';
import { CODING_ROLE, folderWorld } from '../worlds.mjs';
import { ANSWER, ASK, FAILURES, LOGS, SCRIPT } from '../logs.mjs';

const count = "grep -h ' 5[0-9][0-9] ' logs/*.log | cut -d' ' -f3 | sort | uniq -c";
const steps = [calls(['exec', { command: ['sh', '-c', count] }])];

/** @type {import('../run-task.mjs').Task} */
export default {
  name: 'log-errors-shell',
  title: 'the same, with a shell',
  role: CODING_ROLE,
  ask: ASK,
  open: folderWorld(LOGS, { exec: true }),
  ways: { one: steps, parallel: steps, scripts: [script(SCRIPT)] },
  answer: ANSWER,
  evidence: Object.entries(FAILURES).map(([endpoint, failures]) => `${failures} ${endpoint}\n`),
  value: FAILURES,
  why: 'A command line is a script too: with a shell among the tools, one structured call counts as well as any script.',
};
