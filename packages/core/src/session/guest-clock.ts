/**
 * What a script's clock shows, in ms since 1970. It is set to the system's time when the script starts and when it is
 * resumed; from there on it follows the monotonic clock, so that a change of the system's time neither holds up nor
 * shortens a loop that looks at it. It never goes back, and moves only when the script is told something.
 */
export class GuestClock {
  #shownMs: number;
  /** What the monotonic clock lacks to the time that is shown. */
  #offsetMs: number;

  constructor(startMs: number) {
    this.#shownMs = startMs;
    this.#offsetMs = startMs - performance.now();
  }

  get shownMs(): number {
    return this.#shownMs;
  }

  /** Moves on to now, and gives that. */
  advance(): number {
    this.#shownMs = Math.max(this.#shownMs, Math.floor(this.#offsetMs + performance.now()));
    return this.#shownMs;
  }

  /** A replay shows what was shown. */
  replay(shownMs: number): void {
    this.#shownMs = shownMs;
  }

  /** The script goes on here. Another machine's clock may have been ahead of this one's. */
  resume(systemMs: number): void {
    this.#shownMs = Math.max(this.#shownMs, systemMs);
    this.#offsetMs = this.#shownMs - performance.now();
  }
}
