import { join } from 'node:path';
import { createHarness, type Harness } from '@toolscript/core';
import { connectMcpServers, type McpServers } from '#mcp/index.js';
import { acceptingLongIntegers } from '#mcp/tools/long-integers.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from './support/http-servers.js';
import { attachedHarness, openServers, valueOf } from './support/open.js';

const ID = '9007199254740993123';
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const SCHEMAS = {
  plain: object({ id: { ...integer, description: 'The id', minimum: 1 } }),
  deep: object(
    {
      ids: { type: 'array', items: { type: 'integer', format: 'int64' } },
      pair: { prefixItems: [integer, { type: 'string' }], type: 'array' },
      by: object({}, { additionalProperties: integer }),
      maybe: { anyOf: [integer, { type: 'null' }] },
      page: { anyOf: [object({ after: { type: ['integer', 'null'] } }), { type: 'null' }] },
      shared: { $ref: '#/$defs/Id' },
    },
    { $defs: { Id: integer } },
  ),
  words: object({
    text: { type: 'string' },
    either: { anyOf: [integer, { type: 'string' }] },
    one: { oneOf: [integer, { type: 'string' }] },
  }),
  short: object({
    limit: { type: 'integer', maximum: 100 },
    kind: { type: 'integer', enum: [1, 2] },
    size: { type: 'integer', format: 'int32' },
  }),
};

let harness: Harness;
let mcp: McpServers;
beforeAll(async () => {
  const args = [join(import.meta.dirname, 'fixtures/echo-server.mjs'), JSON.stringify(SCHEMAS)];
  mcp = await connectMcpServers({ mcpServers: { echo: { command: process.execPath, args } } });
  harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
  mcp.attach(harness);
});
afterAll(() => Promise.all([harness.close(), mcp.close()]));

/** The arguments of a call, as the JSON text that the server got. */
async function sent(tool: string, args: string): Promise<string> {
  const line = String(valueOf(await harness.runScript(`return await tools.mcp.echo.${tool}(${args})`)));
  return /"arguments":(\{.*?\})(?:,"_meta".*)?\}(?:,"jsonrpc.*)?\}?$/u.exec(line)?.[1] ?? line;
}

describe('an integer beyond 2^53 as the text of its digits', () => {
  it.each([
    ['plain', `{ id: '${ID}' }`, `{"id":${ID}}`],
    ['plain', `{ id: 7 }`, `{"id":7}`],
    ['deep', `{ ids: ['-${ID}', 5] }`, `{"ids":[-${ID},5]}`],
    ['deep', `{ pair: ['${ID}', '${ID}'] }`, `{"pair":[${ID},"${ID}"]}`],
    ['deep', `{ by: { a: '${ID}' } }`, `{"by":{"a":${ID}}}`],
    ['deep', `{ maybe: '${ID}' }`, `{"maybe":${ID}}`],
    ['deep', `{ page: { after: '${ID}' } }`, `{"page":{"after":${ID}}}`],
    ['deep', `{ shared: '${ID}' }`, `{"shared":${ID}}`],
    ['words', `{ text: '${ID}', either: '${ID}', one: '${ID}' }`, `{"text":"${ID}","either":"${ID}","one":"${ID}"}`],
  ])('reaches the tool %s exactly where its schema has an integer: %s', async (tool, args, json) => {
    expect(await sent(tool, args)).toBe(json);
  });

  it.each([
    ['plain', `{ id: 'seven' }`],
    ['plain', `{ id: '7' }`],
    ['short', `{ limit: '${ID}' }`],
    ['short', `{ kind: '${ID}' }`],
    ['short', `{ size: '${ID}' }`],
  ])('is refused before the run where it is none: %s(%s)', async (tool, args) => {
    const outcome = await harness.runScript(`return await tools.mcp.echo.${tool}(${args})`);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError' }, operations: [] });
  });

  it('is declared, and only there', () => {
    const declared = (name: string) => harness.catalog().describe(`mcp.echo.${name}`);
    expect(declared('plain')).toContain('id?: number | string');
    expect(declared('short')).not.toContain('string');
    expect(acceptingLongIntegers(SCHEMAS.short)).toBe(SCHEMAS.short);
  });

  it('reaches a server over HTTP', async () => {
    const bodies: string[] = [];
    const inputSchema = object({ id: integer });
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      },
      'tools/list': { tools: [{ name: 'get', inputSchema }] },
      'tools/call': { content: [] },
    };
    const url = await listen(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.method !== 'POST') return response.writeHead(405).end();
      const body = Buffer.concat(chunks).toString();
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      if (method === 'tools/call') bodies.push(body);
      if (id === undefined) return response.writeHead(202).end();
      const result = results[method];
      if (result === undefined) return response.writeHead(404).end();
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    const remote = attachedHarness(await openServers({ remote: { url } }));
    valueOf(await remote.runScript(`return tools.mcp.remote.get({ id: '${ID}' })`));
    expect(bodies).toEqual([expect.stringContaining(`"arguments":{"id":${ID}}`)]);
  });
});
