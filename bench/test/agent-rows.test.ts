import { createHarness } from '@toolscript/core';
import { runAgent } from '@toolscript/core/agent';
import { startScriptedServer } from '@toolscript/core/providers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { APIS } from '../agent/apis.mjs';
import { heardProvider } from '../agent/heard-provider.mjs';
import { recordModel } from '../agent/replayed-model.mjs';
import { alternate } from '../measure.mjs';

const TURNS = [{ parts: [{ type: 'script', code: 'return 1 + 1' }] }, { parts: [{ type: 'text', text: 'It is 2.' }] }];

function openHarness() {
  const harness = createHarness({ tools: [] });
  onTestFinished(() => harness.close());
  return harness;
}

async function textOf(provider: any, harness: ReturnType<typeof openHarness>) {
  let text = '';
  for await (const { payload } of runAgent({
    provider,
    harness,
    agent: { slug: 'bench' },
    input: 'Go.',
    threadId: 't',
  })) {
    if (payload.type === 'item_delta') text += payload.delta;
    if (payload.type === 'response_done') text += ` ${payload.status}`;
  }
  return text;
}

describe.each(APIS)('$api', ({ api }) => {
  it('a recorded model plays the same run on every request', async () => {
    const harness = openHarness();
    const first: string[] = [];
    const makeProvider = await recordModel(api, { turns: TURNS }, async (provider) => {
      first.push(await textOf(provider, harness));
    });
    expect(first[0]).toMatch(/It is 2\. completed$/u);
    expect(await textOf(makeProvider(), harness)).toBe(first[0]);
    expect(await textOf(makeProvider(), harness)).toBe(first[0]);
  });

  it('a run that ends before its scenario is reported', async () => {
    await expect(recordModel(api, { turns: TURNS }, async () => {})).rejects.toThrow('the run ended early');
  });

  it('the bytes of an answer arrive before its events', async () => {
    const server = await startScriptedServer({ turns: [{ parts: [{ type: 'text', text: 'It is 2.' }] }] });
    onTestFinished(() => server.close());
    const heard: string[] = [];
    const provider = heardProvider(api, server.baseUrl, (text: string) => heard.push(text));
    let heardFirst = 0;
    for await (const event of provider.stream({
      conversation: [{ type: 'message', id: 'm', role: 'user', content: 'Go.' }],
    })) {
      if (event.type === 'item_delta' && event.delta !== '')
        heardFirst ||= heard.join('').includes('It is 2.') ? 1 : -1;
    }
    expect(heardFirst).toBe(1);
  });
});

it('a budget can limit the 99th percentile', async () => {
  const samples = Array.from({ length: 100 }, (_, index) => (index > 90 ? 9 : 1));
  const entry = { name: 'toolscript', role: 'ours' as const, block: () => samples };
  const row = { name: 'row', title: 'a row', unit: 'ms', better: 'lower' as const, limit: 5 };
  expect((await alternate(row, [entry], 2)).budget).toEqual({ limit: 5, holds: true });
  expect((await alternate({ ...row, limitOf: 'p99' as const }, [entry], 2)).budget).toEqual({ limit: 5, holds: false });
});
