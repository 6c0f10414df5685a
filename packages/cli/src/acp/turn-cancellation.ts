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

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the user has cancelled the turn. The turn may still suspend its script. */
  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Call this method when the editor has withdrawn a question. Its answer may overtake the request to cancel. */
  suspend(): void {
    this.#isSuspending = true;
  }

  /**
   * Cancels the turn. If the editor shows questions, or has withdrawn some, their script has time to suspend. Otherwise,
   * and on a second request, the turn is aborted.
   */
  request(hasQuestions: boolean): void {
    const isRepeated = this.#isRequested;
    this.#isRequested = true;
    if (isRepeated || !(hasQuestions || this.#isSuspending)) return this.abort();
    setTimeout(() => this.abort(), PATIENCE_MS).unref();
  }

  abort(): void {
    this.#controller.abort();
  }
}
