/**
 * The time in ms after which a turn is aborted whose questions were withdrawn: something else keeps it running, such as
 * a long call. It is generous, because a slow machine needs time to suspend a script.
 */
const PATIENCE_MS = 30_000;

/** The cancellation of one turn of an editor. */
export class TurnCancellation {
  readonly #controller = new AbortController();
  #isRequested = false;
  #isSuspending = false;
  /** The number of questions that the editor shows. */
  #questions = 0;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the user has cancelled the turn. The turn may still suspend its script. */
  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Asks a question in the editor; suspends it if the user has cancelled the turn, or the editor withdraws it. */
  async question<Answer>(ask: () => Promise<Answer | 'suspend'>): Promise<Answer | 'suspend'> {
    if (this.#isRequested) return 'suspend';
    this.#questions += 1;
    try {
      const answer = await ask();
      // The answer may overtake the request to cancel.
      if (answer === 'suspend') this.#isSuspending = true;
      return answer;
    } finally {
      this.#questions -= 1;
    }
  }

  /**
   * Cancels the turn. If the editor shows questions, or has withdrawn some, their script has time to suspend. Otherwise,
   * and on a second request, the turn is aborted.
   */
  request(): void {
    const isRepeated = this.#isRequested;
    this.#isRequested = true;
    if (isRepeated || !(this.#questions > 0 || this.#isSuspending)) return this.abort();
    setTimeout(() => this.abort(), PATIENCE_MS).unref();
  }

  abort(): void {
    this.#controller.abort();
  }
}
