import assert from 'node:assert/strict';
import { createHarness } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { withReadableResults } from './readable-results.mjs';

/**
 * A task, and what a model says that does it, in each way.
 *
 * @typedef {object} Task
 * @property {string} name
 * @property {string} title What it is, for the table.
 * @property {string} role The system text of the agent, the same in all ways.
 * @property {string} ask
 * @property {() => import('./worlds.mjs').World} open
 * @property {{ one: object[][], parallel: object[][], scripts: object[][] }} ways The turns before the last one, which
 * says `answer`.
 * @property {string} answer
 * @property {readonly string[]} evidence What who calls the tools one by one must have read before the answer.
 * @property {unknown} value What the last script must have returned.
 * @property {unknown} [state] What the world must be afterwards. Default: as it was.
 * @property {string} why Why scripts win or lose here, as a sentence.
 *
 * @typedef {object} Figures
 * @property {number} turns Answers that the model was asked for.
 * @property {number} inputTokens Of all request bodies, as they were sent.
 * @property {number} newInputTokens Without what the request before had too: what a prompt cache does not have.
 * @property {number} outputTokens
 * @property {number} inputTextTokens Of the texts in them alone: no JSON around them, nothing escaped.
 * @property {number} cost Tokens weighted by what providers charge, see `costOf`.
 */

export const WAYS = ['one', 'parallel', 'scripts'];

/** Tokens as providers charge for them, in tokens of new input: what a cache has costs a tenth, output five times. */
function costOf({ inputTokens, newInputTokens, outputTokens }) {
  return Math.round(newInputTokens + 0.1 * (inputTokens - newInputTokens) + 5 * outputTokens);
}

/**
 * Does a task once, through the real agent loop, adapter, harness and tools, against a scripted model.
 *
 * @param {Task} task
 * @param {'one' | 'parallel' | 'scripts'} way
 * @param {{ wholeResults?: boolean, bothOffered?: boolean, instructionTokens?: number }} [options] `wholeResults`:
 * structured calls bring the JSON of everything. `bothOffered`: the model may call tools in both ways, and has this one
 * chosen. `instructionTokens`: of the agent.
 * @returns {Promise<{ figures: Figures, tookMs: number }>} `tookMs`: with a model that answers at once.
 * @throws Where the task is not done, or is answered without having read what the answer needs.
 */
export async function runTask(task, way, { wholeResults = false, bothOffered = false, ...settings } = {}) {
  const world = task.open();
  const before = world.state();
  const harness = createHarness({ tools: world.tools, approvals: 'auto' });
  try {
    await harness.warm();
    const model = scriptedModel({
      turns: [...task.ways[way], [{ type: 'text', text: task.answer }]].map((parts) => ({ parts })),
      // The longest deltas: how finely an answer comes is no matter here.
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
    // As JSON of everything the same facts are spelled otherwise.
    if (way !== 'scripts' && !wholeResults) assertRead(task, model.requests.at(-1));
    assert.deepEqual(world.state(), task.state ?? before, 'the world is not what the task makes of it');
    return { figures: figuresOf(task, way, model.requests), tookMs };
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

/** @returns {Figures} */
function figuresOf(task, way, requests) {
  const turns = [...task.ways[way], [{ type: 'text', text: task.answer }]];
  const figures = {
    turns: requests.length,
    inputTokens: sum(requests.map((body) => tokensOf(body))),
    newInputTokens: sum(
      requests.map((body, index) =>
        index === 0 ? tokensOf(body) : tokensOf(body.input.slice(requests[index - 1].input.length)),
      ),
    ),
    inputTextTokens: sum(
      requests.map(({ instructions = '', input, tools }) => textTokensOf([instructions, input, tools])),
    ),
    outputTokens: sum(turns.flat().map((part) => countTokens(saidIn(part)))),
  };
  return { ...figures, cost: costOf(figures) };
}

/** What the model wrote: a call's name and arguments as text, a script as the argument that it is. */
function saidIn(part) {
  if (part.type === 'text') return part.text;
  if (part.type === 'script') return `run_script${JSON.stringify({ code: part.code })}`;
  return `${part.name}${JSON.stringify(part.arguments)}`;
}

/** Schemas are given as JSON, to whoever it is. */
function textTokensOf(value) {
  if (typeof value === 'string') return countTokens(value);
  if (typeof value !== 'object' || value === null) return 0;
  return sum(
    Object.entries(value).map(([name, member]) => (name === 'parameters' ? tokensOf(member) : textTokensOf(member))),
  );
}

function tokensOf(json) {
  return countTokens(JSON.stringify(json));
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
