// A process that runs scripts of several conversations in a random order: cells with effects, decisions, errors and
// branches. It prints a point after each. It appends one line of JSON for each script that has ended to `items.jsonl`, and one for each effect to
// `effects.jsonl`. It first ends the scripts that a killed process has left.
//
//   program-worker.mjs FOLDER URL SEED COUNT    URL: `files:`, `libsql:FILE` or `postgres://…`

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { createHarness, defineTool, fileStore, listScripts } from '../../../../core/dist/index.js';
import { openProgramStore } from './program-store.mjs';

const [folder, url, seed, count] = process.argv.slice(2);
const THREADS = Number(process.env['TOOLSCRIPT_PROGRAM_THREADS'] ?? 6);
const items = join(folder, 'items.jsonl');
const { store, close } = await openProgramStore(folder, url, fileStore);

const mark = (name, approval) =>
  defineTool({
    name,
    description: 'Leaves a mark',
    input: z.object({ id: z.string() }),
    output: z.boolean(),
    approval,
    effect: 'external',
    async execute({ id }) {
      appendFileSync(join(folder, 'effects.jsonl'), `${JSON.stringify(id)}\n`);
      return true;
    },
  });
const harness = createHarness({
  tools: [mark('mark', 'never'), mark('sign', 'always')],
  scripts: 'one-program',
  store,
  suspensionKey: 'k'.repeat(32),
  typecheck: 'off',
  leaseMs: 1_000,
});

let state = Number(seed);
/** A number from 0 up to the limit, by xorshift. */
function random(limit) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}

const readItems = () =>
  existsSync(items)
    ? readFileSync(items, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    : [];

/** Records the end of a script, as the item of a conversation would. */
function record(outcome, thread, from) {
  const { scriptId, status, value, heap, error, operations } = outcome;
  if (status === 'suspended' || status === 'running' || isOfProcess(error)) return;
  const codes = outcome.diagnostics.map(({ code }) => code).filter((code) => code.startsWith('variables-'));
  const effects = operations.filter((operation) => operation.status === 'completed').map(({ input }) => input.id);
  const trail = value ?? error.message.replace(/^Error: /u, '');
  appendFileSync(items, `${JSON.stringify({ scriptId, thread, from, trail, heap, codes, effects })}\n`);
}

/** True if another process continues the script, or can. */
function isOfProcess(error) {
  return error !== undefined && error.code !== 'ScriptRuntimeError';
}

/** Ends what other processes have left. A script that another process runs answers an error. */
async function endLeft() {
  for (const { scriptId, state: left, threadId, approvals } of await listScripts(store)) {
    try {
      if (left === 'interrupted') record(await harness.recover(scriptId), threadId);
      if (left === 'suspended' && (count === '0' || random(3) === 0)) {
        const decisions = Object.fromEntries(approvals.map(({ approvalId }) => [approvalId, 'approve']));
        record(await harness.resume(scriptId, decisions), threadId);
      }
      if (left === 'ended' && !readItems().some((item) => item.scriptId === scriptId))
        record(await harness.waitScript(scriptId, { forMs: 0 }), threadId);
    } catch (error) {
      if (error.name === 'ToolscriptUsageError') throw error;
    }
  }
}

const ENDS = [
  'return trail.join()',
  'throw new Error(trail.join())',
  'await tools.mark({ id }).catch(() => {}); return trail.join()',
  'await tools.mark({ id }).catch(() => {}); await tools.sign({ id: `${id}s` }).catch(() => {}); return trail.join()',
];

async function runCell(number) {
  const thread = `thr_${random(THREADS)}`;
  const all = readItems();
  const own = all.findLast((item) => item.thread === thread && item.heap !== undefined);
  // The first script of a conversation continues a script of another one, if there is one.
  const from = (own ?? all.filter(({ heap }) => heap !== undefined)[random(all.length || 1)])?.heap;
  const head = from === undefined ? 'let trail = [];' : '';
  const source = `${head} { const id = '${seed}_${number}'; trail = [...trail, id]; ${ENDS[random(ENDS.length)]} }`;
  record(await harness.runScript(source, { heap: from, threadId: thread }), thread, from);
}

await endLeft();
// The last process ends all: a script that it recovers may wait for a decision then, or another one may hold it.
if (count === '0')
  while ((await listScripts(store)).some(({ state: left }) => left !== 'ended')) {
    await delay(100);
    await endLeft();
  }
for (let number = 0; number < Number(count); number += 1) {
  await (random(8) === 0 ? endLeft() : runCell(number));
  process.stdout.write('.');
}
await harness.close();
await close();
