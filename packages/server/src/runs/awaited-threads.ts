import type { EventLog, StreamEvent, ThreadStore } from '@toolscript/core/protocol';
import { untilTrue } from './until-true.js';

/** The maximum wait for the persistence worker, and the interval between checks without its notifications, in ms. */
const WAIT_MS = 500;
const LOOK_MS = 100;

export interface AwaitedThreadsSettings {
  readonly threads: ThreadStore;
  readonly log: EventLog;
  readonly epoch: number;
}

/**
 * The events of one run, on their way to the thread store through the persistence worker. If that does not store them
 * in time, because none runs or it is busy, this process stores them itself: both do so idempotently.
 */
export class AwaitedThreads {
  readonly #settings: AwaitedThreadsSettings;
  #waitMs = WAIT_MS;

  constructor(settings: AwaitedThreadsSettings) {
    this.#settings = settings;
  }

  /** Resolves when the events are in the thread store. They follow those of the previous call. */
  async append(events: readonly StreamEvent[]): Promise<void> {
    const { threads, epoch } = this.#settings;
    const isStored = await this.#awaitStored(events.at(-1)!);
    // A worker that was late is waited for again after it has caught up.
    this.#waitMs = isStored ? WAIT_MS : 0;
    if (!isStored) await threads.append(events, { epoch });
  }

  /** The persistence worker acknowledges what it has stored, and the log announces that. */
  #awaitStored({ run_id: runId, seq, payload }: StreamEvent): Promise<boolean> {
    const { threads, log } = this.#settings;
    // While the run works, no caller waits for the stored event, and each of the run's own events would wake this
    // watch.
    const isLast = payload.type === 'response_done';
    return untilTrue({
      watch: isLast ? (signal) => log.watch({ signal, runId }) : undefined,
      isTrue: async () => (await threads.nextSeq(runId)) > seq,
      waitMs: this.#waitMs,
      lookMs: LOOK_MS,
    });
  }
}
