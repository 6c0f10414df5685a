import type { Limits } from '../../protocol/limits.js';
import type { ArgumentLimits } from './call-exchange.js';
import type { FacadeCall } from './facade-types.js';

/**
 * After this many UTF-16 units of invalid arguments, a script may send only small arguments, because it takes long to
 * reject large arguments.
 */
const MAX_WRONG_BYTES = 2_097_152;
const MAX_BYTES_AFTER = 65_536;

type BudgetLimits = Pick<Limits, 'maxToolCalls' | 'maxToolInputBytes' | 'maxToolInputValues'>;

/** The remaining calls of a script, and the permitted size of their arguments. */
export class CallBudget {
  readonly #limits: BudgetLimits;
  #madeCount: number;
  #wrongBytes = 0;

  /** `made`: the number of calls before the script was suspended. */
  constructor(limits: BudgetLimits, made: number) {
    this.#limits = limits;
    this.#madeCount = made;
  }

  get made(): number {
    return this.#madeCount;
  }

  /** Counts a call. Returns false if the call exceeds the budget. A repeated call was counted before. */
  take({ isRepeated }: FacadeCall): boolean {
    if (isRepeated === true) return true;
    if (this.#madeCount >= this.#limits.maxToolCalls) return false;
    this.#madeCount += 1;
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

/** Admits at most `size` callers at the same time; further callers wait in order of arrival. */
export class CallQueue {
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /**
   * Calls `enter` when the queue admits the caller. If the caller has to wait, returns a function that leaves the
   * queue.
   */
  join(enter: () => void): (() => void) | undefined {
    // defence: calls-at-once-are-capped
    if (this.#inside < this.#size && this.#waiting.size === 0) {
      this.#inside += 1;
      enter();
      return undefined;
    }
    const turn = () => enter();
    this.#waiting.add(turn);
    return () => void this.#waiting.delete(turn);
  }

  /** Called when an admitted caller has finished. Admits the caller that has waited longest. */
  leave(): void {
    this.#inside -= 1;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      this.#inside += 1;
      next();
      return;
    }
  }
}

/** After JSON with more characters than this number is read, further work waits for the next turn of the event loop. */
const MAX_UNITS_IN_TURN = 65_536;

/** Spreads work on large data over several turns of the event loop, so that it does not block other work. */
export class EventLoopTurns {
  #isUsed = false;

  /** Runs the work at once, or in a later turn if large data has taken time in this turn. */
  run(work: () => void): void {
    // defence: large-data-in-turns
    if (this.#isUsed) setImmediate(() => this.run(work));
    else work();
  }

  /** Notes the characters of arguments or of a result that were read in this turn; infinite if their number is unknown. */
  use(units: number): void {
    if (units <= MAX_UNITS_IN_TURN || this.#isUsed) return;
    this.#isUsed = true;
    setImmediate(() => {
      this.#isUsed = false;
    });
  }
}
