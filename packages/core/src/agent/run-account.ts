import type { EventPayload, ModelRequest, Usage } from '../protocol/index.js';
import { present } from '../protocol/present.js';
import type { AgentConfig } from './agent-config.js';
import { answerBound, answerRoom, MIN_ANSWER_TOKENS } from './answer-room.js';
import { costOf } from './cost.js';
import type { RunBudget } from './run-budget.js';
import type { SaidText } from './usage-estimate.js';
import { totalOf, UsageSum } from './usage-sum.js';

interface AccountSettings {
  readonly agent: Pick<AgentConfig, 'prices'>;
  readonly budget: RunBudget;
  /** True: no answer may exceed the budget. Default: the run requests no further answer once the budget is used. */
  readonly isStrict: boolean;
  readonly emit: (payload: EventPayload) => void;
}

/** Counts the use of a run's budget, and emits the events about it. */
export class RunAccount {
  readonly usage = new UsageSum();
  readonly #settings: AccountSettings;
  /** The cost of sub-agents, and of requests of tools. */
  #otherCost: number | undefined;
  /** The part of the budget that is reserved for the current answer. */
  #hold: RunBudget | undefined;
  #arrival: Promise<void> = Promise.resolve();

  constructor(settings: AccountSettings) {
    this.#settings = settings;
  }

  /** The limit that the run has reached, if any. */
  get reached(): 'token_budget' | 'cost_budget' | undefined {
    const { budget } = this.#settings;
    if (budget.left('tokens') <= 0) return 'token_budget';
    return budget.left('cost') <= 0 ? 'cost_budget' : undefined;
  }

  /** Returns the request with a limit for its answer, or the limit's name if the budget has no room for an answer. */
  bounded(request: ModelRequest): ModelRequest | 'token_budget' | 'cost_budget' {
    const { budget, agent, isStrict } = this.#settings;
    if (!isStrict || !budget.isLimited) return request;
    const input = this.usage.estimateInput(request);
    const room = answerRoom(budget, input, agent.prices);
    // defence: answers-within-the-budget
    if (room < MIN_ANSWER_TOKENS)
      return budget.left('tokens') - input < MIN_ANSWER_TOKENS ? 'token_budget' : 'cost_budget';
    const maxOutputTokens = Math.min(request.maxOutputTokens ?? room, room);
    this.#hold = budget.reserve(answerBound(input, maxOutputTokens, agent.prices));
    return { ...request, maxOutputTokens };
  }

  /**
   * Returns the same answer. Its script may run before its usage is counted. So the budget reserves the maximum usage
   * until the answer has arrived, and then the usage that the provider reports.
   */
  async *arriving(answer: AsyncIterable<EventPayload>): AsyncGenerator<EventPayload> {
    const hold = this.#hold;
    let arrived = (): void => {};
    this.#arrival = new Promise((resolve) => (arrived = resolve));
    let usage: Usage | undefined;
    try {
      for await (const payload of answer) {
        if (payload.type === 'usage_update') usage = payload.usage;
        if (payload.type === 'response_done' && usage !== undefined)
          hold?.limitTo({ tokens: totalOf(usage), cost: this.#costOf(usage) });
        yield payload;
      }
    } finally {
      arrived();
    }
  }

  /** Resolves when the current answer has arrived. */
  get arrival(): Promise<void> {
    return this.#hold === undefined ? Promise.resolve() : this.#arrival;
  }

  /** A provider counts one answer; the run's events count all of them. */
  counted(payload: EventPayload): EventPayload {
    if (payload.type !== 'usage_update') return payload;
    this.usage.note(payload.usage);
    return { type: 'usage_update', usage: this.usage.total! };
  }

  /** Counts an answer that has ended. `head`: its `response_start`. */
  endAnswer(request: ModelRequest, said: SaidText, head: EventPayload | undefined): void {
    const isEstimated = this.usage.endAnswer({ request, said });
    if (isEstimated) this.emitUsage();
    this.requestDone(head);
  }

  /** Reports the usage and the cost of one request. `head`: the `response_start` of its answer. */
  requestDone({ request_id, rate_limits }: Record<string, unknown> = {}): void {
    const usage = this.usage.ofAnswer;
    const cost = this.#costOf(usage);
    this.#hold?.close();
    this.#hold = undefined;
    if (usage !== undefined) this.#settings.budget.charge({ tokens: totalOf(usage), cost });
    this.#settings.emit({ ...present({ usage, cost, request_id, rate_limits }), type: 'request_done' } as EventPayload);
  }

  /** Counts the usage of a sub-agent, or of a request that a tool made. The budget has counted it already. */
  addOthers(usage: Usage | undefined, cost: number | undefined): void {
    if (cost !== undefined) this.#otherCost = (this.#otherCost ?? 0) + cost;
    this.usage.addOthers(usage);
    this.emitUsage();
  }

  emitUsage(): void {
    const usage = this.usage.total;
    if (usage !== undefined) this.#settings.emit({ type: 'usage_update', usage });
  }

  /** The usage and the cost, for the event that ends the run. */
  get totals(): { usage?: Usage; cost?: number } {
    const own = this.#costOf(this.usage.own);
    const cost = own === undefined ? this.#otherCost : own + (this.#otherCost ?? 0);
    return present({ usage: this.usage.total, cost });
  }

  /** Undefined if the agent has no prices. */
  #costOf(usage: Usage | undefined): number | undefined {
    const { prices } = this.#settings.agent;
    return usage === undefined || prices === undefined ? undefined : costOf(usage, prices);
  }
}
