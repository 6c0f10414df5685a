import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { createProvider, startScriptedServer } from '@toolscript/core/providers';
import { z } from 'zod';
import { APIS } from '../agent/apis.mjs';
import { ServiceCache } from '../agent/service-cache.mjs';
import { alternate } from '../measure.mjs';

const REQUESTS = 20;
/** About as long as the instructions of a project. */
const INSTRUCTIONS = 'Keep the files tidy. '.repeat(400);

export const name = 'cached-input';
export const ownResult = true;

/** The share of a conversation's input that the services read from their caches, by their documented rules. */
export async function measure() {
  const rows = [];
  for (const { api, short } of APIS) {
    const row = {
      name: `cached-input-${short}`,
      title: `cached share of the input of ${REQUESTS} requests, ${api}`,
      unit: '%',
      better: 'higher',
      limit: 90,
    };
    const share = async () => [100 * (await shareOf(api))];
    rows.push(await alternate(row, [{ name: 'toolscript', role: 'ours', block: share }], 1));
  }
  return rows;
}

async function shareOf(api) {
  const cache = new ServiceCache(api);
  for (const body of await requestsOf(api)) cache.take(body);
  return cache.share;
}

async function requestsOf(api) {
  const scripts = Array.from({ length: REQUESTS - 1 }, (_, n) => ({
    parts: [{ type: 'script', code: `return await tools.lookUp({ n: ${n} });` }],
  }));
  const server = await startScriptedServer({ turns: [...scripts, { parts: [{ type: 'text', text: 'Done.' }] }] });
  const harness = createHarness({ tools: [lookUpTool()], approvals: 'deny' });
  try {
    const provider = createProvider(api, { model: 'bench', baseUrl: server.baseUrl, environment: {} });
    const agent = { slug: 'bench', maxTurns: REQUESTS, instructions: INSTRUCTIONS };
    for await (const _ of runAgent({ provider, harness, agent, input: 'Look up every part.' }));
    assert.deepEqual(server.violations, []);
    assert.equal(server.requests.length, REQUESTS);
    return server.requests;
  } finally {
    await Promise.all([harness.close(), server.close()]);
  }
}

function lookUpTool() {
  return defineTool({
    name: 'lookUp',
    description: 'What is known of a part.',
    input: z.object({ n: z.number() }),
    approval: 'never',
    effect: 'read',
    execute: ({ n }) => ({ n, text: `part ${n}` }),
  });
}
