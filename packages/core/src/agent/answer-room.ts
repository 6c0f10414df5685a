import type { ModelPrices, Prices } from './agent-config.js';
import { pricesAt } from './cost.js';
import type { Amounts, RunBudget } from './run-budget.js';

/** Minimum tokens of an answer. If the budget has room for fewer, the run requests no answer. */
export const MIN_ANSWER_TOKENS = 64;

/** The maximum number of tokens of an answer that keeps the run within its budget, whatever the model writes. */
export function answerRoom(budget: RunBudget, inputTokens: number, prices: Prices | undefined): number {
  const byTokens = budget.left('tokens') - inputTokens;
  if (prices === undefined || outputPrice(prices, inputTokens) === 0) return Math.floor(byTokens);
  const byCost =
    (budget.left('cost') * MILLION - inputTokens * inputPrice(prices, inputTokens)) / outputPrice(prices, inputTokens);
  return Math.floor(Math.min(byTokens, byCost));
}

/** The maximum usage of an answer. */
export function answerBound(inputTokens: number, outputTokens: number, prices: Prices | undefined): Amounts {
  const tokens = inputTokens + outputTokens;
  if (prices === undefined) return { tokens };
  return {
    tokens,
    cost: (inputTokens * inputPrice(prices, inputTokens) + outputTokens * outputPrice(prices, inputTokens)) / MILLION,
  };
}

/** The highest price that a token of an input of this length may have. */
function inputPrice(prices: Prices, inputTokens: number): number {
  const all = allPrices(prices, inputTokens);
  return Math.max(...all.flatMap(({ input, cacheRead = input, cacheWrite = input }) => [input, cacheRead, cacheWrite]));
}

/** The highest price that a token of the answer to an input of this length may have. */
function outputPrice(prices: Prices, inputTokens: number): number {
  return Math.max(...allPrices(prices, inputTokens).map(({ output }) => output));
}

/** The prices of all models that may answer. */
function allPrices(prices: Prices, inputTokens: number): readonly ModelPrices[] {
  return [prices, ...Object.values(prices.models ?? {})].map((one) => pricesAt(one, inputTokens));
}

const MILLION = 1_000_000;
