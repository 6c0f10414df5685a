import type { ModelRequest, Usage } from '../protocol/index.js';
import { ESTIMATE_MARGIN, estimateRequest, estimateUsage, type SaidText } from './usage-estimate.js';

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
  #ended: Usage | undefined;
  #current: Usage | undefined;
  #last: Usage | undefined;
  #answer: Usage | undefined;
  /** The usage of sub-agents, and of requests of tools. */
  #others: Usage | undefined;
  /** The last request whose tokens the provider counted, and the count. */
  #known: { readonly request: ModelRequest; readonly tokens: number } | undefined;

  note(usage: Usage): void {
    this.#current = usage;
  }

  /** Estimates the figures that the provider did not report completely. Returns whether it estimated any. */
  endAnswer(answer: CountedAnswer): boolean {
    const isCounted = answer.said.isWhole && this.#current !== undefined;
    const isEstimated = !isCounted && (answer.said.items > 0 || this.#current !== undefined);
    this.#last = isCounted ? this.#current : undefined;
    if (isCounted) this.#known = { request: answer.request, tokens: inputOf(this.#current!) };
    // defence: uncounted-answer
    if (isEstimated) this.#current = this.#estimate(answer);
    this.#ended = this.own;
    this.#answer = this.#current;
    this.#current = undefined;
    return isEstimated;
  }

  addOthers(usage: Usage | undefined): void {
    this.#others = addUsage(this.#others, usage);
  }

  /** The input tokens that a request has at most. */
  estimateInput(request: ModelRequest): number {
    return Math.ceil(estimateRequest(request) * this.#margin());
  }

  #estimate({ request, said }: CountedAnswer): Usage {
    return estimateUsage(this.estimateInput(request), said, this.#current);
  }

  /** Tokens for each estimated one, from the provider's last count, plus a fifth. */
  #margin(): number {
    if (this.#known === undefined || this.#known.tokens === 0) return ESTIMATE_MARGIN;
    return Math.max(1, (this.#known.tokens / estimateRequest(this.#known.request)) * 1.2);
  }

  /** The usage of the last answer that has ended, as its provider counted it. */
  get last(): Usage | undefined {
    return this.#last;
  }

  /** The usage of the last answer that has ended, with estimates marked. */
  get ofAnswer(): Usage | undefined {
    return this.#answer;
  }

  /** The usage of the run's own answers. Undefined if the provider reported nothing. */
  get own(): Usage | undefined {
    return addUsage(this.#ended, this.#current);
  }

  /** The usage with that of sub-agents. Undefined if no provider reported anything. */
  get total(): Usage | undefined {
    return addUsage(this.own, this.#others);
  }
}

export function addUsage(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (second === undefined) return first;
  const sum: Usage = { input_tokens: 0, output_tokens: 0 };
  for (const usage of first === undefined ? [second] : [first, second]) {
    const figures = { ...usage, total_tokens: totalOf(usage) };
    for (const [name, figure] of Object.entries(figures))
      if (typeof figure === 'number') sum[name] = ((sum[name] as number | undefined) ?? 0) + figure;
    if (usage.estimated === true) sum.estimated = true;
  }
  return sum;
}

export function totalOf({
  input_tokens: input,
  output_tokens: output,
  total_tokens: total = input + output,
}: Usage): number {
  return total;
}

/** Input tokens including those that the cache read or stored, which some formats count separately. */
function inputOf(usage: Usage): number {
  return Math.max(usage.input_tokens, totalOf(usage) - usage.output_tokens);
}
