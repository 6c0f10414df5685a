import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { defineAgent, extendHistory, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { figuresOf } from '../count-tokens.mjs';

/** Scripts that share nothing, and scripts that share their variables. */
export const PROGRAMS = ['separate', 'one-program'];

/**
 * Plays a conversation once, through the real agent loop, adapter, checker and harness, against a scripted model.
 *
 * @param {import('./index.mjs').Conversation} conversation
 * @param {'separate' | 'one-program'} scripts
 * @param {import('../run-task.mjs').Threads} [threads] Of the harness; it starts its own by default.
 * @returns {Promise<import('../count-tokens.mjs').Figures & { calls: number }>} `calls`: of tools.
 * @throws If a script has failed, or its value is wrong.
 */
export async function runConversation({ role, tools, questions }, scripts, threads = {}) {
  let calls = 0;
  const counting = tools.map(({ execute, ...tool }) =>
    defineTool({ effect: 'read', approval: 'never', ...tool, execute: (input) => ((calls += 1), execute(input)) }),
  );
  const harness = createHarness({ tools: counting, approvals: 'auto', scripts, ...threads });
  try {
    const written = questions.map((question) => question[scripts === 'separate' ? 'separate' : 'program']);
    const answers = written.flatMap((codes, index) => [
      ...codes.map((code) => [{ type: 'script', code: code.trim() }]),
      [{ type: 'text', text: questions[index].answer }],
    ]);
    const model = scriptedModel({ turns: answers.map((parts) => ({ parts })), delta_length: 10_000 });
    const agent = defineAgent({ slug: 'conversation', instructions: role, scripts, maxTurns: 100 });
    let history = [];
    for (const { ask, value } of questions) {
      const events = [];
      const run = runAgent({ provider: model, harness, agent, input: ask, history, threadId: 'conversation' });
      for await (const event of run) events.push(event);
      assertAnswered(events, value);
      history = extendHistory(history, events);
    }
    assert.deepEqual(model.violations, []);
    assert.equal(model.turnsLeft, 0, 'the run ended early');
    return { ...figuresOf(model.requests, answers), calls };
  } finally {
    await harness.close();
  }
}

function assertAnswered(events, value) {
  assert.equal(events.at(-1).payload.status, 'completed');
  const outputs = events.flatMap(({ payload }) =>
    payload.type === 'item_done' && payload.final_item.type === 'script_execution_output' ? [payload.final_item] : [],
  );
  for (const { status, report } of outputs) assert.equal(status, 'completed', report);
  assert.deepEqual(outputs.at(-1).result, value);
}
