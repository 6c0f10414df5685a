// Runs a script with a type error, and prints the report for the operator. `own`: the host has a listener.
import { createHarness, defineTool } from '@toolscript/core';

const notices = [];
const warnings = [];
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));
const ping = defineTool({
  name: 'ping',
  description: 'Answers',
  approval: 'never',
  effect: 'read',
  execute: () => 'pong',
});
const listener = process.argv[2] === 'own' ? { onInternalError: (detail) => notices.push(detail) } : {};
const harness = createHarness({ tools: [ping], ...listener });
const before = harness.stats().typecheck;
const outcomes = [];
for (const more of ['', ' '])
  outcomes.push(await harness.runScript(`${more}const n: number = await tools.ping(); return n;`));
await new Promise((resolve) => setImmediate(resolve));
const codes = outcomes[0].diagnostics.map(({ code }) => code);
const after = harness.stats().typecheck;
console.log(
  JSON.stringify({ before, after, statuses: outcomes.map(({ status }) => status), codes, notices, warnings }),
);
await harness.close();
