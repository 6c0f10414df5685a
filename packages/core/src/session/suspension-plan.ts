/**
 * Decides when a script that waits for decisions is suspended: at once if no user is asked, otherwise after
 * `suspendAfterMs`. A timer that fires meanwhile does not postpone the suspension.
 */
export class SuspensionPlan {
  readonly #suspendAfterMs: number | undefined;
  readonly #suspend: () => void;
  #timeout: NodeJS.Timeout | undefined;
  /** On the monotonic clock. */
  #dueAtMs: number | undefined;

  constructor(suspendAfterMs: number | undefined, suspend: () => void) {
    this.#suspendAfterMs = suspendAfterMs;
    this.#suspend = suspend;
  }

  /** The script waits for decisions, and perhaps for timers. */
  waits(nobodyIsAsked: boolean): void {
    this.pause();
    if (nobodyIsAsked) return this.#suspend();
    if (this.#suspendAfterMs === undefined) return;
    const now = performance.now();
    this.#dueAtMs ??= now + this.#suspendAfterMs;
    const leftMs = Math.ceil(this.#dueAtMs - now);
    if (leftMs <= 0) this.#suspend();
    else this.#timeout = setTimeout(this.#suspend, leftMs);
  }

  /** The guest executes. */
  pause(): void {
    clearTimeout(this.#timeout);
  }

  /** The script waits for other work. */
  cancel(): void {
    this.pause();
    this.#dueAtMs = undefined;
  }
}
