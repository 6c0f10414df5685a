import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { defineAgent, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { object } from '../bfcl/services/schemas.mjs';
import { figuresOf } from '../count-tokens.mjs';
import { calls, oneByOne, script } from '../turns.mjs';
import { RETAIL_TOOLS } from './retail.mjs';
import { changedRecords, databaseAfter, openDatabase } from './tasks.mjs';

/** The model's text after the actions. */
const ANSWER = 'That is done, as you asked for it. Is there anything else that I can do for you?';
const ROLE = 'You are the agent of a shop. Help the user with the tools that you have. Be brief.';

/** The model's output before its final text. All ways make the same actions. */
export const PLANS = {
  one: ({ actions }) => oneByOne(actions.map(structured)),
  parallel: ({ actions }) =>
    groupsOf(actions, ({ flows, reads }) => [...Object.values(flows), ...reads]).map((group) =>
      calls(...group.map(structured)),
    ),
  scripts: ({ actions }) => groupsOf(actions, ({ reads }) => reads).map((group) => script(scriptOf(group, actions))),
};

const structured = ({ tool, args }) => [tool, args];

/**
 * Groups of actions that fit into one request: an action comes after the groups of what it needs, and no change comes
 * before an earlier action.
 */
export function groupsOf(actions, needs) {
  const groups = [];
  const places = [];
  for (const action of actions) {
    const needed = Math.max(0, ...needs(action).map((index) => places[index] + 1));
    const place = action.changes ? Math.max(needed, groups.length - 1, 0) : needed;
    const afterFlows = Math.max(place, ...Object.values(action.flows).map((index) => places[index]));
    places.push(afterFlows);
    (groups[afterFlows] ??= []).push(action);
  }
  return groups;
}

/** A script with the actions of a group. It passes on ids that it found, and returns all other results. */
function scriptOf(group, actions) {
  const names = new Map(group.map((action, index) => [action, `r${index + 1}`]));
  const passed = new Set(group.flatMap(({ flows }) => Object.values(flows)).map((index) => actions[index]));
  const shown = group.filter((action) => !passed.has(action));
  const lines = group.map((action) => {
    const call = `await tools.${action.tool}(${argumentsOf(action, names, actions)})`;
    const caught = action.fails ? `${call}.catch((error) => error.message)` : call;
    return `const ${names.get(action)} = ${caught};`;
  });
  const returned = shown.map((action) => names.get(action));
  return [...lines, `return ${returned.length === 1 ? returned[0] : `[${returned.join(', ')}]`};`].join('\n');
}

function argumentsOf({ args, flows }, names, actions) {
  const members = Object.entries(args).map(([name, value]) => {
    const from = names.get(actions[flows[name]]);
    return `${name}: ${from ?? JSON.stringify(value)}`;
  });
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/**
 * A harness with the tools over a database, which each run replaces.
 *
 * @param {import('../run-task.mjs').Threads} [threads] Of the harness; it starts its own by default.
 */
export function openShop(threads = {}) {
  const shop = { db: {} };
  return Object.assign(shop, {
    harness: createHarness({ tools: toolsOver(shop), approvals: 'auto', ...threads }),
  });
}

/**
 * Makes the actions of a task once, through the agent loop, adapter, harness and checker, against a scripted model.
 *
 * @param {import('./tasks.mjs').RetailTask} task
 * @param {'one' | 'parallel' | 'scripts'} way
 * @param {ReturnType<typeof openShop>} shop
 * @returns {Promise<import('../count-tokens.mjs').Figures>}
 * @throws If the final database differs from the one after the actions one by one.
 */
export async function runRetailTask(task, way, shop) {
  const { harness } = shop;
  shop.db = openDatabase();
  const answers = [...PLANS[way](task), [{ type: 'text', text: ANSWER }]];
  const model = scriptedModel({ turns: answers.map((parts) => ({ parts })), delta_length: 10_000 });
  const agent = defineAgent({
    slug: 'retail',
    instructions: ROLE,
    mode: way === 'scripts' ? 'enabled' : 'disabled',
    maxTurns: 100,
  });
  const events = [];
  for await (const event of runAgent({ provider: model, harness, agent, input: task.ask, threadId: 'retail' }))
    events.push(event);
  assert.equal(events.at(-1).payload.status, 'completed');
  for (const { payload } of events) if (payload.type === 'item_done') assertCompleted(payload.final_item);
  assert.deepEqual(model.violations, []);
  assert.equal(model.turnsLeft, 0, 'the run ended early');
  assert.deepEqual(changedRecords(shop.db), changedRecords(databaseAfter(task)), `task ${task.id}: another database`);
  return figuresOf(model.requests, answers);
}

function assertCompleted({ type, status, report }) {
  if (type === 'script_execution_output') assert.equal(status, 'completed', report);
}

function toolsOver(shop) {
  return RETAIL_TOOLS.map(({ name, does, takes, gives, changes = false, run }) =>
    defineTool({
      name,
      description: does,
      inputSchema: object(takes),
      outputSchema: gives,
      effect: changes ? 'external' : 'read',
      approval: 'never',
      // A later change of the database must not reach a result.
      execute: (args) => structuredClone(run(shop.db, args)),
    }),
  );
}
