import type { Defined } from '../protocol/json.js';

/*
 * The budget of a run and its sub-agents. While a sub-agent works, its budget is reserved in its parent's budget. The
 * usage of the sub-agent counts in every budget above it. The unused rest is returned when the sub-agent ends.
 */

/** Tokens, US dollars and tool calls. An absent figure is not limited. */
export interface Amounts {
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  readonly calls?: number | undefined;
}

type Figure = keyof Amounts;

export class RunBudget {
  #limits: Amounts;
  readonly #parent: RunBudget | undefined;
  readonly #children = new Set<RunBudget>();
  readonly #usedAmounts: Record<Figure, number>;

  /** `usedAmounts`: the amounts that the same run used in an earlier process. */
  constructor(limits: Amounts, used: Amounts = {}, parent?: RunBudget) {
    this.#limits = limits;
    this.#parent = parent;
    this.#usedAmounts = { tokens: used.tokens ?? 0, cost: used.cost ?? 0, calls: used.calls ?? 0 };
  }

  /**
   * The unused amount, without the parts that are reserved for sub-agents and requests; `Infinity` if the figure is not
   * limited.
   */
  left(figure: Figure): number {
    const limit = this.#limits[figure];
    if (limit === undefined) return Number.POSITIVE_INFINITY;
    let reserved = 0;
    for (const child of this.#children) reserved += child.#unspent(figure);
    return Math.max(0, limit - this.#usedAmounts[figure] - reserved);
  }

  get usedAmounts(): Defined<Amounts> {
    return { ...this.#usedAmounts } as Defined<Amounts>;
  }

  /** Whether tokens or costs are limited. */
  get isLimited(): boolean {
    return this.#limits.tokens !== undefined || this.#limits.cost !== undefined;
  }

  /** The function that counts one call, and returns false if no call is left. Undefined if calls are not limited. */
  get takeCall(): (() => boolean) | undefined {
    if (this.#limits.calls === undefined) return undefined;
    return () => {
      if (this.left('calls') < 1) return false;
      this.charge({ calls: 1 });
      return true;
    };
  }

  charge(amounts: Amounts): void {
    for (const figure of FIGURES) this.#usedAmounts[figure] += amounts[figure] ?? 0;
    this.#parent?.charge(amounts);
  }

  /**
   * Reserves a child budget. `usedAmounts`: the amounts that the child used in an earlier process. The parent has already
   * counted these amounts.
   */
  reserve(limits: Amounts, used: Amounts = {}): RunBudget {
    const child = new RunBudget(limits, used, this);
    this.#children.add(child);
    return child;
  }

  /** Replaces the limits. A lower limit returns the difference to the parent. */
  limitTo(limits: Amounts): void {
    this.#limits = limits;
  }

  /** Returns the rest to the parent. A second call does nothing. */
  close(): void {
    const parent = this.#parent;
    if (parent !== undefined) parent.#children.delete(this);
  }

  #unspent(figure: Figure): number {
    const limit = this.#limits[figure];
    return limit === undefined ? 0 : Math.max(0, limit - this.#usedAmounts[figure]);
  }
}

const FIGURES: readonly Figure[] = ['tokens', 'cost', 'calls'];
