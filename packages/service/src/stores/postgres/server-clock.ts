/**
 * The interval between requests for the server's time, in ms. Between the answers, the clock uses this process's
 * monotonic clock.
 */
const ASK_MS = 10_000;

/** Maximum time for an answer, in ms. A slower answer is too inexact. */
const MAX_ROUND_TRIP_MS = 1_000;

/**
 * The time of the server, for leases and expiries, because the clocks of the machines may differ. Only a use of the
 * clock asks the server, so an idle process sends nothing.
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

  /** `first`: the server's time now. `ask` requests the server's time later. */
  static at(first: number, ask: () => Promise<number>): ServerClock {
    return new ServerClock(ask, first - performance.now());
  }

  /** The time in ms since 1970. */
  now(): number {
    const monotonic = performance.now();
    if (monotonic - this.#askedAt > ASK_MS) void this.#correct();
    return Math.round(this.#origin + monotonic);
  }

  /** Requests the server's time. A request without an answer changes nothing. */
  async #correct(): Promise<void> {
    const before = performance.now();
    this.#askedAt = before;
    const answer = await this.#ask().catch(() => undefined);
    const roundTrip = performance.now() - before;
    if (answer !== undefined && roundTrip < MAX_ROUND_TRIP_MS) this.#origin = answer - before - roundTrip / 2;
  }
}
