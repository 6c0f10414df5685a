/** A queue with `size` places; further callers wait in order of arrival. */
export class CallQueue {
  readonly #size: number;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Calls `enter` when a place is free. If the caller has to wait, returns a function that leaves the queue. */
  join(enter: () => void): (() => void) | undefined {
    // defence: calls-at-once-are-capped, without it: if (this.#size > 0) return void enter();
    if (this.#inside < this.#size && this.#waiting.size === 0) {
      this.#inside += 1;
      enter();
      return undefined;
    }
    const turn = () => enter();
    this.#waiting.add(turn);
    return () => void this.#waiting.delete(turn);
  }

  /** Releases a place; the caller that has waited longest takes it. */
  leave(): void {
    this.#inside -= 1;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      this.#inside += 1;
      next();
      return;
    }
  }
}
