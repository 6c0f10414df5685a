/**
 * The interval between requests to the server, in ms. Between its answers, the monotonic clock of this process counts.
 */
const ASK_MS = 10_000;

/** An answer that took longer is too inexact, in ms. */
const MAX_ROUND_TRIP_MS = 1_000;

/**
 * The time of the server, for leases and expiries, because the clocks of the machines may differ. A use of the clock
 * asks the server, so an idle process sends nothing.
 */
export class ServerClock {
  readonly #ask: () => Promise<number>;
  /** The server's time when the monotonic clock was 0. */
  #origin: number;
  #askedAt: number;

  private constructor(ask: () => Promise<number>, origin: number) {
    this.#ask = ask;
    this.#origin = origin;
    this.#askedAt = performance.now();
  }

  /** `first`: the server's time now. `ask` answers with it later. */
  static at(first: number, ask: () => Promise<number>): ServerClock {
    return new ServerClock(ask, first - performance.now());
  }

  /** In ms since 1970. */
  now(): number {
    const monotonic = performance.now();
    if (monotonic - this.#askedAt > ASK_MS) void this.#correct();
    return Math.round(this.#origin + monotonic);
  }

  /** An answer that does not arrive changes nothing. */
  async #correct(): Promise<void> {
    const before = performance.now();
    this.#askedAt = before;
    const answer = await this.#ask().catch(() => undefined);
    const roundTrip = performance.now() - before;
    if (answer !== undefined && roundTrip < MAX_ROUND_TRIP_MS) this.#origin = answer - before - roundTrip / 2;
  }
}
