import assert from 'node:assert/strict';
import { createHarness } from '@toolscript/core';
import { agentBeginning, defineAgent, extendHistory, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { figuresOf, tokensOf } from '../count-tokens.mjs';
import { PLANS } from './plans.mjs';
import { serviceTool } from './services/index.mjs';
import { openWorld } from './world.mjs';

/** Replaces each question of the data set, with the mean length of the questions that were counted. */
export const ASK =
  'Before I leave the office today, I would like to have this matter settled. Please look at the details, complete whatever is necessary for it, and report the outcome.';
/** The model's text after the calls of a turn of the user. */
export const ANSWER =
  'That is done, and all of it went as you wanted. Tell me if there is anything else that I can do for you.';
const ROLE = 'You help a user with the tools that you have. Be brief.';
/** Enough to show every tool with all its docs. */
const ROOM_FOR_ALL = 20_000;

/**
 * The texts about the tools that a model reads in addition to its conversation.
 *
 * @typedef {object} Catalog
 * @property {number} [instructionTokens] The agent's budget. Default: as many as the whole text needs.
 * @property {import('./world.mjs').Docs} [docs]
 *
 * @typedef {object} Run
 * @property {readonly object[]} requests
 * @property {readonly object[][]} answers
 */

/**
 * Makes the calls of a task once, through the real agent loop, adapter, harness and checker, against a scripted model.
 *
 * @param {import('./tasks.mjs').BfclTask} task
 * @param {'one' | 'parallel' | 'scripts'} way
 * @param {Catalog} [catalog]
 * @param {import('../run-task.mjs').Threads} [threads] Of the harness; it starts its own by default.
 * @returns {Promise<Run>}
 * @throws If a call failed, or the services got other calls than those of the data set.
 */
export async function runBfclTask(task, way, catalog = {}, threads = {}) {
  const { tools, made } = openWorld(task, catalog.docs);
  const harness = createHarness({ tools, approvals: 'auto', ...threads });
  try {
    const answers = task.turns.flatMap((turn) => [...PLANS[way](turn), [{ type: 'text', text: ANSWER }]]);
    const model = scriptedModel({ turns: answers.map((parts) => ({ parts })), delta_length: 10_000 });
    const agent = agentFor(way === 'scripts' ? 'enabled' : 'disabled', catalog);
    let history = [];
    for (const _ of task.turns) history = await playTurn({ provider: model, harness, agent, history });
    assert.deepEqual(model.violations, []);
    assert.equal(model.turnsLeft, 0, 'the run ended early');
    assertMade(task, way, made);
    assertCacheable(model.requests);
    return { requests: model.requests, answers };
  } finally {
    await harness.close();
  }
}

/**
 * The same run of scripts with another catalogue: a catalogue changes only the system text.
 *
 * @param {import('./tasks.mjs').BfclTask} task
 * @param {Run} run
 * @param {Catalog} catalog
 * @returns {Promise<Run>}
 */
export async function withCatalog(task, { requests, answers }, catalog) {
  const harness = createHarness({ tools: openWorld(task, catalog.docs).tools });
  try {
    const { system: instructions } = agentBeginning(
      harness,
      scriptedModel({ turns: [] }),
      agentFor('enabled', catalog),
    );
    return { requests: requests.map((request) => ({ ...request, instructions })), answers };
  } finally {
    await harness.close();
  }
}

/** @returns {import('../count-tokens.mjs').Figures & { catalogTokens: number }} `catalogTokens`: in one request. */
export function measuredRun({ requests, answers }) {
  const [{ instructions, tools }] = requests;
  return { ...figuresOf(requests, answers), catalogTokens: tokensOf({ instructions, tools }) };
}

function agentFor(mode, { instructionTokens = ROOM_FOR_ALL }) {
  return defineAgent({ slug: 'bfcl', instructions: ROLE, mode, instructionTokens, maxTurns: 100 });
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

/** Compares the order too, except that a parallel call may precede one that it does not depend on. */
function assertMade({ turns }, way, made) {
  const wanted = turns.flat().map(({ tool, args }) => ({ tool, args: { ...defaultsOf(tool), ...args } }));
  if (way === 'parallel') assert.deepEqual(sorted(made), sorted(wanted));
  else assert.deepEqual(made, wanted);
}

function sorted(calls) {
  return calls.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));
}

function keyOf({ tool, args }) {
  return tool + JSON.stringify(Object.entries(args).toSorted(([one], [other]) => one.localeCompare(other)));
}

/** Arguments that the harness fills in. */
function defaultsOf(tool) {
  const withDefault = Object.entries(serviceTool(tool).takes).filter(([, schema]) => schema.default !== undefined);
  return Object.fromEntries(withDefault.map(([name, schema]) => [name, schema.default]));
}

/** Each request begins with the complete previous request. */
function assertCacheable(requests) {
  for (const [index, { instructions, tools, input }] of requests.slice(1).entries()) {
    const before = requests[index];
    assert.deepEqual(
      { instructions, tools, input: input.slice(0, before.input.length) },
      { instructions: before.instructions, tools: before.tools, input: before.input },
    );
  }
}
