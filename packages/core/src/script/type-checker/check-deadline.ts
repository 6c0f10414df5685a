/** What of its time a check must have spent computing to count as slow, and not merely as waiting for its turn. */
const OWN_SHARE = 0.6;
/** However busy the machine is, nobody waits longer than this many times the deadline. */
const MOST_TIMES = 8;
const LEAST_EXTENSION_MS = 20;

/**
 * A check's deadline in the checker's own processor time, as far as the platform tells it: on a busy machine a
 * good script must not run unchecked because others compute. Calls back once, unless it was stopped.
 */
export class CheckDeadline {
  readonly #deadlineMs: number;
  readonly #cpuMs: () => number | undefined;
  readonly #onMissed: () => void;
  readonly #startedAt = performance.now();
  readonly #startedCpu: number | undefined;
  #timer: NodeJS.Timeout;

  constructor(deadlineMs: number, cpuMs: () => number | undefined, onMissed: () => void) {
    this.#deadlineMs = deadlineMs;
    this.#cpuMs = cpuMs;
    this.#onMissed = onMissed;
    this.#startedCpu = cpuMs();
    this.#timer = setTimeout(() => this.#look(), deadlineMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const now = this.#cpuMs();
    const used = now === undefined || this.#startedCpu === undefined ? Infinity : now - this.#startedCpu;
    const isLate = performance.now() - this.#startedAt >= this.#deadlineMs * MOST_TIMES;
    if (isLate || used >= this.#deadlineMs * OWN_SHARE) return this.#onMissed();
    this.#timer = setTimeout(() => this.#look(), Math.max(LEAST_EXTENSION_MS, this.#deadlineMs - used));
  }
}
