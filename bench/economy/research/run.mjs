import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHarness } from '@toolscript/core';
import { memoryDocuments } from '@toolscript/service/stores';
import { createSubAgents, runAgent } from '@toolscript/core/agent';
import { filePlace } from '@toolscript/core/internal';
import { scriptedModel } from '@toolscript/core/providers';
import { cabinetTools, codingTools, storedTexts, webTools } from '@toolscript/tools';
import { figuresOf, tokensOf } from '../count-tokens.mjs';
import { withReadableResults } from '../readable-results.mjs';
import { FACTS } from './pages.mjs';
import { ANSWER, ASK, PAGE_KEYS, ROLE, SUMMARY, TOOLS, WAYS } from './scenario.mjs';
import { KEYS, openServices } from './services.mjs';

const THREAD = 'thr_research';
/** The address of the pages' hosts; nothing connects to it. */
const PUBLIC_ADDRESS = '93.184.216.34';

/**
 * `turns` are those of the agent; tokens and cost include its sub-agent.
 *
 * @typedef {import('../count-tokens.mjs').Figures & { agentTokens: number, carriedTokens: number }} ResearchFigures
 * `agentTokens`: input and output of the agent's own model. `carriedTokens`: of the last request, which each later turn
 * of the conversation sends again.
 */

/**
 * Does the research once, through the real agent loop, sub-agent, adapter, harness and tools, against a scripted model
 * and two services on loopback.
 *
 * @param {keyof typeof WAYS} way
 * @param {{ threads?: object, turns?: readonly object[] }} [options] `threads`: of the harness. `turns`: instead of those
 * of the way.
 * @returns {Promise<ResearchFigures>}
 * @throws If the file or the File Cabinet is not as it should be, or the summary was written without reading the pages.
 */
export async function runResearch(way, { threads = {}, turns = WAYS[way] } = {}) {
  const world = await openWorld(threads);
  try {
    const model = modelOf([...turns, [{ type: 'text', text: ANSWER }]]);
    const agent = {
      slug: 'research',
      instructions: ROLE,
      mode: way === 'scripts' ? 'enabled' : 'disabled',
    };
    const { harness, subAgents } = world;
    const provider = way === 'scripts' ? model : withReadableResults(model);
    const payloads = [];
    const run = runAgent({ provider, harness, agent, input: ASK, threadId: THREAD, subAgents });
    for await (const { payload } of run) payloads.push(payload);
    assert.deepEqual(model.violations, []);
    assert.equal(payloads.at(-1).status, 'completed');
    assertScripts(payloads);
    assert.equal(model.turnsLeft, 0, 'the run ended early');
    assertRead(model, turns);
    await assertDone(world);
    return countedIn(model, turns);
  } finally {
    await world.close();
  }
}

async function openWorld(threads) {
  const services = await openServices();
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-research-'));
  const documents = memoryDocuments();
  const subAgents = createSubAgents(storedTexts({ documents }));
  const service = (name) => ({ apiKey: KEYS[name], baseUrl: services.url });
  const harness = createHarness({
    tools: [
      ...webTools({
        documents,
        perplexity: service('perplexity'),
        firecrawl: service('firecrawl'),
        resolve: async () => [PUBLIC_ADDRESS],
      }),
      ...cabinetTools({ documents }),
      ...codingTools({ roots: folder, exec: false, documents }),
      ...subAgents.tools,
    ],
    expose: { tools: TOOLS },
    approvals: 'auto',
    // Structured calls read each page as a whole.
    limits: { modelOutputTokens: 20_000 },
    ...threads,
  });
  await harness.warm();
  const close = async () => {
    await harness.close();
    await services.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { harness, subAgents, documents, folder, close };
}

function modelOf(turns) {
  return scriptedModel({
    turns: turns.map((turn) =>
      turn.bySubAgent === undefined ? { parts: turn } : { parts: turn.bySubAgent, aside: true },
    ),
    delta_length: 10_000,
  });
}

function assertScripts(payloads) {
  const items = payloads.flatMap((payload) => (payload.type === 'item_done' ? [payload.final_item] : []));
  for (const { type, status, report } of items)
    if (type === 'script_execution_output') assert.equal(status, 'completed', report);
}

/** The model that writes the summary must have read the fact of each page. */
function assertRead({ requests }, turns) {
  const at = turns.findIndex((turn) => JSON.stringify(turn).includes(FACTS[0]));
  const read = JSON.stringify(requests[at]);
  for (const fact of FACTS) assert.ok(read.includes(fact), `the summary rests on "${fact}", which was not read`);
}

async function assertDone({ folder, documents }) {
  assert.deepEqual(readdirSync(folder), ['swifts.md'], 'the folder has other files');
  assert.equal(readFileSync(join(folder, 'swifts.md'), 'utf8'), SUMMARY, 'the file is not the summary');
  const keys = ['swifts.md', ...PAGE_KEYS];
  for (const key of keys) assert.ok(await documents.read(filePlace(THREAD, key)), `the File Cabinet has no ${key}`);
}

function countedIn({ requests }, turns) {
  const ofAgent = requests.filter((_, index) => turns[index]?.bySubAgent === undefined);
  const written = [...turns.filter(({ bySubAgent }) => bySubAgent === undefined), [{ type: 'text', text: ANSWER }]];
  const agent = figuresOf(ofAgent, written);
  const subAgent = figuresOf(
    requests.filter((request) => !ofAgent.includes(request)),
    turns.flatMap(({ bySubAgent }) => (bySubAgent === undefined ? [] : [bySubAgent])),
  );
  const both = Object.keys(agent).map((name) => [name, agent[name] + subAgent[name]]);
  return {
    ...Object.fromEntries(both),
    turns: agent.turns,
    agentTokens: agent.inputTokens + agent.outputTokens,
    carriedTokens: tokensOf(ofAgent.at(-1)),
  };
}
