import type { SandboxCall } from '../protocol/index.js';
import type { CallResult } from '../tools/index.js';

/** How long answers may block the event loop before other work gets a turn, in ms. */
const TURN_MS = 8;

/** Maximum characters of answers that wait for delivery; no further answer is created until then. */
const MAX_PENDING_UNITS = 4_194_304;

/** Maximum characters of all answers to one script. */
const MAX_TOTAL_UNITS = 16_777_216;

/**
 * Answers a script's calls to the catalog and to tasks. An answer can be large and slow to create, and a script
 * chooses how many it requests. So answers are created over several turns of the event loop, at most as many at once
 * as the guest has room for, and only up to a total.
 */
export class BuiltinAnswers {
  readonly #settle: (call: SandboxCall, result: CallResult) => void;
  #queue: { call: SandboxCall; make: () => CallResult }[] = [];
  #turn: NodeJS.Immediate | undefined;
  #pendingUnits = 0;
  #totalUnits = 0;

  constructor(settle: (call: SandboxCall, result: CallResult) => void) {
    this.#settle = settle;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0;
  }

  add(call: SandboxCall, make: () => CallResult): void {
    // defence: pending-answers-are-capped
    if (this.#queue.length > 0 || this.#pendingUnits > MAX_PENDING_UNITS) this.#queue.push({ call, make });
    else this.#answer(call, make);
  }

  /** All answers so far were sent to the guest. */
  delivered(): void {
    this.#pendingUnits = 0;
    if (this.#queue.length > 0) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#queue = [];
  }

  #takeTurn(): void {
    this.#turn = undefined;
    const turnEnds = performance.now() + TURN_MS;
    while (this.#queue.length > 0 && this.#pendingUnits <= MAX_PENDING_UNITS && performance.now() < turnEnds) {
      const { call, make } = this.#queue.shift()!;
      this.#answer(call, make);
    }
    if (this.#queue.length > 0 && this.#pendingUnits <= MAX_PENDING_UNITS)
      this.#turn = setImmediate(() => this.#takeTurn());
  }

  #answer(call: SandboxCall, make: () => CallResult): void {
    // defence: answers-have-a-total
    if (this.#totalUnits > MAX_TOTAL_UNITS)
      return this.#settle(
        call,
        refusal(
          'ToolBudgetExceededError',
          'The catalog and tools.spawn have answered this script with 16 MB, their maximum. Request less at once.',
        ),
      );
    const result = attempt(make);
    const units = result.ok ? result.json.length : result.error.message.length;
    this.#pendingUnits += units;
    this.#totalUnits += units;
    this.#settle(call, result);
  }
}

function attempt(make: () => CallResult): CallResult {
  try {
    return make();
  } catch {
    return refusal('ToolValidationError', 'The arguments are wrong.');
  }
}

function refusal(code: string, message: string): CallResult {
  return { ok: false, error: { code, message } };
}
