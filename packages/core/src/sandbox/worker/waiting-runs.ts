/** Runs that wait for a free sandbox. Principals take turns; within one, first come first served. */
export class WaitingRuns<Run> {
  readonly #queues = new Map<string, Run[]>();
  readonly #timers = new Map<Run, { timer: NodeJS.Timeout; principal: string }>();

  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#timers.size;
  }

  /** False if the queue is full. `onExpired` is called once if the wait takes too long. */
  add(run: Run, principal: string | undefined, waitMs: number, onExpired: () => void): boolean {
    // defence: queue-is-bounded
    if (this.#timers.size >= this.capacity) return false;
    const key = principal ?? '';
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [run]);
    else queue.push(run);
    this.#timers.set(run, { timer: setTimeout(onExpired, waitMs), principal: key });
    return true;
  }

  /** The run whose turn it is. */
  peek(): Run | undefined {
    for (const queue of this.#queues.values()) return queue[0];
    return undefined;
  }

  /** The first in turn that fits. */
  find(fits: (run: Run) => boolean): Run | undefined {
    for (const queue of this.#queues.values()) {
      const found = queue.find(fits);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  remove(run: Run): void {
    const entry = this.#timers.get(run);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    this.#timers.delete(run);
    const queue = this.#queues.get(entry.principal)!;
    queue.splice(queue.indexOf(run), 1);
    // Moves the principal to the end of the queue, so that the next one is served first.
    // defence: principals-take-turns, without it: if (queue.length === 0) this.#queues.delete(entry.principal);
    this.#queues.delete(entry.principal);
    if (queue.length > 0) this.#queues.set(entry.principal, queue);
  }
}
