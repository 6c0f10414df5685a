import { defineTool, ToolCallError, type Tool } from '@toolscript/core';
import { limitedSignal } from '@toolscript/core/internal';
import { z } from 'zod';
import { resourceContents } from '../tools/content-block.js';
import type { McpServer } from '../servers/mcp-server.js';

type Servers = ReadonlyMap<string, McpServer>;

const ListInput = z.object({
  server: z.string().optional().describe('the name of one server; default: all'),
  cursor: z.string().optional().describe('nextCursor of the previous page; only with server'),
});

/** An entry of a list, which is untrusted data. */
const Entry = z.record(z.string(), z.unknown());

const listOutput = <Member extends string>(member: Member) =>
  z.object({
    server: z.string().optional(),
    nextCursor: z.string().optional(),
    content: z.string(),
    success: z.literal(true),
    ...({ [member]: z.array(Entry) } as Record<Member, z.ZodArray<typeof Entry>>),
  });

/** The tools that read the resources of all servers. */
export function resourceTools(servers: Servers): Tool[] {
  return [
    listTool(servers, {
      name: 'listMcpResources',
      description: 'Lists the resources of MCP servers: data that readMcpResource reads.',
      method: 'resources/list',
      member: 'resources',
    }),
    listTool(servers, {
      name: 'listMcpResourceTemplates',
      description: 'Lists templates for the addresses of resources of MCP servers, such as "file:///{path}".',
      method: 'resources/templates/list',
      member: 'resourceTemplates',
    }),
    readTool(servers),
    watchTool(servers),
  ];
}

interface ListKind {
  readonly name: string;
  readonly description: string;
  readonly method: 'resources/list' | 'resources/templates/list';
  readonly member: 'resources' | 'resourceTemplates';
}

function listTool(servers: Servers, { name, description, method, member }: ListKind): Tool {
  return defineTool({
    name,
    description,
    input: ListInput,
    output: listOutput(member),
    effect: 'read',
    approval: 'policy',
    async execute({ server, cursor }, { signal }) {
      if (server === undefined && cursor !== undefined)
        throw failure(`"cursor" needs "server". Pass the name of the server that returned the cursor.`);
      const asked = server === undefined ? withResources(servers) : [find(servers, server)];
      const pages = await Promise.all(
        asked.map(async ({ name: from, connection }) => {
          const page = await connection.listPage({ method, member }, cursor, signal);
          return { items: page.items.flatMap((item) => resourceEntries(item, from)), nextCursor: page.nextCursor };
        }),
      );
      const nextCursor = server === undefined ? undefined : pages[0]?.nextCursor;
      const found = {
        ...(server === undefined ? {} : { server }),
        [member]: pages.flatMap(({ items }) => items),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      };
      return { ...found, content: JSON.stringify(found), success: true } as never;
    },
  });
}

function readTool(servers: Servers): Tool {
  return defineTool({
    name: 'readMcpResource',
    description: 'Reads a resource of an MCP server: text unchanged, bytes as base64.',
    input: z.object({ server: z.string(), uri: z.string() }),
    output: z.object({
      contents: z.array(Entry),
      content: z.string().describe('the text of all contents'),
      success: z.literal(true),
    }),
    effect: 'read',
    approval: 'policy',
    permissions: ({ server, uri }) => [`mcp-resource:${server} ${uri}`],
    async execute({ server, uri }, { signal }) {
      const { connection } = find(servers, server);
      const { contents } = await connection.read(
        (client, options) => client.readResource({ uri }, { ...options, cacheMode: 'bypass' }),
        signal,
      );
      const parts = contents.map((part) => resourceContents(part) as Record<string, unknown>);
      const content = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
      return { contents: parts, content, success: true as const };
    },
  });
}

const MAX_WATCH_SECONDS = 600;

function watchTool(servers: Servers): Tool {
  return defineTool({
    name: 'watchMcpResource',
    description:
      'Waits until a resource of an MCP server has another version than "after". Without "after", returns the version at once: first watch, then read, then wait, so that no change is missed.',
    input: z.object({
      server: z.string(),
      uri: z.string(),
      after: z.number().int().optional().describe('version of the previous result'),
      seconds: z.number().min(1).max(MAX_WATCH_SECONDS).optional().describe('maximum time to wait; default: 60'),
    }),
    output: z.object({
      version: z.number().int(),
      changed: z.boolean().describe('false after the maximum time'),
      content: z.string(),
      success: z.literal(true),
    }),
    effect: 'read',
    approval: 'policy',
    permissions: ({ server, uri }) => [`mcp-resource:${server} ${uri}`],
    async execute({ server, uri, after, seconds = 60 }, { signal }) {
      const { resources } = find(servers, server);
      const limited = limitedSignal(seconds * 1_000, signal);
      const version = await resources.version(uri, after, limited).catch((error: unknown) => {
        if (limited.aborted && !signal.aborted && after !== undefined) return after;
        throw error;
      });
      const changed = version !== after;
      return { version, changed, content: changed ? 'changed' : 'unchanged', success: true as const };
    },
  });
}

/** The servers that declare resources, except those that cannot be reached. */
function withResources(servers: Servers): McpServer[] {
  return [...servers.values()].filter(
    ({ hasResources, connection: { client, state } }) => hasResources && (client !== undefined || state === 'idle'),
  );
}

function resourceEntries(item: unknown, server: string): Record<string, unknown>[] {
  return typeof item === 'object' && item !== null && !Array.isArray(item) ? [{ ...item, server }] : [];
}

function find(servers: Servers, name: string): McpServer {
  const server = servers.get(name);
  if (server !== undefined) return server;
  throw failure(`There is no MCP server "${name}". The servers are: ${[...servers.keys()].join(', ') || 'none'}.`);
}

function failure(message: string): ToolCallError {
  return new ToolCallError('ToolExecutionError', message);
}
