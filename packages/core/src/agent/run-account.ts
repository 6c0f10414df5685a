import type { EventPayload, ModelRequest, OutputItem, Usage } from '../protocol/index.js';
import { present } from '../protocol/json.js';
import { estimateTokens } from '../history/index.js';
import type { AgentConfig } from './agent-config.js';
import { answerBound, answerRoom, MIN_ANSWER_TOKENS } from './answer-room.js';
import { usageCost } from './cost.js';
import type { RunBudget } from './run-budget.js';

interface AccountSettings {
  readonly agent: Pick<AgentConfig, 'prices'>;
  readonly budget: RunBudget;
  /**
   * True: no answer may exceed the budget. False: an answer may exceed the budget, and the run then requests no further
   * answer.
   */
  readonly isStrict: boolean;
  readonly emit: (payload: EventPayload) => void;
  /** The usage of the run before this process, or before its last suspension. */
  readonly earlier?: { readonly usage: Usage | undefined; readonly cost: number } | undefined;
}

/** Counts the usage and the cost of a run, charges the run's budget, and emits the events about the usage. */
export class RunAccount {
  readonly usage = new UsageSum();
  readonly #settings: AccountSettings;
  /** The cost of the run's own requests that have ended. */
  #ownCost: number | undefined;
  /** The cost of sub-agents, of the requests that tools make, and of the run before this process. */
  #otherCost: number | undefined;
  /** The part of the budget that is reserved for the current answer. */
  #hold: RunBudget | undefined;
  #arrival: Promise<void> = Promise.resolve();

  constructor(settings: AccountSettings) {
    this.#settings = settings;
    const { usage, cost } = settings.earlier ?? {};
    this.usage.addOthers(usage);
    if (cost !== undefined && cost > 0) this.#otherCost = cost;
  }

  /** The limit that the run has reached, if any. */
  get reachedLimit(): 'token_budget' | 'cost_budget' | undefined {
    const { budget } = this.#settings;
    if (budget.left('tokens') <= 0) return 'token_budget';
    return budget.left('cost') <= 0 ? 'cost_budget' : undefined;
  }

  /**
   * In a strict run with a budget, reserves the maximum usage of an answer and returns the request with that maximum,
   * or returns the name of the budget that has no room for an answer. In any other run, returns the request unchanged.
   */
  boundedRequest(request: ModelRequest): ModelRequest | 'token_budget' | 'cost_budget' {
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
   * Yields the payloads of the answer. A script of the answer may run before the usage of the answer is counted. So the
   * budget reserves the maximum usage until the answer has arrived, and then the usage that the provider reports.
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
          hold?.limitTo({ tokens: totalTokens(usage), cost: this.#answerCost(usage) });
        yield payload;
      }
    } finally {
      arrived();
    }
  }

  /**
   * Resolves when the answer for which the budget reserves usage has arrived, or at once if there is no such answer.
   */
  get arrival(): Promise<void> {
    return this.#hold === undefined ? Promise.resolve() : this.#arrival;
  }

  /**
   * Replaces the usage in a `usage_update` with the usage of the whole run, because a provider reports the usage of one
   * answer. Returns any other payload unchanged.
   */
  countedPayload(payload: EventPayload): EventPayload {
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

  /**
   * Charges the budget for one request, and reports the request's usage and cost. The argument is the `response_start`
   * of the answer.
   */
  requestDone({ request_id, rate_limits }: Record<string, unknown> = {}): void {
    const usage = this.usage.ofAnswer;
    const cost = this.#answerCost(usage);
    this.#hold?.close();
    this.#hold = undefined;
    if (cost !== undefined) this.#ownCost = (this.#ownCost ?? 0) + cost;
    if (usage !== undefined) this.#settings.budget.charge({ tokens: totalTokens(usage), cost });
    this.#settings.emit({ usage, cost, request_id, rate_limits, type: 'request_done' } as EventPayload);
  }

  /** Counts the usage of a sub-agent, or of a request that a tool made. The budget has already counted this usage. */
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
  get totals(): { usage?: Usage | undefined; cost?: number | undefined } {
    const costs = [this.#ownCost, this.#otherCost].filter((cost) => cost !== undefined);
    const cost = costs.length === 0 ? undefined : costs.reduce((sum, one) => sum + one, 0);
    return present({ usage: this.usage.total, cost });
  }

  /** The cost of the usage; undefined if the agent has no prices. */
  #answerCost(usage: Usage | undefined): number | undefined {
    const { prices } = this.#settings.agent;
    return usage === undefined || prices === undefined ? undefined : usageCost(usage, prices);
  }
}

/** An answer whose usage is counted. */
interface CountedAnswer {
  readonly request: ModelRequest;
  readonly said: SaidText;
}

/**
 * The usage of a run's answers. A later figure of an answer replaces the earlier one; the figures of all answers are
 * added.
 */
export class UsageSum {
  #endedUsage: Usage | undefined;
  #current: Usage | undefined;
  #last: Usage | undefined;
  #answer: Usage | undefined;
  /** The usage of sub-agents, of the requests that tools make, and of the run before this process. */
  #others: Usage | undefined;
  /** The last request whose input tokens the provider counted, and the count. */
  #countedRequest: { readonly request: ModelRequest; readonly tokens: number } | undefined;

  note(usage: Usage): void {
    this.#current = usage;
  }

  /**
   * Adds the usage of an answer that has ended. Estimates the figures that the provider did not report completely.
   * Returns true if a figure was estimated.
   */
  endAnswer(answer: CountedAnswer): boolean {
    const isCounted = answer.said.isWhole && this.#current !== undefined;
    const isEstimated = !isCounted && (answer.said.items > 0 || this.#current !== undefined);
    this.#last = isCounted ? this.#current : undefined;
    if (isCounted) this.#countedRequest = { request: answer.request, tokens: inputTokenCount(this.#current!) };
    // defence: uncounted-answer
    if (isEstimated) this.#current = this.#estimate(answer);
    this.#endedUsage = this.own;
    this.#answer = this.#current;
    this.#current = undefined;
    return isEstimated;
  }

  addOthers(usage: Usage | undefined): void {
    this.#others = addUsage(this.#others, usage);
  }

  /** A high estimate of the input tokens of a request. */
  estimateInput(request: ModelRequest): number {
    return Math.ceil(estimateRequest(request) * this.#margin());
  }

  #estimate({ request, said }: CountedAnswer): Usage {
    return estimateUsage(this.estimateInput(request), said, this.#current);
  }

  /**
   * The factor over the plain estimate: 1.2 times the ratio of the last count to its estimate, but at least 1.
   * `ESTIMATE_MARGIN` before the first count.
   */
  #margin(): number {
    if (this.#countedRequest === undefined || this.#countedRequest.tokens === 0) return ESTIMATE_MARGIN;
    return Math.max(1, (this.#countedRequest.tokens / estimateRequest(this.#countedRequest.request)) * 1.2);
  }

  /**
   * The usage of the last answer that has ended, as the provider counted it. Undefined if the provider did not count
   * all of it.
   */
  get last(): Usage | undefined {
    return this.#last;
  }

  /** The usage of the last answer that has ended, with estimates marked. */
  get ofAnswer(): Usage | undefined {
    return this.#answer;
  }

  /** The usage of the run's own answers, including estimates. Undefined if there is none. */
  get own(): Usage | undefined {
    return addUsage(this.#endedUsage, this.#current);
  }

  /** The usage of the run, of its sub-agents, and of the requests that tools make. Undefined if there is none. */
  get total(): Usage | undefined {
    return addUsage(this.own, this.#others);
  }
}

export function addUsage(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (second === undefined) return first;
  const sum: Usage = { input_tokens: 0, output_tokens: 0 };
  for (const usage of first === undefined ? [second] : [first, second]) {
    const figures = { ...usage, context_tokens: undefined, total_tokens: totalTokens(usage) };
    for (const [name, figure] of Object.entries(figures))
      if (typeof figure === 'number') sum[name] = ((sum[name] as number | undefined) ?? 0) + figure;
    if (usage.estimated === true) sum.estimated = true;
    for (const [model, part] of Object.entries(usage.by_model ?? {}))
      sum.by_model = { ...sum.by_model, [model]: addUsage(sum.by_model?.[model], part)! };
  }
  return sum;
}

export function totalTokens({
  input_tokens: input,
  output_tokens: output,
  total_tokens: total = input + output,
}: Usage): number {
  return total;
}

/** Input tokens, including tokens read from the cache or written to it, which some formats count separately. */
function inputTokenCount(usage: Usage): number {
  return Math.max(usage.input_tokens, totalTokens(usage) - usage.output_tokens);
}

/*
 * The code below estimates the usage of an answer if its provider did not report all of the usage: the connection
 * broke, or the provider never reports usage. A budget depends on the estimate, so the estimate is high rather than
 * low: output counts at twice the plain estimate, and so does input until the provider has counted an input itself.
 */

/** The factor over the plain estimate. Code, tables and data need up to this many tokens for each estimated token. */
export const ESTIMATE_MARGIN = 2;

/** Tokens that providers add to a message, a call or a tool. */
const PER_ITEM = 40;

/** Tokens that providers add to a request with tools. */
const WITH_TOOLS = 600;

/** Estimated tokens of an image. */
const PER_IMAGE = 1600;

/** Characters of base64 of a PDF or a recording for each estimated token. */
const CHARACTERS_PER_FILE_TOKEN = 40;

/** The output of an answer, and whether its provider ended it. */
export class SaidText {
  readonly #texts = new Map<string, string>();
  #isWhole = false;

  take(payload: EventPayload): void {
    if (payload.type === 'item_start') this.#texts.set(payload.item_id, '');
    else if (payload.type === 'item_delta')
      this.#texts.set(payload.item_id, (this.#texts.get(payload.item_id) ?? '') + payload.delta);
    else if (payload.type === 'item_done') this.#takeItem(payload.item_id, shownText(payload.final_item));
    else if (payload.type === 'response_done')
      this.#isWhole = payload.status === 'completed' || payload.status === 'incomplete';
  }

  /** Takes the text of a completed item, because the deltas of an item may be missing. */
  #takeItem(id: string, text: string): void {
    if (text.length > (this.#texts.get(id) ?? '').length) this.#texts.set(id, text);
  }

  get text(): string {
    return [...this.#texts.values()].join('');
  }

  get items(): number {
    return this.#texts.size;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }
}

/** The usage with estimates for the unknown figures. Figures that the provider has reported so far are minimums. */
function estimateUsage(
  input: number,
  said: SaidText,
  { input_tokens = 0, output_tokens = 0, total_tokens, ...others }: Partial<Usage> = {},
): Usage {
  const beside = Math.max(0, (total_tokens ?? 0) - input_tokens - output_tokens);
  const written = estimateTokens(said.text) * ESTIMATE_MARGIN + said.items * PER_ITEM;
  // The provider's input count is exact: the provider counted the input before the answer began.
  const sent = input_tokens > 0 || beside > 0 ? input_tokens : input;
  const output = Math.max(output_tokens, written);
  const { native: _native, ...figures } = others;
  return {
    ...figures,
    input_tokens: sent,
    output_tokens: output,
    total_tokens: sent + output + beside,
    estimated: true,
  };
}

/** The plain estimate of the tokens of a request, without the margin. */
export function estimateRequest({ system = '', tools = [], conversation }: ModelRequest): number {
  const shown = conversation.map(shownText).join('\n');
  const images = conversation.reduce((count, item) => count + imagesIn(item), 0);
  const text = estimateTokens(system) + estimateTokens(shown) + (tools.length > 0 ? toolTokens(tools) : 0);
  const files = conversation.reduce((sum, item) => sum + fileTokens(item), 0);
  return text + conversation.length * PER_ITEM + images * PER_IMAGE + files;
}

function toolTokens(tools: NonNullable<ModelRequest['tools']>): number {
  return WITH_TOOLS + tools.length * PER_ITEM + estimateTokens(JSON.stringify(tools));
}

function imagesIn(item: OutputItem): number {
  return JSON.stringify(item).split('"type":"image"').length - 1;
}

/** A page of a PDF is often 50 to 100 KB, and 1,500 to 3,000 tokens. A recording has fewer tokens. */
function fileTokens(item: OutputItem): number {
  const files = item.type === 'message' ? (item.files ?? []) : [];
  return files.reduce((sum, { data }) => sum + Math.ceil(data.length / CHARACTERS_PER_FILE_TOKEN), 0);
}

/** The approximate text of an item that the model reads. */
export function shownText(item: OutputItem): string {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return item.content;
    case 'function_call':
      return item.arguments;
    case 'function_call_output':
      return item.read_by === undefined ? item.output : '';
    case 'hosted_code':
      return item.source_code;
    case 'hosted_code_output':
      return item.output;
    case 'script_execution':
      return item.format === 'tool' ? '' : item.source_code;
    case 'script_execution_output':
      return item.report ?? item.output_json ?? '';
    default:
      return '';
  }
}
