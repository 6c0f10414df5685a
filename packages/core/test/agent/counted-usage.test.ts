import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { type AgentInput, runAgent } from '#core/agent/index.js';
import type { EventPayload, ModelProvider, Usage } from '#core/protocol/index.js';
import { APIS, collectRun, openScene, openWorld, play, type Played } from './running.js';

const SCRIPT = { type: 'script' as const, code: "return await tools.note({ text: 'a' });" };
const USED = { input_tokens: 1000, output_tokens: 50 };
const TEXT: Partial<AgentInput> = { carrier: 'text', afterScript: 'stop' };
/** An answer that continues after its script, and does not end when it is aborted. */
const CUT = [SCRIPT, { type: 'text' as const, text: '\nAnd now I guess.' }, { type: 'wait' as const, ms: 60_000 }];
const PRICES = { input: 1000, output: 1000 };

const usageOf = ({ response }: Played): Usage => response.usage!;

describe.each(APIS)('%s', (api) => {
  test('an answer that ends with its script is counted as its provider counts it', async () => {
    const scene = await openScene(api, [
      { parts: [SCRIPT], usage: USED },
      { parts: [], usage: USED },
    ]);
    const usage = usageOf(await play(openWorld(), scene, TEXT));
    expect(usage).toMatchObject({ input_tokens: 2000, output_tokens: 100 });
    expect(usage.estimated).toBeUndefined();
  });

  test('an answer that is stopped at its script is estimated and marked', async () => {
    const scene = await openScene(api, [
      { parts: CUT, usage: USED },
      { parts: [], usage: USED },
    ]);
    const played = await play(openWorld(), scene, TEXT);
    const said = encode(SCRIPT.code).length;
    const sent = encode(JSON.stringify(scene.server.requests[0])).length;
    expect(usageOf(played).estimated).toBe(true);
    // The format Messages reports the input tokens before the answer begins.
    const least = api === 'anthropic-messages' ? USED.input_tokens : Math.floor(sent * 0.9);
    expect(usageOf(played).input_tokens).toBeGreaterThanOrEqual(USED.input_tokens + least);
    expect(usageOf(played).output_tokens).toBeGreaterThanOrEqual(USED.output_tokens + said);
    const updates = played.events.flatMap(({ payload }) => (payload.type === 'usage_update' ? [payload.usage] : []));
    expect(updates.some(({ estimated }) => estimated === true)).toBe(true);
    expect(updates.at(-1)).toEqual(usageOf(played));
  });

  test('an answer that does not end after its script is stopped', async () => {
    const parts = [SCRIPT, { type: 'wait' as const, ms: 60_000 }];
    const scene = await openScene(api, [{ parts, usage: USED }, { parts: [] }]);
    const played = await play(openWorld(), scene, TEXT);
    expect([played.response.status, usageOf(played).estimated]).toEqual(['completed', true]);
  });

  test('a budget ends the run even if every answer is stopped at its script', async () => {
    const endless = Array.from({ length: 6 }, () => ({ parts: CUT, usage: USED }));
    for (const budget of [{ tokenBudget: 1500 }, { costBudget: 1.5, prices: PRICES }]) {
      const scene = await openScene(api, endless);
      const { events } = await play(openWorld(), scene, { ...TEXT, ...budget });
      expect(events.at(-1)!.payload).toMatchObject({ status: 'incomplete' });
      expect(scene.server.requests.length).toBeLessThanOrEqual(2);
    }
  });

  test('an answer that breaks off is estimated', async () => {
    const parts = [{ type: 'text' as const, text: 'A story. '.repeat(50) }, { type: 'cut' as const }];
    const scene = await openScene(api, [{ parts, usage: USED }]);
    const usage = usageOf(await play(openWorld(), scene, {}));
    expect(usage.estimated).toBe(true);
    expect(usage.output_tokens).toBeGreaterThanOrEqual(encode('A story. '.repeat(50)).length);
  });
});

/** A provider that returns this text and these figures for each answer. */
function saying(text: string, usages: readonly Usage[]): ModelProvider {
  return {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream(): AsyncGenerator<EventPayload> {
      yield { type: 'response_start' };
      yield { type: 'item_start', item_id: 'item_1', item_type: 'message' };
      const item = { type: 'message', id: 'item_1', role: 'assistant', content: text } as const;
      yield { type: 'item_done', item_id: 'item_1', final_item: item };
      for (const usage of usages) yield { type: 'usage_update', usage };
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

const runWith = async (provider: ModelProvider) =>
  usageOf(await collectRun(runAgent({ provider, harness: openWorld().harness, agent: { slug: 'a' }, input: 'Go.' })));

test('a provider that never reports usage is estimated', async () => {
  const text = 'const answer = [1, 2, 3].map((value) => value * 2);\n'.repeat(20);
  const usage = await runWith(saying(text, []));
  expect(usage.estimated).toBe(true);
  expect(usage.output_tokens).toBeGreaterThanOrEqual(encode(text).length);
});

test('figures of a provider that reported to the end are exact', async () => {
  const usage = await runWith(saying('Said.', [{ input_tokens: 5, output_tokens: 1 }, USED]));
  expect(usage).toMatchObject(USED);
  expect(usage.estimated).toBeUndefined();
});
