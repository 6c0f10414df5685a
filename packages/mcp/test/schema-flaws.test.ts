import { createHarness, type Harness } from '@toolscript/core';
import { connectMcpServers, type McpServers } from '#mcp/index.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer } from './support/open.js';

let harness: Harness;
let mcp: McpServers;
beforeAll(async () => {
  mcp = await connectMcpServers({ mcpServers: { server: hostileServer('flaws') } });
  harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
  mcp.attach(harness);
});
afterAll(() => Promise.all([harness.close(), mcp.close()]));

describe('one wrong part of a schema', () => {
  it('costs no tool', () => {
    const [status] = mcp.status();
    expect(status!.skipped).toEqual([]);
    expect(status!.tools).toHaveLength(13);
  });

  it.each([
    'list_of_properties',
    'null_required',
    'null_schema',
    'text_schema',
    'dangling',
    'remote',
    'own_id',
    'own_ref',
    'any',
    'int',
    'file',
    'capitals',
  ])('%s: the tool is called with every argument, and its declaration agrees', async (name) => {
    const outcome = await harness.runScript(`return await tools.mcp.server.${name}({ a: 'x' })`);
    expect(outcome).toMatchObject({ status: 'completed', value: { input: { a: 'x' } } });
  });

  it.each(['dangling', 'remote', 'own_id', 'own_ref', 'any', 'int', 'file', 'capitals'])(
    '%s: the other parts are still checked',
    async (name) => {
      const outcome = await harness.runScript(`return await tools.mcp.server.${name}({ a: 'x', b: 7 })`);
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError' }, operations: [] });
    },
  );

  it('is named in the status, unless nothing was lost', () => {
    const notes = Object.fromEntries(mcp.status()[0]!.notes.map(({ name, notes: [note] }) => [name, note]));
    expect(notes).toMatchObject({
      list_of_properties: '#/properties: must be an object of schemas. It is not checked.',
      null_required: '#/required: must be a list of names. It is not checked.',
      dangling: expect.stringMatching(/^#\/properties\/a\/\$ref: the schema has nothing.* It is not checked\.$/u),
      remote: expect.stringMatching(/^#\/properties\/a\/\$ref: points outside/u),
      own_ref: expect.stringMatching(/^#\/\$defs\/.*\$ref: leads back to itself/u),
      int: expect.stringMatching(/^#\/properties\/a\/type: is not a JSON type/u),
    });
    expect(notes).not.toHaveProperty('own_id');
  });
});
