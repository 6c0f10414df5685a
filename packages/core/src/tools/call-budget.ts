import type { Limits } from '../protocol/limits.js';
import type { ArgumentLimits } from './call-arguments.js';
import type { FacadeCall } from './facade-types.js';

/**
 * After this many bytes of invalid arguments, a script may send only small ones, because large ones take long to
 * reject.
 */
const MAX_WRONG_BYTES = 2_097_152;
const MAX_BYTES_AFTER = 65_536;

type BudgetLimits = Pick<Limits, 'maxToolCalls' | 'maxToolInputBytes' | 'maxToolInputValues'>;

/** The remaining calls of a script, and the permitted size of their arguments. */
export class CallBudget {
  readonly #limits: BudgetLimits;
  #made: number;
  #wrongBytes = 0;

  /** `made`: the number of calls before the script was suspended. */
  constructor(limits: BudgetLimits, made: number) {
    this.#limits = limits;
    this.#made = made;
  }

  get made(): number {
    return this.#made;
  }

  /** False if the call exceeds the budget. A repeated call was counted before. */
  take({ isRepeated }: FacadeCall): boolean {
    if (isRepeated === true) return true;
    if (this.#made >= this.#limits.maxToolCalls) return false;
    this.#made += 1;
    return true;
  }

  noteWrong({ argsJson }: FacadeCall): void {
    this.#wrongBytes += argsJson.length;
  }

  argumentLimits(): ArgumentLimits {
    const { maxToolInputBytes, maxToolInputValues: maxValues } = this.#limits;
    const isWrong = this.#wrongBytes > MAX_WRONG_BYTES;
    return { maxBytes: isWrong ? Math.min(maxToolInputBytes, MAX_BYTES_AFTER) : maxToolInputBytes, maxValues };
  }
}
