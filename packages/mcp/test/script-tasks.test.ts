import { InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as CoreClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createHarness, memoryStore, type Tool } from '@toolscript/core';
import { createGateway, type Gateway, type McpOptions } from '#mcp/index.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { listenNewest } from './support/http-servers.js';
import { world } from './support/long-tools.js';
import { attachedHarness, openServers, valueOf } from './support/open.js';

const LONG = `await tools.mark({ text: 'a' }); return await tools.hold()`;
const ASKS = `await tools.hold(); return await tools.asks()`;

function gatewayOver(tools: readonly Tool[]): Gateway {
  const inner = createHarness({ tools, typecheck: 'off', ...sharedThreads(), store: memoryStore() });
  onTestFinished(() => inner.close());
  return createGateway({ harness: inner, yieldAfterMs: 1, instantMs: 0, resumeWaitMs: 0 });
}

describe('a client with the extension of 2026-07-28', () => {
  /** Runs a script at the gateway through a harness that has it as an MCP server. */
  async function open(tools: readonly Tool[], options: McpOptions = {}) {
    const gateway = gatewayOver(tools);
    const { url } = await listenNewest(gateway.server);
    const outer = attachedHarness(await openServers({ gateway: { url } }, options));
    const run = (code: string, signal?: AbortSignal) =>
      outer.runScript(`return await tools.mcp.gateway.run_script({ code: ${JSON.stringify(code)} })`, { signal });
    return { run };
  }

  it('gets the result of a script that outlives a call', async () => {
    const { tools, release, arrived, effects } = world();
    const { run } = await open(tools);
    const running = run(LONG);
    await arrived;
    release();
    expect(valueOf(await running)).toMatchObject({ status: 'completed', value: 'released' });
    expect(effects).toEqual(['a']);
  });

  it('decides for its user while the task waits', async () => {
    const { tools, release, arrived } = world();
    const { run } = await open(tools, {
      onElicitation: async () => ({ action: 'accept', content: { decision: 'approve' } }),
    });
    const running = run(ASKS);
    await arrived;
    release();
    expect(valueOf(await running)).toMatchObject({ status: 'completed', value: 'asked' });
  });

  it.each<[string, McpOptions]>([
    ['has no user', {}],
    ['has a user who dismisses the question', { onElicitation: async () => ({ action: 'cancel' }) }],
  ])('that %s gets the suspended script with the way to decide', async (_name, options) => {
    const { tools, release, arrived } = world();
    const { run } = await open(tools, options);
    const running = run(ASKS);
    await arrived;
    release();
    expect(valueOf(await running)).toMatchObject({
      status: 'suspended',
      next: expect.stringContaining('resume_script'),
    });
  });

  it('cancels the script with its task', async () => {
    const { tools, arrived, aborted, effects } = world();
    const { run } = await open(tools);
    const stop = new AbortController();
    const running = run(LONG, stop.signal);
    await arrived;
    stop.abort();
    await running;
    await aborted;
    expect(effects).toEqual(['a']);
  });
});

describe('a client with the tasks of 2025-11-25', () => {
  async function open(tools: readonly Tool[]) {
    const gateway = gatewayOver(tools);
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await gateway.server().connect(theirs);
    const client = new CoreClient({ name: 'core', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { decision: 'approve' } }));
    await client.connect(ours as never);
    onTestFinished(() => client.close());
    return { client, tasks: client.experimental.tasks };
  }

  it('learns that run_script may be a task, and gets its result', async () => {
    const { tools, release, arrived } = world();
    const { client, tasks } = await open(tools);
    const listed = await client.listTools();
    expect(listed.tools.find(({ name }) => name === 'run_script')?.execution).toEqual({ taskSupport: 'optional' });
    const types: string[] = [];
    let result: unknown;
    const stream = tasks.callToolStream({ name: 'run_script', arguments: { code: ASKS } }, undefined, { task: {} });
    for await (const message of stream) {
      if (types.at(-1) !== message.type) types.push(message.type);
      if (message.type === 'taskCreated') void arrived.then(release);
      if (message.type === 'result') result = message.result;
      if (message.type === 'error') throw message.error;
    }
    expect(types).toEqual(['taskCreated', 'taskStatus', 'result']);
    expect(result).toMatchObject({ structuredContent: { status: 'completed', value: 'asked' } });
  });

  it('cancels the script, and the task says what it has done', async () => {
    const { tools, arrived } = world();
    const { tasks } = await open(tools);
    const stream = tasks.callToolStream({ name: 'run_script', arguments: { code: LONG } }, undefined, { task: {} });
    const { value: created } = await stream.next();
    if (created?.type !== 'taskCreated') expect.fail(JSON.stringify(created));
    await arrived;
    const { taskId } = created.task;
    expect(await tasks.cancelTask(taskId)).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('mark completed'),
    });
    await expect(tasks.getTask('scr_none')).rejects.toThrow('Task not found');
    const { tasks: listed } = await tasks.listTasks();
    expect(listed).toMatchObject([{ taskId, status: 'cancelled' }]);
    await expect(tasks.listTasks('2')).rejects.toThrow('one page');
  });
});
