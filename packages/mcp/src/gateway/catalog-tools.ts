import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { GatewayServices } from './services.js';

const READS = { readOnlyHint: true, openWorldHint: false };
const MAX_DESCRIBED = 20;

/** Registers `search_tools` and `describe_tools`, with which a client finds tools without a script. */
export function registerCatalogTools(server: McpServer, services: GatewayServices): void {
  const catalog = () =>
    services.harness.catalog(services.principal === undefined ? {} : { principal: services.principal });
  server.registerTool(
    'search_tools',
    {
      description:
        'Searches the tools that run_script can call. Returns their names; a script writes them after `tools.`.',
      inputSchema: z.object({ query: z.string(), limit: z.number().int().min(1).max(50).optional() }),
      annotations: READS,
    },
    ({ query, limit }) => {
      const found = catalog().search(query, limit === undefined ? {} : { limit });
      const lines = found.map(({ name, description }) => `${name}: ${description}`);
      return textResult(lines.length === 0 ? 'No tool matches. Try other words.' : lines.join('\n'));
    },
  );
  server.registerTool(
    'describe_tools',
    {
      description: 'Returns the TypeScript declarations of tools. Names are those that search_tools returns.',
      inputSchema: z.object({ names: z.array(z.string()).min(1).max(MAX_DESCRIBED) }),
      annotations: READS,
    },
    ({ names }) =>
      textResult(
        names.map((name) => catalog().describe(name) ?? catalog().explainMissing(name, 'search_tools')).join('\n'),
      ),
  );
}

function textResult(text: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text }] };
}
