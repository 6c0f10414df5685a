import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { createGateway, type GatewayOptions } from '#mcp/index.js';
import { onTestFinished } from 'vitest';

interface ScriptData {
  readonly scriptId: string;
  readonly status: string;
  readonly value?: unknown;
  readonly inScope?: string[];
  readonly earlier?: string[];
}

/** A client of a gateway in this process. `call` returns the members of a tool's data, the data, and its text. */
export async function connectGateway(options: GatewayOptions) {
  const gateway = createGateway({ resumeWaitMs: 0, ...options });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await gateway.server().connect(theirs);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(ours);
  onTestFinished(() => client.close());
  const call = async (name: string, input: object, callOptions: object = {}) => {
    const { content, structuredContent } = await client.callTool({ name, arguments: { ...input } }, callOptions);
    const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
    const data = (structuredContent ?? {}) as unknown as ScriptData;
    return { ...data, data, text };
  };
  return { gateway, client, call };
}
