import { setTimeout as delay } from 'node:timers/promises';
import type { StreamEvent, ThreadStore } from '@toolscript/core/protocol';

/** How long to wait for the persistence worker, in ms. */
const WAIT_MS = 500;

/** The wait before the second look, in ms. It doubles, so that a busy database is not asked more often. */
const FIRST_LOOK_MS = 10;

/**
 * The events of one run, on their way to the thread store through the persistence worker. If that does not store them
 * in time, because none runs or it is busy, this process stores them itself: both do so idempotently.
 */
export class AwaitedThreads {
  readonly #threads: ThreadStore;
  readonly #epoch: number;
  #waitMs = WAIT_MS;

  constructor(threads: ThreadStore, epoch: number) {
    this.#threads = threads;
    this.#epoch = epoch;
  }

  /** Resolves when the events are in the thread store. They follow those of the previous call. */
  async append(events: readonly StreamEvent[]): Promise<void> {
    const isStored = await this.#awaitStored(events.at(-1)!);
    // A worker that was late is waited for again after it has caught up.
    this.#waitMs = isStored ? WAIT_MS : 0;
    if (!isStored) await this.#threads.append(events, { epoch: this.#epoch });
  }

  async #awaitStored({ run_id: runId, seq }: StreamEvent): Promise<boolean> {
    const deadline = performance.now() + this.#waitMs;
    for (let lookMs = FIRST_LOOK_MS; ; lookMs *= 2) {
      const { events } = await this.#threads.readEvents(runId, { from: seq, limit: 1 });
      if (events.length > 0) return true;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      await delay(Math.min(lookMs, leftMs));
    }
  }
}
