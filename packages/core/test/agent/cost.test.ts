import { describe, expect, it } from 'vitest';
import { defaultAgents, defineAgent, runAgent, usageCost, type AgentInput } from '#core/agent/index.js';
import { addUsage } from '#core/agent/run-account.js';
import type { EventPayload } from '#core/protocol/index.js';
import { scriptedModel, type Scenario } from '#core/providers/index.js';
import { openWorld } from './running.js';

const prices = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 };

describe('the cost of tokens', () => {
  it('is the same for a format that counts the cache as input and for one that does not', () => {
    const inside = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100, cache_read_tokens: 400 };
    const beside = { input_tokens: 600, output_tokens: 100, total_tokens: 1_100, cache_read_tokens: 400 };
    expect(usageCost(inside, prices)).toBeCloseTo((600 + 40 + 1_000) / 1e6, 12);
    expect(usageCost(beside, prices)).toBeCloseTo(usageCost(inside, prices), 12);
  });

  it('counts cache writes, at the price of input unless another price is set', () => {
    const usage = {
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 300,
      cache_write_tokens: 100,
      cache_read_tokens: 200,
    };
    expect(usageCost(usage, prices)).toBeCloseTo((125 + 20) / 1e6, 12);
    expect(usageCost(usage, { input: 1, output: 10 })).toBeCloseTo(300 / 1e6, 12);
  });

  it('counts reasoning that a server reports separately, and not reasoning inside the output', () => {
    const beside = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_400, reasoning_tokens: 300 };
    expect(usageCost(beside, prices)).toBeCloseTo((1_000 + 4_000) / 1e6, 12);
    expect(usageCost({ ...beside, cache_read_tokens: 200 }, prices)).toBeCloseTo((800 + 20 + 4_000) / 1e6, 12);
    const within = { input_tokens: 1_000, output_tokens: 400, total_tokens: 1_400, reasoning_tokens: 300 };
    expect(usageCost(within, prices)).toBeCloseTo((1_000 + 4_000) / 1e6, 12);
  });

  it('counts the tokens of other models at their own prices, also in a sum', () => {
    const advice = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 };
    const usage = { input_tokens: 3_000, output_tokens: 300, total_tokens: 3_300, by_model: { advisor: advice } };
    const dear = { ...prices, models: { advisor: { input: 5, output: 50 } } };
    const once = (2_000 + 2_000 + 5_000 + 5_000) / 1e6;
    expect(usageCost(usage, dear)).toBeCloseTo(once, 12);
    expect(usageCost(usage, prices)).toBeCloseTo((3_000 + 3_000) / 1e6, 12);
    expect(usageCost(addUsage(usage, usage)!, dear)).toBeCloseTo(2 * once, 12);
  });

  it('is computed without a total too', () => {
    expect(usageCost({ input_tokens: 10, output_tokens: 1 }, prices)).toBeCloseTo(20 / 1e6, 12);
  });

  it('is needed for a budget', () => {
    expect(() => defineAgent({ slug: 'a', costBudget: 1 })).toThrow('costBudget needs prices');
    const api = 'anthropic-messages';
    const provider = { api, model: 'claude-sonnet-5-5' };
    expect(defineAgent({ slug: 'a', costBudget: 1, provider }).costBudget).toBe(1);
    const unknown = { provider: scriptedModel({ turns: [] }, { api }), harness: openWorld().harness, input: 'Go' };
    expect(() => runAgent({ ...unknown, agent: { slug: 'a', costBudget: 1, provider } })).toThrow('costBudget needs');
  });
});

describe('a model with a published window and prices', () => {
  const usage = { input_tokens: 900_000, output_tokens: 1_000 };
  const played = async (agent: AgentInput) => {
    const turns: Scenario['turns'] = [
      { parts: [{ type: 'script', code: 'return 1' }], usage },
      { parts: [{ type: 'text', text: 'A summary.' }], usage },
      { parts: [{ type: 'text', text: 'Done.' }], begins_anew: true, usage },
    ];
    const provider = scriptedModel({ turns }, { api: 'anthropic-messages', model: 'claude-sonnet-5-5' });
    const payloads: EventPayload[] = [];
    const run = runAgent({ provider, harness: openWorld().harness, agent, input: 'Go' });
    for await (const { payload } of run) payloads.push(payload);
    expect(provider.violations).toEqual([]);
    return payloads;
  };

  it('gives its built-in agent a cost, and a summary before the window is full', async () => {
    const payloads = await played(defaultAgents().find(({ slug }) => slug === 'claude-sonnet')!);
    const done = payloads.filter(({ type }) => type === 'request_done');
    expect(done).toHaveLength(3);
    expect(done[0]).toMatchObject({ cost: usageCost(usage, { input: 2, output: 10 }) });
    expect(payloads.some((payload) => payload.type === 'item_start' && payload.item_type === 'compaction')).toBe(true);
  });

  it('gives them to no agent that sets its own', async () => {
    const payloads = await played({ slug: 'a', prices, contextWindow: 2_000_000 }).catch(() => []);
    expect(payloads.find(({ type }) => type === 'request_done')).toMatchObject({ cost: usageCost(usage, prices) });
    expect(payloads.some((payload) => payload.type === 'item_start' && payload.item_type === 'compaction')).toBe(false);
  });
});
