import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createHarness,
  defineTool,
  listScripts,
  memoryStore,
  pruneScripts,
  type Harness,
  type KeptScript,
} from '@toolscript/core';
import { createGateway } from '#mcp/index.js';
import { until } from '@toolscript/testkit/until';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { connectGateway } from './support/gateway-client.js';

const asks = defineTool({
  name: 'asks',
  description: 'Needs a decision',
  effect: 'write',
  approval: 'always',
  input: z.object({}),
  execute: async () => 'done',
});

/** The threads of all sessions. */
const ALL = { prefix: 'mcp_', before: Number.MAX_SAFE_INTEGER };

function openHarness(scripts: 'separate' | 'one-program', store = memoryStore()): Harness {
  const harness = createHarness({ tools: [asks], scripts, store });
  onTestFinished(() => harness.close());
  return harness;
}

async function connect(harness: Harness) {
  const { client, call } = await connectGateway({ harness });
  return { client, call, run: (code: string, session?: string) => call('run_script', { code, session }) };
}

/** A client of a gateway over HTTP. `close` closes the gateway. */
async function connectHttp(harness: Harness) {
  const http = createGateway({ harness }).serveHttp();
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
    fetch: (url, init) => http.fetch(new Request(url, init)),
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  const call = (input: object) => client.callTool({ name: 'run_script', arguments: { ...input } });
  return { call, close: () => http.close() };
}

describe('scripts of a session', () => {
  it('share their variables, and both parts of the result name them', async () => {
    const { run } = await connect(openHarness('one-program'));
    const first = await run('let rows = [1, 2];\nreturn rows.length', 'data');
    expect(first).toMatchObject({ value: 2, inScope: ['rows: number[]'] });
    expect(first.text).toContain('In scope for your next script: rows: number[]');
    expect((await run('rows.push(3); return rows', 'data')).value).toEqual([1, 2, 3]);
    for (const session of ['other', undefined])
      expect((await run('return typeof rows', session)).value).toBe('undefined');
    expect((await run('return rows.length', 'data')).value).toBe(3);
  });

  it('share nothing with a session of the same name in another gateway', async () => {
    const harness = openHarness('one-program');
    const [one, other] = [await connect(harness), await connect(harness)];
    await one.run('let n = 1;\nreturn n', 'data');
    expect((await other.run('let n = 5;\nreturn n', 'data')).value).toBe(5);
    expect((await one.run('n += 1; return n', 'data')).value).toBe(2);
  });

  it('keep the variables of a script that waited for a decision', async () => {
    const harness = openHarness('one-program');
    const { run, call } = await connect(harness);
    const { scriptId } = await run('let n = 1;\nawait tools.asks({});\nn += 1; return n', 'data');
    const [{ approvalId } = { approvalId: '' }] = (await harness.inspect(scriptId))?.pendingApprovals ?? [];
    expect(await harness.decide(scriptId, { [approvalId]: 'approve' })).toMatchObject({ ok: true });
    expect((await call('resume_script', { scriptId })).value).toBe(2);
    expect((await run('return n', 'data')).value).toBe(2);
  });

  it('that ran side by side: one keeps its variables, and the other reads that its own are lost', async () => {
    const { run } = await connect(openHarness('one-program'));
    await run('let n = 0;\nreturn n', 'data');
    const both = await Promise.all([1, 2].map((by) => run(`n += ${by}; return n`, 'data')));
    expect(both.map(({ value }) => value)).toEqual([1, 2]);
    expect(both.filter(({ text }) => text.includes('Later scripts cannot use the variables'))).toHaveLength(1);
    expect([1, 2]).toContain((await run('return n', 'data')).value);
  });

  it('are offered only by a harness whose scripts can share their variables', async () => {
    for (const [scripts, names] of [
      ['one-program', ['code', 'session']],
      ['separate', ['code']],
    ] as const) {
      const { client } = await connect(openHarness(scripts));
      const tool = (await client.listTools()).tools.find(({ name }) => name === 'run_script')!;
      expect(Object.keys(tool.inputSchema.properties ?? {})).toEqual(names);
    }
  });
});

describe('the variables of a session', () => {
  it('are deleted when too many later sessions were used, and those of other sessions stay', async () => {
    const store = memoryStore();
    const { run } = await connect(openHarness('one-program', store));
    await run('let n = 1;\nreturn n', 'first');
    const [first] = await store.heaps!.oldThreads(ALL);
    await run('let n = 2;\nreturn n', 'second');
    for (let index = 0; index < 49; index += 1) await run('return 1', `later_${index}`);
    await until(async () => !(await store.heaps!.oldThreads(ALL)).includes(first!));
    expect((await run('return n', 'second')).value).toBe(2);
    expect((await run('return typeof n', 'first')).value).toBe('undefined');
  });

  it('are deleted at the close of the gateway, unless a suspended script needs them: it resumes with them', async () => {
    const store = memoryStore();
    const harness = openHarness('one-program', store);
    const { call, close } = await connectHttp(harness);
    await call({ code: 'let n = 1;\nreturn n', session: 'data' });
    await call({ code: 'let n = 1;\nreturn n', session: 'other' });
    await call({ code: 'await tools.asks({});\nn += 1;\nreturn n', session: 'data' });
    const lasting = await connect(harness);
    await lasting.run('let n = 3;\nreturn n', 'data');
    expect(await store.heaps!.oldThreads(ALL)).toHaveLength(3);
    await close();
    expect(await store.heaps!.oldThreads(ALL)).toHaveLength(2);
    expect((await lasting.run('return n', 'data')).value).toBe(3);
    const [{ scriptId, approvals }] = (await listScripts(store, { state: 'suspended' })) as [KeptScript];
    const outcome = await harness.resume(scriptId, { [approvals[0]!.approvalId]: 'approve' });
    expect(outcome).toMatchObject({ status: 'completed', value: 2 });
  });

  it('of a gateway that was killed are deleted with old scripts', async () => {
    const store = memoryStore();
    const { run } = await connect(openHarness('one-program', store));
    await run('let n = 1;\nreturn n', 'data');
    await pruneScripts(store);
    expect(await store.heaps!.oldThreads(ALL)).toHaveLength(1);
    await pruneScripts(store, { nowMs: Date.now() + 31 * 86_400_000 });
    expect(await store.heaps!.oldThreads(ALL)).toEqual([]);
  });
});
