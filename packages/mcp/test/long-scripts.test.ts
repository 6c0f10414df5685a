import { createHarness, memoryStore, type Tool } from '@toolscript/core';
import type { HarnessStore } from '@toolscript/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { connectGateway } from './support/gateway-client.js';
import { world } from './support/long-tools.js';

async function connect(tools: readonly Tool[], yieldAfterMs: number, store?: HarnessStore) {
  const harness = createHarness({ tools, typecheck: 'off', ...sharedThreads(), store });
  onTestFinished(() => harness.close());
  const { call } = await connectGateway({ harness, yieldAfterMs });
  return { harness, call };
}

const LONG = `await tools.mark({ text: 'a' }); text('half'); return await tools.hold()`;

describe('a script that outlives a call', () => {
  it('answers with its id, and wait_script with its end, as often as it is asked', async () => {
    const { tools, release, arrived } = world();
    const { call } = await connect(tools, 1);
    const { scriptId, data, text } = await call('run_script', { code: LONG });
    expect(data).toMatchObject({ status: 'running', next: expect.stringContaining('wait_script') });
    expect(text).toContain(`call wait_script with { "scriptId": "${scriptId}" }`.replace('call', 'Call'));
    await arrived;
    const still = await call('wait_script', { scriptId });
    expect(still.data).toMatchObject({ status: 'running', operations: [{ tool: 'mark' }, { tool: 'hold' }] });
    expect(still.text).toContain('still runs');
    release();
    await expect.poll(async () => (await call('wait_script', { scriptId })).status).toBe('completed');
    for (const name of ['wait_script', 'cancel_script'])
      expect((await call(name, { scriptId })).data).toMatchObject({ value: 'released', output: 'half' });
  });

  it('is ended by cancel_script, which reports what it has done', async () => {
    const { tools, arrived } = world();
    const { call } = await connect(tools, 1);
    const { scriptId } = await call('run_script', { code: LONG });
    await arrived;
    const end = {
      status: 'failed',
      error: { code: 'ScriptCancelledError' },
      operations: [{ status: 'completed' }, {}],
    };
    expect((await call('cancel_script', { scriptId })).data).toMatchObject(end);
    expect((await call('wait_script', { scriptId })).data).toMatchObject(end);
  });

  it('waits for a decision, and wait_script answers the call that needs it', async () => {
    const { tools, release, arrived } = world();
    const { call } = await connect(tools, 1, memoryStore());
    const { scriptId } = await call('run_script', { code: 'await tools.hold(); return await tools.asks()' });
    await arrived;
    release();
    await expect.poll(async () => (await call('wait_script', { scriptId })).status).toBe('suspended');
    expect((await call('wait_script', { scriptId })).text).toContain('resume_script');
  });

  it('continues in another gateway after its own has ended', async () => {
    const store = memoryStore();
    const first = world();
    const old = await connect(first.tools, 1, store);
    const { scriptId } = await old.call('run_script', { code: LONG });
    await first.arrived;
    await old.harness.close();
    const second = world();
    const { call } = await connect(second.tools, 1, store);
    expect((await call('wait_script', { scriptId })).status).toBe('running');
    await second.arrived;
    second.release();
    await expect.poll(async () => (await call('wait_script', { scriptId })).status).toBe('completed');
    expect([first.effects, second.effects]).toEqual([['a'], []]);
  });

  it('is not found under a wrong id', async () => {
    const { call } = await connect([], 1);
    for (const name of ['wait_script', 'cancel_script'])
      expect((await call(name, { scriptId: 'scr_none' })).data).toMatchObject({
        status: 'failed',
        error: { code: 'ScriptNotFoundError' },
      });
  });
});

describe('a call whose client stops waiting', () => {
  it('has not cancelled its script if the client’s time was over, and the next call says so', async () => {
    const { tools, release, arrived, effects } = world();
    const { call } = await connect(tools, 600_000);
    const lost = call('run_script', { code: LONG }, { timeout: 600_000, signal: timedOutAfter(arrived) });
    await expect(lost).rejects.toThrow();
    const { text } = await call('search_tools', { query: 'mark' });
    expect(text).toMatch(/its script scr_\w+ still runs\. Its calls: mark completed, hold unknown\..*wait_script/su);
    const [, scriptId = ''] = /"scriptId": "(\w+)"/u.exec(text) ?? [];
    expect((await call('search_tools', { query: 'mark' })).text).not.toContain('earlier call');
    release();
    expect((await call('wait_script', { scriptId })).data).toMatchObject({ value: 'released' });
    expect(effects).toEqual(['a']);
  });

  it('has cancelled its script otherwise, and the next call says what it did', async () => {
    const { tools, arrived } = world();
    const { call } = await connect(tools, 600_000);
    const stop = new AbortController();
    const lost = call('run_script', { code: LONG }, { signal: stop.signal });
    await arrived;
    stop.abort('the user pressed Escape');
    await expect(lost).rejects.toThrow();
    const next = await call('run_script', { code: 'return 1' });
    expect(next.text).toMatch(/status failed \(ScriptCancelledError\)\. Its calls: mark completed, hold aborted/u);
    expect(next.data.earlier).toEqual([expect.stringContaining('mark completed')]);
  });
});

/** Aborts with the reason that the SDK gives when the time of a request is over. */
function timedOutAfter(moment: Promise<void>): AbortSignal {
  const controller = new AbortController();
  void moment.then(() => controller.abort('McpError: MCP error -32001: Request timed out'));
  return controller.signal;
}
