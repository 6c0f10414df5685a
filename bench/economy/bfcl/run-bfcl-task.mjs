import assert from 'node:assert/strict';
import { createHarness } from '@toolscript/core';
import { extendHistory, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { figuresOf, tokensOf } from '../count-tokens.mjs';
import { PLANS } from './plans.mjs';
import { serviceTool } from './services/index.mjs';
import { openWorld } from './world.mjs';

/** The words of the data set are not ours to repeat. This stands for each of them, in their mean length. */
const ASK =
  'Before I leave the office today I would like to have this taken care of. Please have a look at it, do what is needed with what I told you, and let me know how it went.';
/** What the model says when the calls of a turn of the user are done. */
const ANSWER =
  'That is done, and all of it went as you wanted. Tell me if there is anything else that I can do for you.';
const ROLE = 'You help a user with the tools that you have. Be brief.';
/** So many that every tool is shown with all its docs. */
const ROOM_FOR_ALL = 20_000;

/**
 * Does the calls of a task once, through the real agent loop, adapter, harness and checker, against a scripted model.
 *
 * @param {import('./tasks.mjs').BfclTask} task
 * @param {'one' | 'parallel' | 'scripts'} way
 * @param {{ resultDocs?: boolean, instructionTokens?: number, carrier?: 'tool' | 'custom' | 'text' }} [options]
 * `resultDocs`: of the world. The others: of the agent; the whole catalogue is shown where nothing is said.
 * @returns {Promise<Figures>}
 * @throws Where a call failed, or the services got other calls than those of the data set.
 *
 * @typedef {import('../count-tokens.mjs').Figures & { catalogTokens: number }} Figures `catalogTokens`: of one request,
 * system text and tools.
 */
export async function runBfclTask(task, way, { resultDocs, instructionTokens = ROOM_FOR_ALL, carrier = 'tool' } = {}) {
  const { tools, made } = openWorld(task, { resultDocs });
  const harness = createHarness({ tools, approvals: 'auto' });
  try {
    const answers = task.turns.flatMap((turn) => [...PLANS[way](turn), [{ type: 'text', text: ANSWER }]]);
    const model = scriptedModel({ turns: answers.map((parts) => ({ parts })), delta_length: 10_000 });
    const mode = way === 'scripts' ? 'enabled' : 'disabled';
    const agent = { slug: 'bfcl', instructions: ROLE, mode, instructionTokens, carrier, maxTurns: 100 };
    let history = [];
    for (const _ of task.turns) history = await playTurn({ provider: model, harness, agent, history });
    assert.deepEqual(model.violations, []);
    assert.equal(model.turnsLeft, 0, 'the run ended early');
    assertMade(task, way, made);
    return withCatalog(model.requests, answers);
  } finally {
    await harness.close();
  }
}

async function playTurn(options) {
  const events = [];
  for await (const event of runAgent({ ...options, input: ASK, threadId: 'bfcl' })) events.push(event);
  assert.equal(events.at(-1).payload.status, 'completed');
  for (const { payload } of events) {
    if (payload.type === 'item_done') assertSucceeded(payload.final_item);
  }
  return extendHistory(options.history, events);
}

function assertSucceeded({ type, status, success, report, output }) {
  if (type === 'script_execution_output') assert.equal(status, 'completed', report);
  if (type === 'function_call_output') assert.ok(success, output);
}

/** In their order too, but that parallel calls may stand before one that they need nothing of. */
function assertMade({ turns }, way, made) {
  const wanted = turns.flat().map(({ tool, args }) => ({ tool, args: { ...defaultsOf(tool), ...args } }));
  if (way !== 'parallel') return assert.deepEqual(made, wanted);
  const sorted = (calls) =>
    calls.map((call) => JSON.stringify(call, Object.keys({ ...call, ...call.args }).sort())).sort();
  assert.deepEqual(sorted(made), sorted(wanted));
}

/** Arguments that the harness fills in. */
function defaultsOf(tool) {
  const withDefault = Object.entries(serviceTool(tool).takes).filter(([, schema]) => schema.default !== undefined);
  return Object.fromEntries(withDefault.map(([name, schema]) => [name, schema.default]));
}

function withCatalog(requests, answers) {
  for (const [index, { input }] of requests.slice(1).entries())
    assert.deepEqual(input.slice(0, requests[index].input.length), requests[index].input, 'no prefix of the next one');
  const [{ instructions, tools }] = requests;
  return { ...figuresOf(requests, answers), catalogTokens: tokensOf({ instructions, tools }) };
}
