import type { Limits } from '../protocol/limits.js';
import type { ArgumentLimits } from './call-arguments.js';
import type { FacadeCall } from './facade-types.js';

/** Bytes of wrong arguments, in one script, after which it may send small ones only: large ones take long to refuse. */
const MAX_WRONG_BYTES = 2_097_152;
const MAX_BYTES_AFTER = 65_536;

type BudgetLimits = Pick<Limits, 'maxToolCalls' | 'maxToolInputBytes' | 'maxToolInputValues'>;

/** How many calls a script may still make, and how large their arguments may be. */
export class CallBudget {
  readonly #limits: BudgetLimits;
  #made: number;
  #wrongBytes = 0;

  /** `made`: before the script was suspended. */
  constructor(limits: BudgetLimits, made: number) {
    this.#limits = limits;
    this.#made = made;
  }

  get made(): number {
    return this.#made;
  }

  /** False where the call is beyond the budget. A call that is repeated was counted before. */
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
