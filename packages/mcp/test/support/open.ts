import { join } from 'node:path';
import { createHarness, type Harness, type HarnessOptions, type Outcome, type ScriptFailure } from '@toolscript/core';
import { connectMcpServers, type McpOptions, type McpServers } from '#mcp/index.js';
import { expect, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';

/** Servers that are ended when the test has ended. */
export async function openServers(servers: Record<string, unknown>, options: McpOptions = {}): Promise<McpServers> {
  const mcp = await connectMcpServers({ mcpServers: servers }, options);
  onTestFinished(() => mcp.close());
  return mcp;
}

/** A harness with the tools of the servers, closed when the test has ended. */
export function attachedHarness(mcp: McpServers, options: Partial<HarnessOptions> = {}): Harness {
  const harness = createHarness({
    ...sharedThreads(),
    tools: [],
    expose: { mcp: true },
    approvals: 'auto',
    ...options,
  });
  onTestFinished(() => harness.close());
  mcp.attach(harness);
  return harness;
}

/** The value of a script that must have completed. */
export function valueOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed')
    expect.fail(JSON.stringify(outcome.status === 'failed' ? outcome.error : outcome.status));
  return outcome.value;
}

/** The failure of a script that must have failed. */
export function failureOf(outcome: Outcome): ScriptFailure {
  if (outcome.status !== 'failed') expect.fail(JSON.stringify(outcome));
  return outcome.error;
}

/** Resolves when the tools of the harness change. */
export async function nextTools(harness: Harness): Promise<void> {
  const before = harness.tools();
  await until(() => harness.tools() !== before);
}

/** A server that breaks the protocol in the ways of `fixtures/hostile-server.mjs`. */
export const hostileServer = (behaviour: string, env: Record<string, string> = {}) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/hostile-server.mjs'), behaviour],
  env,
});
