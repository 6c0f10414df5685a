/**
 * The clock that a script reads, in ms since 1970. It is set to the system's time when the script starts and when it
 * is resumed; then it follows the monotonic clock, so that a change of the system's time neither delays nor shortens
 * a loop that reads it. It never goes back, and moves only at a delivery to the script.
 */
export class GuestClock {
  #shownMs: number;
  /** The difference between the guest's time and the monotonic clock. */
  #offsetMs: number;

  constructor(startMs: number) {
    this.#shownMs = startMs;
    this.#offsetMs = startMs - performance.now();
  }

  get shownMs(): number {
    return this.#shownMs;
  }

  /** Advances to the current time, and returns it. */
  advance(): number {
    this.#shownMs = Math.max(this.#shownMs, Math.floor(this.#offsetMs + performance.now()));
    return this.#shownMs;
  }

  /** Sets the clock to a time of the tape during a replay. */
  replay(shownMs: number): void {
    this.#shownMs = shownMs;
  }

  /** Sets the clock of a script that is resumed. The clock of an earlier machine may have been ahead of this one's. */
  resume(systemMs: number): void {
    this.#shownMs = Math.max(this.#shownMs, systemMs);
    this.#offsetMs = this.#shownMs - performance.now();
  }
}
