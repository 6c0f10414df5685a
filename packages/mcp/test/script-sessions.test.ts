import { createHarness, defineTool, memoryStore, type Harness } from '@toolscript/core';
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

function openHarness(scripts: 'separate' | 'one-program'): Harness {
  const harness = createHarness({ tools: [asks], scripts, store: memoryStore() });
  onTestFinished(() => harness.close());
  return harness;
}

async function connect(harness: Harness) {
  const { client, call } = await connectGateway({ harness });
  return { client, call, run: (code: string, session?: string) => call('run_script', { code, session }) };
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
