import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { createCatalog } from '../../packages/core/dist/tools/catalog.js';
import { alternate } from '../measure.mjs';

const SERVERS = 30;
const TOOLS = 1_000;
const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'move', 'copy'];
const NOUNS = ['issue', 'branch', 'file', 'page', 'user', 'invoice', 'ticket', 'channel', 'message', 'event'];
const QUERIES = ['search invoices', 'delete a branch', 'which tool moves tickets between channels', 'limit', 'zzz'];

export const name = 'catalog';

/** 1000 tools of 30 MCP-like servers: a search, and the prompt with a part of them. */
export async function measure({ effort }) {
  const tools = Array.from({ length: TOOLS }, (_, index) => mcpTool(index));
  return [await searchRow(tools, effort), await instructionsRow(tools, effort)];
}

function searchRow(tools, effort) {
  const catalog = createCatalog(tools);
  const row = {
    name: 'catalog-search',
    title: `one search among ${TOOLS} tools`,
    unit: 'ms',
    better: 'lower',
    limit: 5,
  };
  const block = () =>
    Array.from({ length: 40 }, (_, index) => {
      const query = QUERIES[index % QUERIES.length];
      const began = performance.now();
      const found = catalog.search(query);
      const tookMs = performance.now() - began;
      assert.equal(found.length, query === 'zzz' ? 0 : 10, `"${query}" found something else`);
      return tookMs;
    });
  return alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.rounds);
}

/** Starts each run from an empty state, because a harness caches the text that it has written. */
async function instructionsRow(tools, effort) {
  const row = {
    name: 'catalog-instructions',
    title: `the instructions for ${TOOLS} tools in 3 000 tokens`,
    unit: 'ms',
    better: 'lower',
    limit: 100,
  };
  const harness = createHarness({ tools, expose: { mcp: true } });
  const expected = harness.instructions({ tokenBudget: 3_000 });
  assert.match(expected, new RegExp(`\\d+ of ${TOOLS} tools shown`, 'u'));
  const block = () =>
    Array.from({ length: 3 }, () => {
      harness.instructions({ tokenBudget: 1_000 });
      const began = performance.now();
      const text = harness.instructions({ tokenBudget: 3_000 });
      const tookMs = performance.now() - began;
      assert.equal(text, expected, 'the instructions changed');
      return tookMs;
    });
  const result = await alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.rounds);
  await harness.close();
  return result;
}

/** The first server has 300 tools, the second 3, the others share the rest. */
function mcpTool(index) {
  const server = index < 300 ? 0 : index < 303 ? 1 : 2 + (index % (SERVERS - 2));
  const verb = VERBS[index % VERBS.length];
  const noun = NOUNS[Math.floor(index / VERBS.length) % NOUNS.length];
  const string = (description) => ({ type: 'string', description });
  return defineTool(
    {
      name: `mcp.server${server}.${verb}-${noun}-${index}`,
      description: `${verb} every ${noun} that the filter lets through. The result comes in pages.`,
      inputSchema: {
        type: 'object',
        properties: {
          id: string(`the ${noun}'s id`),
          limit: { type: 'integer', default: 20, description: 'most entries of one page' },
          filter: { type: 'object', properties: { state: { enum: ['open', 'closed'] }, label: string('exact name') } },
        },
        required: ['id'],
      },
      execute: () => null,
    },
    { namespace: 'mcp' },
  );
}
