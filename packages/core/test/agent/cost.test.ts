import { describe, expect, it } from 'vitest';
import { costOf, defineAgent } from '#core/agent/index.js';

const prices = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 };

describe('what tokens cost', () => {
  it('is the same for a format that counts the cache as input and for one that does not', () => {
    const inside = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100, cache_read_tokens: 400 };
    const beside = { input_tokens: 600, output_tokens: 100, total_tokens: 1_100, cache_read_tokens: 400 };
    expect(costOf(inside, prices)).toBeCloseTo((600 + 40 + 1_000) / 1e6, 12);
    expect(costOf(beside, prices)).toBeCloseTo(costOf(inside, prices), 12);
  });

  it('counts what is written to the cache, and takes the price of input where none is named', () => {
    const usage = {
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 300,
      cache_write_tokens: 100,
      cache_read_tokens: 200,
    };
    expect(costOf(usage, prices)).toBeCloseTo((125 + 20) / 1e6, 12);
    expect(costOf(usage, { input: 1, output: 10 })).toBeCloseTo(300 / 1e6, 12);
  });

  it('counts reasoning that a server counts beside the output, and not that which is part of it', () => {
    const beside = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_400, reasoning_tokens: 300 };
    expect(costOf(beside, prices)).toBeCloseTo((1_000 + 4_000) / 1e6, 12);
    expect(costOf({ ...beside, cache_read_tokens: 200 }, prices)).toBeCloseTo((800 + 20 + 4_000) / 1e6, 12);
    const within = { input_tokens: 1_000, output_tokens: 400, total_tokens: 1_400, reasoning_tokens: 300 };
    expect(costOf(within, prices)).toBeCloseTo((1_000 + 4_000) / 1e6, 12);
  });

  it('is known without a total too', () => {
    expect(costOf({ input_tokens: 10, output_tokens: 1 }, prices)).toBeCloseTo(20 / 1e6, 12);
  });

  it('is needed for a budget', () => {
    expect(() => defineAgent({ slug: 'a', costBudget: 1 })).toThrow('costBudget needs prices');
  });
});
