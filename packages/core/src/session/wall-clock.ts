/** The state of a clock that continues in another process. In ms. */
export interface ClockReading {
  readonly remainingMs: number;
  readonly pausedMs: number;
}

/**
 * A script's wall clock: counts down while the script or its tools run, pauses while the script waits only for
 * approvals, and calls back once at its end. During the guest's turn only the time that it used counts, not the time
 * that it waited for a thread.
 */
export class WallClock {
  #remainingMs: number;
  #pausedMs: number;
  #since: number | undefined;
  #pausedSince: number | undefined;
  #turnSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #onExpired: () => void;

  constructor(timeoutMs: number, onExpired: () => void, pausedMs = 0) {
    this.#remainingMs = timeoutMs;
    this.#pausedMs = pausedMs;
    this.#onExpired = onExpired;
  }

  run(): void {
    if (this.#since !== undefined) return;
    if (this.#pausedSince !== undefined) this.#pausedMs += performance.now() - this.#pausedSince;
    this.#pausedSince = undefined;
    this.#since = performance.now();
    this.#arm();
  }

  /** Subtracts the time before the clock was started. */
  charge(spentMs: number): void {
    this.#remainingMs -= spentMs;
  }

  /** The guest executes, or waits for its turn. */
  turnBegins(): void {
    this.#turnSince = performance.now();
  }

  turnEnds(usedMs: number): void {
    if (this.#turnSince === undefined) return;
    this.#remainingMs += Math.max(0, performance.now() - this.#turnSince - usedMs);
    this.#turnSince = undefined;
  }

  pause(): void {
    if (this.#since === undefined) return;
    this.stop();
    this.#pausedSince = performance.now();
  }

  /** Permanently, or until `run`. */
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

  /** How long it has been paused for approvals, in ms. */
  pausedMs(): number {
    return this.#pausedMs + (this.#pausedSince === undefined ? 0 : performance.now() - this.#pausedSince);
  }

  reading(): ClockReading {
    return { remainingMs: this.remainingMs(), pausedMs: this.pausedMs() };
  }

  #arm(): void {
    // defence: wall-clock-rings
    this.#timer = setTimeout(() => this.#ring(), Math.max(0, this.remainingMs()));
  }

  /** Turns may have returned time since the timer was set; during a turn the guest has its own limit. */
  #ring(): void {
    if (this.#turnSince !== undefined) this.#timer = setTimeout(() => this.#ring(), NEXT_LOOK_MS);
    else if (this.remainingMs() >= 1) this.#arm();
    else this.#onExpired();
  }
}

/** How soon a clock that expired during a turn is checked again, in ms. */
const NEXT_LOOK_MS = 50;
