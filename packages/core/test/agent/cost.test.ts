import { describe, expect, it } from 'vitest';
import { usageCost, defineAgent } from '#core/agent/index.js';

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

  it('is computed without a total too', () => {
    expect(usageCost({ input_tokens: 10, output_tokens: 1 }, prices)).toBeCloseTo(20 / 1e6, 12);
  });

  it('is needed for a budget', () => {
    expect(() => defineAgent({ slug: 'a', costBudget: 1 })).toThrow('costBudget needs prices');
  });
});
