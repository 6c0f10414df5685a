import { defineTool } from '#core/tools/define-tool.js';
import type { Tool } from '../../src/protocol/tools.js';

/** An MCP-like server that a test defines. */
export interface Server {
  readonly name: string;
  /** The number of the server's tools. */
  readonly tools: number;
  /** The description for each tool and its first parameter. */
  readonly description?: string;
  /** The prefix of the names of the server's tools. */
  readonly words?: readonly string[];
}

const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'move', 'copy'];
const NOUNS = ['issue', 'branch', 'file', 'page', 'user', 'invoice', 'ticket', 'channel', 'message', 'event'];

/** `mcp.NAME.list-issue`, `mcp.NAME.get-issue` … with the schemas that such tools have. */
export function mcpTools(servers: readonly Server[]): Tool[] {
  return servers.flatMap((server) => Array.from({ length: server.tools }, (_, index) => mcpTool(server, index)));
}

function mcpTool({ name, description, words = [] }: Server, index: number): Tool {
  const verb = VERBS[index % VERBS.length] as string;
  const noun = NOUNS[Math.floor(index / VERBS.length) % NOUNS.length] as string;
  const number = index < VERBS.length * NOUNS.length ? '' : String(index);
  const given = description ?? `${verb} every ${noun} that the filter lets through. The result comes in pages.`;
  return defineTool(
    {
      name: `mcp.${name}.${words.length === 0 ? `${verb}-${noun}${number}` : [...words, index].join('_')}`,
      description: given,
      effect: 'read',
      approval: 'never',
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string', description: description ?? `the ${noun}'s id` },
          limit: { type: 'integer', default: 20, description: 'most entries of one page' },
          filter: {
            type: 'object',
            properties: { state: { enum: ['open', 'closed'] }, label: { type: 'string', description: 'exact name' } },
          },
        },
        required: ['id'],
      },
      execute: () => ({ entries: [] }),
    },
    { namespace: 'mcp' },
  );
}
