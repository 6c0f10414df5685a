import type { EventLog, StreamEvent, ThreadStore } from '@toolscript/core/protocol';
import { untilTrue } from './until-true.js';

/**
 * The maximum wait for the persistence worker, and the interval between checks if its notifications do not arrive, in
 * ms.
 */
const WAIT_MS = 500;
const LOOK_MS = 100;

export interface AwaitedThreadsSettings {
  readonly threads: ThreadStore;
  readonly log: EventLog;
  readonly epoch: number;
}

/**
 * Waits until the persistence worker has stored the events of one run in the thread store. If the worker is late,
 * because it does not run or is busy, this process stores the events itself. Both processes store events idempotently.
 */
export class AwaitedThreads {
  readonly #settings: AwaitedThreadsSettings;
  #waitMs = WAIT_MS;

  constructor(settings: AwaitedThreadsSettings) {
    this.#settings = settings;
  }

  /** Resolves when the thread store has the events. Each call continues the events of the previous call. */
  async append(events: readonly StreamEvent[]): Promise<void> {
    const { threads, epoch } = this.#settings;
    const isStored = await this.#awaitStored(events.at(-1)!);
    // After the worker was late once, this process waits again only when the worker has caught up.
    this.#waitMs = isStored ? WAIT_MS : 0;
    if (!isStored) await threads.append(events, { epoch });
  }

  /**
   * Waits until the event is stored. The persistence worker acknowledges stored events, and the log announces the
   * acknowledgement.
   */
  #awaitStored({ run_id: runId, seq, payload }: StreamEvent): Promise<boolean> {
    const { threads, log } = this.#settings;
    // During the run, no caller waits for the stored event, and each of the run's own events would wake this watch.
    const isLast = payload.type === 'response_done';
    return untilTrue({
      watch: isLast ? (signal) => log.watch({ signal, runId }) : undefined,
      isTrue: async () => (await threads.nextSeq(runId)) > seq,
      waitMs: this.#waitMs,
      lookMs: LOOK_MS,
    });
  }
}
