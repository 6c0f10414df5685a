import { ToolCallError } from '../../protocol/index.js';
import type { Amounts, RunBudget } from '../run-budget.js';

/** Default maximum number of levels. At the last level, sub-agents cannot launch sub-agents. */
export const MAX_DEPTH = 3;

/** Default maximum number of sub-agents of one run, at all levels together. */
export const MAX_AGENTS = 20;

/** The budget that a launch requests. */
export interface AskedBudget {
  tokens?: number | undefined;
  cost?: number | undefined;
  calls?: number | undefined;
  timeMs?: number | undefined;
}

/** Figures that are rounded down to whole numbers. */
const WHOLE = ['tokens', 'calls'];

/**
 * The budget of a sub-agent: the requested budget, or half of what its parent has left. Throws a `ToolCallError` if the
 * parent has less than requested, or nothing left.
 */
export function dividedBudget(parent: RunBudget, asked: AskedBudget = {}): Amounts {
  return {
    tokens: share(parent, 'tokens', asked.tokens),
    cost: share(parent, 'cost', asked.cost),
    calls: share(parent, 'calls', asked.calls),
  };
}

function share(parent: RunBudget, figure: keyof Amounts, asked: number | undefined): number | undefined {
  const left = parent.left(figure);
  if (left === Number.POSITIVE_INFINITY) return asked;
  // defence: children-within-the-budget-of-their-parent
  if (asked !== undefined && asked > left)
    throw agentRefusal(
      `budget.${figure} is ${asked}, and this run has ${left} left, without what its sub-agents have reserved. Request at most ${left}.`,
    );
  const given = asked ?? (WHOLE.includes(figure) ? Math.floor(left / 2) : left / 2);
  if (given > 0) return given;
  throw agentRefusal(
    `The rest of this run's budget (${figure}) is too small for a sub-agent. Do the work without a sub-agent.`,
  );
}

/** Counts the sub-agents of a run, at all levels. */
export class AgentCount {
  readonly #max: number;
  #launchedCount = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(count: number): void {
    this.#launchedCount += count;
  }

  /** Counts one launch. Throws a `ToolCallError` if the limit is reached. */
  take(): void {
    // defence: number-of-sub-agents
    if (this.#launchedCount >= this.#max)
      throw agentRefusal(
        `A run may launch ${this.#max} sub-agents at all levels together (maxAgents), and this run has launched all of them. Do the rest without sub-agents.`,
      );
    this.#launchedCount += 1;
  }
}

export function agentRefusal(message: string): ToolCallError {
  return new ToolCallError('ToolExecutionError', message);
}
