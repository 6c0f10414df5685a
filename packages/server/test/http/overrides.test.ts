import { defineTool } from '@toolscript/core';
import { scriptedModel } from '@toolscript/core/providers';
import { foldResponse } from '@toolscript/core/history';
import { HarnessAgents } from '@toolscript/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTestServer, type TestServer } from '../support/test-server.js';

const echo = (name: string) =>
  defineTool({
    name,
    description: `Gives back a text as ${name}`,
    input: z.object({ text: z.string() }),
    output: z.string(),
    effect: 'read',
    approval: 'never',
    execute: ({ text }) => `${name}: ${text}`,
  });

let server: TestServer;
let agents: HarnessAgents | undefined;

beforeAll(async () => {
  server = await openTestServer({
    agents: (parts) => {
      agents = new HarnessAgents({
        agents: [
          { slug: 'careful', mode: 'dry-run' },
          { slug: 'bounded', limits: { maxToolCalls: 2 } },
          { slug: 'plain', tools: ['one', 'two'] },
          { slug: 'chooser', provider: { api: 'openai-chat', model: 'own' }, models: ['other'] },
        ],
        harness: { ...parts, tools: [echo('one'), echo('two'), echo('three')] },
        provider: () => scriptedModel({ turns: [{ parts: [{ type: 'script', code }] }, { parts: [] }] }),
      });
      return agents.list();
    },
  });
});

afterAll(async () => {
  await agents?.close();
  await server.close();
});

let code = '';

async function outcomeOf(agentId: string, script: string, overrides: object) {
  code = script;
  const { status, body } = await server.call('POST', '/api/v2/submit', { prompt: 'go', agentId, overrides });
  if (status !== 202) return { status, body };
  const items = foldResponse(await server.follow(body.runId)).output_items;
  const output = items.findLast((item) => item.type === 'script_execution_output');
  const run = (await server.call('GET', `/api/v2/runs/${body.runId}`)).body;
  return { status, run, output: output?.type === 'script_execution_output' ? output : undefined };
}

const THREE_CALLS =
  "return [await tools.one({ text: 'a' }), await tools.one({ text: 'b' }), await tools.two({ text: 'c' })];";

describe('overrides of a run', () => {
  it('do not widen the mode of an agent', async () => {
    const { output } = await outcomeOf('careful', THREE_CALLS, { mode: 'enabled' });
    expect(output).toMatchObject({ status: 'completed', operations: [] });
  });

  it('narrow the mode of an agent', async () => {
    const { output } = await outcomeOf('plain', THREE_CALLS, { mode: 'dry-run' });
    expect(output).toMatchObject({ status: 'completed', operations: [] });
  });

  it('do not widen the limits of an agent', async () => {
    const { output } = await outcomeOf('bounded', THREE_CALLS, { limits: { maxToolCalls: 50 } });
    expect(output).toMatchObject({ error: { code: 'ToolBudgetExceededError' } });
  });

  it('narrow the limits of an agent', async () => {
    const { output } = await outcomeOf('plain', THREE_CALLS, { limits: { maxToolCalls: 1 } });
    expect(output).toMatchObject({ error: { code: 'ToolBudgetExceededError' } });
  });

  it('narrow the tools of an agent', async () => {
    const { output } = await outcomeOf('plain', THREE_CALLS, { expose: ['one'] });
    expect(output).toMatchObject({ status: 'failed' });
    expect(JSON.stringify(output?.error)).toContain('two');
    const all = await outcomeOf('plain', THREE_CALLS, {});
    expect(all.output).toMatchObject({ result: ['one: a', 'one: b', 'two: c'] });
  });

  it('do not give an agent tools that it does not have', async () => {
    const { run } = await outcomeOf('plain', THREE_CALLS, { expose: ['three'] });
    expect(run).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('"three"') } });
  });

  it('choose only a model that the agent lists', async () => {
    code = 'return 1;';
    const statusOf = async (agentId: string, model: string) =>
      (await server.call('POST', '/api/v2/submit', { prompt: 'go', agentId, model })).status;
    for (const model of ['own', 'other']) expect(await statusOf('chooser', model)).toBe(202);
    expect(await statusOf('chooser', 'expensive')).toBe(400);
    expect(await statusOf('plain', 'any')).toBe(400);
    const { body } = await server.call('GET', '/api/v2/agents');
    expect(body.data.at(-1)).toMatchObject({ agentId: 'chooser', models: ['own', 'other'] });
  });

  it('are rejected if they name unknown values', async () => {
    for (const overrides of [{ modes: 'enabled' }, { mode: 'on' }, { limits: { maxToolCall: 1 } }, { expose: 'one' }])
      expect(await outcomeOf('plain', '', overrides)).toMatchObject({ status: 400 });
  });
});
