import type { Harness } from '@toolscript/core';
import type { McpOptions } from '#mcp/index.js';
import { describe, expect, it } from 'vitest';
import { until } from '@toolscript/testkit/until';
import { attachedHarness, openServers, valueOf } from './support/open.js';
import { CoreTasks, ExtensionTasks } from './support/task-servers.js';

const RESULT = { content: [{ type: 'text', text: 'done' }] };
const CALL = 'return await tools.mcp.server.work({})';
const CAUGHT = `try { ${CALL} } catch (e) { return { message: e.message, reason: e.data.reason } }`;

async function harnessOf(url: string, options: McpOptions = {}, entry: object = {}): Promise<Harness> {
  const reconnect = { firstDelayMs: 1, attempts: 3 };
  return attachedHarness(await openServers({ server: { url, ...entry } }, { reconnect, ...options }));
}

describe('a call that its server turns into a task', () => {
  async function open(options: McpOptions = {}, entry: object = {}) {
    const server = new ExtensionTasks();
    const { url, requests } = await server.listen();
    return { server, requests, harness: await harnessOf(url, options, entry) };
  }

  it('resolves with the result of the task, with every detail, and tells its progress', async () => {
    const { server, harness } = await open();
    const told: string[] = [];
    const running = harness.runScript(CALL, {
      onEvent: ({ payload }) => void (payload.type === 'script_progress' && told.push(payload.message)),
    });
    await server.looked();
    server.report({ statusMessage: 'half' });
    await until(() => told.length > 0);
    server.report({
      status: 'completed',
      result: { content: [], structuredContent: { id: 1, _meta: null }, isError: null },
    });
    expect(valueOf(await running)).toEqual({ id: 1, _meta: null });
    expect(told).toEqual(['half']);
    expect(server.started).toBe(1);
  });

  it.each([
    ['fails', { status: 'failed', error: { code: -32_603, message: 'no space' } }, 'failed', 'no space'],
    ['is cancelled', { status: 'cancelled', statusMessage: 'by an operator' }, 'cancelled', 'by an operator'],
  ])('%s: the error says so, and that the call may have taken effect', async (_name, report, reason, why) => {
    const { server, harness } = await open();
    const running = harness.runScript(CAUGHT);
    await server.looked();
    server.report(report);
    expect(valueOf(await running)).toEqual({ reason, message: expect.stringContaining(why) });
    expect(valueOf(await running)).toMatchObject({ message: expect.stringContaining('before you repeat the call') });
  });

  it('fails like any call if its result is an error', async () => {
    const { server, harness } = await open();
    const running = harness.runScript(`try { ${CALL} } catch (e) { return e.message }`);
    await server.looked();
    server.report({ status: 'completed', result: { ...RESULT, isError: true } });
    expect(valueOf(await running)).toContain('done');
  });

  it('is cancelled with its script', async () => {
    const { server, harness } = await open();
    const stop = new AbortController();
    const running = harness.runScript(CALL, { signal: stop.signal });
    await server.looked();
    stop.abort();
    expect((await running).status).toBe('failed');
    await until(() => server.times('tasks/cancel') === 1);
  });

  it('is cancelled after the time limit without news', async () => {
    const { server, harness } = await open({}, { callTimeoutMs: 300 });
    expect(valueOf(await harness.runScript(CAUGHT))).toMatchObject({ reason: 'timeout' });
    await until(() => server.times('tasks/cancel') === 1);
  });

  it('asks the user each question once', async () => {
    const asked: unknown[] = [];
    const { server, harness } = await open({
      onElicitation: async ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { name: 'Ada' } };
      },
    });
    const running = harness.runScript(CALL);
    await server.looked();
    const params = {
      mode: 'form',
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    };
    server.report({ status: 'input_required', inputRequests: { who: { method: 'elicitation/create', params } } });
    await until(() => server.times('tasks/update') === 1);
    await server.looked(server.times('tasks/get') + 2);
    server.report({ status: 'completed', result: RESULT });
    expect(valueOf(await running)).toBe('done');
    expect(asked).toEqual(['Who?']);
    const [update] = server.asked.filter(({ method }) => method === 'tasks/update');
    expect(update!.params['inputResponses']).toEqual({ who: { action: 'accept', content: { name: 'Ada' } } });
  });

  it('is cancelled if it asks a question that nobody can answer', async () => {
    const { server, harness } = await open();
    const running = harness.runScript(CAUGHT);
    await server.looked();
    server.report({ status: 'input_required', inputRequests: { who: { method: 'elicitation/create', params: {} } } });
    expect(valueOf(await running)).toMatchObject({ reason: 'unanswered', message: expect.stringContaining('No user') });
    await until(() => server.times('tasks/cancel') === 1);
  });

  it('says that its end is unknown if the server forgets it', async () => {
    const { server, harness } = await open();
    const running = harness.runScript(CAUGHT);
    await server.looked();
    server.forget();
    expect(valueOf(await running)).toMatchObject({
      reason: 'lost',
      message: expect.stringContaining('Task not found'),
    });
  });
});

describe('the features of a server besides tools', () => {
  it('is part of its status', async () => {
    const [core, extension] = await Promise.all([new CoreTasks().listen(), new ExtensionTasks().listen()]);
    const mcp = await openServers({ core: { url: core.url }, extension: { url: extension.url } });
    expect(mcp.status()).toMatchObject([{ supports: ['tasks'] }, { supports: ['tasks'] }]);
  });
});

describe('a tool that requires a task', () => {
  async function open(work: CoreTasks['work'], options: McpOptions = {}) {
    const server = new CoreTasks();
    server.work = work;
    const { url } = await server.listen();
    return { server, harness: await harnessOf(url, options) };
  }

  it('is called as a task, and the call resolves with its result', async () => {
    const { server, harness } = await open((id) => server.store.storeTaskResult(id, 'completed', RESULT as never));
    expect(valueOf(await harness.runScript(CALL))).toBe('done');
    expect(server.tasks).toHaveLength(1);
  });

  it('fails with the reason of the task', async () => {
    const failed = { content: [{ type: 'text', text: 'no space' }] };
    const { server, harness } = await open((id) => server.store.storeTaskResult(id, 'failed', failed as never));
    expect(valueOf(await harness.runScript(`try { ${CALL} } catch (e) { return e.message }`))).toContain('no space');
  });

  it('is looked up again after its session is lost, and runs once', async () => {
    let finish = () => {};
    const { server, harness } = await open(async (id) => {
      await new Promise<void>((resolve) => (finish = resolve));
      await server.store.storeTaskResult(id, 'completed', RESULT as never);
    });
    const running = harness.runScript(CALL);
    await until(() => server.tasks.length === 1);
    server.forgetSessions();
    finish();
    expect(valueOf(await running)).toBe('done');
    expect(server.tasks).toHaveLength(1);
  });

  it('is cancelled with its script', async () => {
    const { server, harness } = await open(async () => {});
    const stop = new AbortController();
    const running = harness.runScript(CALL, { signal: stop.signal });
    await until(() => server.tasks.length === 1);
    stop.abort();
    await running;
    await expect.poll(async () => (await server.store.getTask(server.tasks[0]!))?.status).toBe('cancelled');
  });
});
