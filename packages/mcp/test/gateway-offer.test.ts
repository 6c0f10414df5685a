import { createHarness, defineTool } from '@toolscript/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectGateway } from './support/gateway-client.js';

const look = defineTool(
  { name: 'mcp.shop.look', description: 'Looks', inputSchema: { type: 'object' }, execute: () => 'tea' },
  { namespace: 'mcp' },
);

describe('a gateway with the offer of an earlier one', () => {
  it('shows it until tools are needed, and what there is from then on', async () => {
    const harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
    onTestFinished(() => harness.close());
    const offer = { description: 'Runs scripts', instructions: 'Write scripts', namespaces: ['mcp.shop'] };
    let added = 0;
    const ready = async () => {
      if (added === 0) harness.tools.replace([], [look]);
      added += 1;
    };
    const { client, call, gateway } = await connectGateway({ harness, offer, ready });
    const description = async () => (await client.listTools()).tools[0]!.description;
    expect(client.getInstructions()).toBe('Write scripts');
    expect(await description()).toBe('Runs scripts');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('toolscript://declarations/mcp.shop');
    expect(added).toBe(0);
    const { contents } = await client.readResource({ uri: 'toolscript://declarations/mcp.shop' });
    expect(contents).toMatchObject([{ text: expect.stringContaining('look') }]);
    expect(await call('run_script', { code: 'return tools.mcp.shop.look({})' })).toMatchObject({ value: 'tea' });
    const now = gateway.refresh();
    expect(now).toMatchObject({ namespaces: ['mcp.shop'], description: expect.stringContaining('look(') });
  });
});
