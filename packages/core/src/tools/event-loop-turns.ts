/** Maximum characters of JSON that are read in one turn of the event loop; further work waits for the next turn. */
const MAX_UNITS_IN_TURN = 65_536;

/** Spreads work on large data over several turns of the event loop, so that it does not block other work. */
export class EventLoopTurns {
  #isUsed = false;

  /** Runs at once, or in a later turn if large data has taken time in this one. */
  run(work: () => void): void {
    // defence: large-data-in-turns, without it: work();
    if (this.#isUsed) setImmediate(() => this.run(work));
    else work();
  }

  /** Counts characters of arguments or of a result that were read in this turn. */
  use(units: number): void {
    if (units <= MAX_UNITS_IN_TURN || this.#isUsed) return;
    this.#isUsed = true;
    setImmediate(() => {
      this.#isUsed = false;
    });
  }
}
