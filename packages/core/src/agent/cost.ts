import type { Usage } from '../protocol/index.js';
import type { ModelPrices, Prices } from './agent-config.js';

const MILLION = 1_000_000;

/** The cost of one request in US dollars: the tokens of each model at its own prices. */
export function usageCost(usage: Usage, prices: Prices): number {
  let own = usage;
  let cost = 0;
  for (const [model, part] of Object.entries(usage.by_model ?? {})) {
    own = withoutPart(own, part);
    cost += tokenCost(part, new Map(Object.entries(prices.models ?? {})).get(model) ?? prices);
  }
  return cost + tokenCost(own, prices);
}

/** The usage without the tokens of a part. */
function withoutPart(usage: Usage, part: Usage): Usage {
  const figures = Object.entries(usage).map(([name, value]) => [
    name,
    typeof value === 'number' ? value - figure(part[name]) : value,
  ]);
  return Object.fromEntries(figures) as Usage;
}

/** The prices of a request with this many tokens of input. */
export function pricesAt(prices: ModelPrices, inputTokens: number): ModelPrices {
  const { long } = prices;
  return long !== undefined && inputTokens > long.above ? long : prices;
}

function tokenCost(usage: Usage, prices: ModelPrices): number {
  const tokens = billedTokens(usage);
  const inputTokens = tokens.fresh + tokens.cacheRead + tokens.cacheWrite;
  const { input, output, cacheRead = input, cacheWrite = input } = pricesAt(prices, inputTokens);
  const sent = tokens.fresh * input + tokens.cacheRead * cacheRead + tokens.cacheWrite * cacheWrite;
  return (sent + tokens.output * output) / MILLION;
}

/**
 * Tokens by price category. Some formats include cached tokens in the input, and others count them separately. Some
 * servers count reasoning separately from the output. The total shows which case applies.
 */
export function billedTokens(usage: Usage): {
  /** Input tokens that were neither read from the cache nor written to it. */
  fresh: number;
  cacheRead: number;
  cacheWrite: number;
  /** Output tokens, including reasoning. */
  output: number;
} {
  const [cacheRead, cacheWrite, reasoning] = [
    figure(usage.cache_read_tokens),
    figure(usage.cache_write_tokens),
    figure(usage.reasoning_tokens),
  ];
  const { input_tokens: input, output_tokens: output, total_tokens: total = input + output } = usage;
  const cache = cacheRead + cacheWrite;
  const beside = total - input - output;
  const isCacheBeside = cache > 0 && (beside === cache || beside === cache + reasoning);
  const isReasoningBeside = reasoning > 0 && beside - (isCacheBeside ? cache : 0) === reasoning;
  return {
    fresh: isCacheBeside ? input : Math.max(0, input - cache),
    cacheRead,
    cacheWrite,
    output: isReasoningBeside ? output + reasoning : output,
  };
}

function figure(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
