/**
 * The share of its time that a check must have spent computing to count as slow, and not merely as waiting for a
 * processor.
 */
const OWN_SHARE = 0.6;
/** Maximum wait on a busy machine, as a multiple of the deadline. */
const MAX_WAIT_FACTOR = 8;
const MIN_EXTENSION_MS = 20;

/**
 * A check's deadline in the checker's own processor time, if the platform reports it: a good script must not run
 * unchecked because other processes compute. Calls back once, unless it was stopped.
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
    const isLate = performance.now() - this.#startedAt >= this.#deadlineMs * MAX_WAIT_FACTOR;
    if (isLate || used >= this.#deadlineMs * OWN_SHARE) return this.#onMissed();
    this.#timer = setTimeout(() => this.#look(), Math.max(MIN_EXTENSION_MS, this.#deadlineMs - used));
  }
}
