/**
 * A script's wall clock: counts down while the script or its tools run, stands still while approvals are all
 * that it waits for, and calls back once when it has run out.
 */
export class WallClock {
  #remainingMs: number;
  #pausedMs = 0;
  #since: number | undefined;
  #pausedSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onExpired: () => void;

  constructor(timeoutMs: number, onExpired: () => void) {
    this.#remainingMs = timeoutMs;
    this.#onExpired = onExpired;
  }

  run(): void {
    if (this.#since !== undefined) return;
    if (this.#pausedSince !== undefined) this.#pausedMs += performance.now() - this.#pausedSince;
    this.#pausedSince = undefined;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#onExpired, Math.max(0, this.#remainingMs));
  }

  /** Takes off time that had passed before the clock was started. */
  charge(spentMs: number): void {
    this.#remainingMs -= spentMs;
  }

  pause(): void {
    if (this.#since === undefined) return;
    this.stop();
    this.#pausedSince = performance.now();
  }

  /** For good, or until `run`. */
  stop(): void {
    clearTimeout(this.#timer);
    if (this.#since !== undefined) this.#remainingMs -= performance.now() - this.#since;
    if (this.#pausedSince !== undefined) this.#pausedMs += performance.now() - this.#pausedSince;
    this.#since = this.#pausedSince = undefined;
  }

  remainingMs(): number {
    return Math.max(
      0,
      this.#since === undefined ? this.#remainingMs : this.#remainingMs - (performance.now() - this.#since),
    );
  }

  /** How long it has stood still for approvals. */
  pausedMs(): number {
    return this.#pausedMs + (this.#pausedSince === undefined ? 0 : performance.now() - this.#pausedSince);
  }
}
