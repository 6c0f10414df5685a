import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { withUnanswered } from './call-run.js';
import { SHOWN_WHOLE, type GatewayServices } from './services.js';

const READS = { readOnlyHint: true, openWorldHint: false };
const MAX_DESCRIBED = 20;
const NO_MATCH = 'No tool matches. Try other words.';
const NOTHING_YET = 'Nothing was found, but tools are missing:';

/** Registers `search_tools` and `describe_tools`, with which a client finds tools without a script. */
export function registerCatalogTools(server: McpServer, services: GatewayServices): void {
  const catalog = () =>
    services.harness.catalog(services.principal === undefined ? {} : { principal: services.principal });
  server.registerTool(
    'search_tools',
    {
      _meta: SHOWN_WHOLE,
      description:
        'Searches the tools that run_script can call. Returns their names; a script writes them after `tools.`.',
      inputSchema: z.object({ query: z.string(), limit: z.number().int().min(1).max(50).optional() }),
      annotations: READS,
    },
    async ({ query, limit }, ctx) => {
      await services.ready?.();
      const found = catalog().search(query, limit === undefined ? {} : { limit });
      const lines = found.map(({ name, description }) => `${name}: ${description}`);
      const missing = services.notices?.({ nothingFound: lines.length === 0 }) ?? [];
      if (lines.length === 0) lines.push(missing.length === 0 ? NO_MATCH : NOTHING_YET);
      return withUnanswered(services, ctx, textResult([...lines, ...missing].join('\n')));
    },
  );
  server.registerTool(
    'describe_tools',
    {
      _meta: SHOWN_WHOLE,
      description: 'Returns the TypeScript declarations of tools. Names are those that search_tools returns.',
      inputSchema: z.object({ names: z.array(z.string()).min(1).max(MAX_DESCRIBED) }),
      annotations: READS,
    },
    async ({ names }, ctx) => {
      await services.ready?.();
      const described = names.map((name) => catalog().describe(name));
      const texts = names.map((name, index) => described[index] ?? catalog().explainMissing(name, 'search_tools'));
      const missing = described.includes(undefined) ? (services.notices?.({ nothingFound: true }) ?? []) : [];
      return withUnanswered(services, ctx, textResult([...new Set([...texts, ...missing])].join('\n')));
    },
  );
}

function textResult(text: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text }] };
}
