import type { Prices } from './agent-config.js';
import type { Amounts, RunBudget } from './run-budget.js';

/** Minimum tokens of an answer. If the budget has room for fewer, the run requests no answer. */
export const MIN_ANSWER_TOKENS = 64;

/** The maximum number of tokens of an answer that keeps the run within its budget, whatever the model writes. */
export function answerRoom(budget: RunBudget, inputTokens: number, prices: Prices | undefined): number {
  const byTokens = budget.left('tokens') - inputTokens;
  if (prices === undefined || prices.output === 0) return Math.floor(byTokens);
  const byCost = (budget.left('cost') * MILLION - inputTokens * inputPrice(prices)) / prices.output;
  return Math.floor(Math.min(byTokens, byCost));
}

/** The maximum usage of an answer. */
export function answerBound(inputTokens: number, outputTokens: number, prices: Prices | undefined): Amounts {
  const tokens = inputTokens + outputTokens;
  if (prices === undefined) return { tokens };
  return { tokens, cost: (inputTokens * inputPrice(prices) + outputTokens * prices.output) / MILLION };
}

/** The highest price that an input token may have. */
function inputPrice({ input, cacheRead = input, cacheWrite = input }: Prices): number {
  return Math.max(input, cacheRead, cacheWrite);
}

const MILLION = 1_000_000;
