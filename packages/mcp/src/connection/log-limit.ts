const WINDOW_MS = 1_000;
const MAX_IN_WINDOW = 50;

/**
 * Passes on a limited number of a server's messages per second. A note before the next message states how many messages
 * were dropped.
 */
export class LogLimit {
  #windowStart = -WINDOW_MS;
  #count = 0;

  /** The messages to pass on now: none, only the given message, or a note and the given message. */
  admit(text: string, nowMs: number): string[] {
    const leftOut = this.#count - MAX_IN_WINDOW;
    if (nowMs - this.#windowStart < WINDOW_MS) {
      this.#count += 1;
      return this.#count > MAX_IN_WINDOW ? [] : [text];
    }
    this.#windowStart = nowMs;
    this.#count = 1;
    return leftOut > 0 ? [`${leftOut} more messages were dropped.`, text] : [text];
  }
}
