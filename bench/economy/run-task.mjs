import assert from 'node:assert/strict';
import { createHarness } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { figuresOf, textTokensIn } from './count-tokens.mjs';
import { withReadableResults } from './readable-results.mjs';

/**
 * A task, and the output of a model that does it, in each way.
 *
 * @typedef {object} Task
 * @property {string} name
 * @property {string} title A description for the table.
 * @property {string} role The system text of the agent, the same in all ways.
 * @property {string} ask
 * @property {() => import('./worlds.mjs').World} open
 * @property {{ one: object[][], parallel: object[][], scripts: object[][] }} ways The turns before the last one, which
 * returns `answer`.
 * @property {string} answer
 * @property {readonly string[]} evidence Texts that a model with single calls must have read before the answer.
 * @property {unknown} value The expected value of the last script.
 * @property {unknown} [state] The expected state of the world at the end. Default: unchanged.
 * @property {string} why The reason why scripts win or lose here, as a sentence.
 *
 * @typedef {import('./count-tokens.mjs').Figures & { inputTextTokens: number }} Figures `inputTextTokens`: of the texts in
 * the requests alone, without the JSON around them.
 *
 * @typedef {Pick<import('@toolscript/core').HarnessOptions, 'runtime' | 'compiler'>} Threads
 */

export const WAYS = ['one', 'parallel', 'scripts'];

/**
 * Does a task once, through the real agent loop, adapter, harness and tools, against a scripted model.
 *
 * @param {Task} task
 * @param {'one' | 'parallel' | 'scripts'} way
 * @param {{ wholeResults?: boolean, bothOffered?: boolean, instructionTokens?: number, threads?: Threads }} [options]
 * `wholeResults`: structured calls return the complete JSON. `bothOffered`: the model may call tools in both ways,
 * and has chosen this one. `instructionTokens`: of the agent. `threads`: of the harness; it starts its own by default.
 * @returns {Promise<{ figures: Figures, tookMs: number }>} `tookMs`: with a model that answers at once.
 * @throws If the task is not done, or the model answers without the texts of `evidence`.
 */
export async function runTask(task, way, options = {}) {
  const { wholeResults = false, bothOffered = false, threads = {}, ...settings } = options;
  const world = task.open();
  const before = world.state();
  const harness = createHarness({ tools: world.tools, approvals: 'auto', ...threads });
  try {
    await harness.warm();
    const answers = [...task.ways[way], [{ type: 'text', text: task.answer }]];
    const model = scriptedModel({
      turns: answers.map((parts) => ({ parts })),
      // Uses the longest deltas, because the size of the chunks does not matter here.
      delta_length: 10_000,
    });
    const provider = way === 'scripts' || wholeResults ? model : withReadableResults(model);
    const agent = {
      slug: 'economy',
      instructions: task.role,
      mode: way === 'scripts' || bothOffered ? 'enabled' : 'disabled',
      ...(bothOffered ? { functions: 'all' } : {}),
      maxTurns: 100,
      ...settings,
    };
    const began = performance.now();
    const payloads = [];
    const run = runAgent({ provider, harness, agent, input: task.ask, threadId: 'economy' });
    for await (const { payload } of run) payloads.push(payload);
    const tookMs = performance.now() - began;
    assert.deepEqual(model.violations, []);
    assert.equal(model.turnsLeft, 0, 'the run ended early');
    assertDone(task, way, payloads);
    // Complete JSON shows the same facts in another form, so the texts of `evidence` do not occur in it.
    if (way !== 'scripts' && !wholeResults) assertRead(task, model.requests.at(-1));
    assert.deepEqual(world.state(), task.state ?? before, 'the world is not what the task makes of it');
    const inputTextTokens = textTokensIn(model.requests);
    return { figures: { ...figuresOf(model.requests, answers), inputTextTokens }, tookMs };
  } finally {
    await harness.close();
    world.close();
  }
}

function assertDone(task, way, payloads) {
  assert.equal(payloads.at(-1).status, 'completed');
  const items = payloads.flatMap((payload) => (payload.type === 'item_done' ? [payload.final_item] : []));
  assert.equal(items.at(-1).content, task.answer);
  if (way !== 'scripts') return;
  const outputs = items.filter(({ type }) => type === 'script_execution_output');
  for (const { status, report } of outputs) assert.equal(status, 'completed', report);
  assert.deepEqual(outputs.at(-1).result, task.value, 'the script found something else');
}

function assertRead({ evidence }, { input }) {
  const read = input.map(({ output }) => output).join('\n');
  for (const text of evidence) assert.ok(read.includes(text), `the answer rests on "${text}", which was not read`);
}
