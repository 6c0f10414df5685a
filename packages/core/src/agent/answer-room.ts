import type { Prices } from './agent-config.js';
import type { RunBudget } from './run-budget.js';

/** An answer with less room than this many tokens is not requested. */
export const MIN_ANSWER_TOKENS = 64;

/** The tokens that an answer may have so that its run stays within its budget, whatever the model writes. */
export function answerRoom(budget: RunBudget, inputTokens: number, prices: Prices | undefined): number {
  const byTokens = budget.left('tokens') - inputTokens;
  if (prices === undefined || prices.output === 0) return Math.floor(byTokens);
  const { input, cacheRead = input, cacheWrite = input } = prices;
  const highest = Math.max(input, cacheRead, cacheWrite);
  const byCost = (budget.left('cost') * 1_000_000 - inputTokens * highest) / prices.output;
  return Math.floor(Math.min(byTokens, byCost));
}
