import type { EventLog, EventPayload, StreamEvent, ThreadStore } from '@toolscript/core/protocol';
import { AwaitedThreads } from './awaited-threads.js';
import { eventsFrom } from './run-history.js';

type Delta = Extract<EventPayload, { type: 'item_delta' }>;

/** Maximum number of UTF-16 units in a delta that joins several deltas. */
const MAX_DELTA_LENGTH = 16_384;

/** Maximum number of events of one write. */
const MAX_BATCH = 500;

/** Time for which events for the thread store wait for further events, in ms. Live readers read events from the log. */
const GATHER_MS = 200;

export interface EventWriterSettings {
  readonly log: EventLog;
  readonly threads: ThreadStore;
  readonly epoch: number;
  /** Rejects with a `StaleEpochError` if this process no longer has the claim of the run. */
  readonly confirmHeld: () => Promise<void>;
  /**
   * True: a persistence worker copies the events from the log to the thread store. Default false: this process writes
   * them to the thread store.
   */
  readonly isPersistedElsewhere?: boolean | undefined;
  /** Receives the error of a failed write. The queue that failed writes no more events. */
  readonly onFailure: (error: unknown) => void;
  /** Called after each successful write. */
  readonly onWritten?: ((store: 'log' | 'threads', seconds: number) => void) | undefined;
}

/**
 * Writes the events of one run in order: first to the log, where subscribers read them, then to the thread store. Each
 * write takes all events that arrived during the previous one, up to a maximum.
 */
export class EventWriter {
  readonly #settings: EventWriterSettings;
  readonly #toLog: Lane;
  readonly #toThreads: Lane;

  constructor(settings: EventWriterSettings) {
    const { threads, log, epoch, onFailure, isPersistedElsewhere = false } = settings;
    const awaited = isPersistedElsewhere ? new AwaitedThreads({ threads, log, epoch }) : undefined;
    this.#settings = settings;
    this.#toThreads = new Lane(
      async (events) => {
        const startedAt = performance.now();
        await (awaited === undefined ? threads.append(events, { epoch }) : awaited.append(events));
        this.#reportWrite('threads', startedAt);
      },
      onFailure,
      GATHER_MS,
    );
    this.#toLog = new Lane(async (events) => {
      const startedAt = performance.now();
      await this.#publish(events);
      this.#reportWrite('log', startedAt);
      for (const event of events) this.#toThreads.push(event);
    }, onFailure);
  }

  write(event: StreamEvent): void {
    this.#toLog.push(event);
  }

  /**
   * Appends the text of a delta to the previous event if that event is a delta of the same item whose write has not
   * begun, and if the joined text is short enough. Returns whether the text was appended.
   */
  merge({ payload }: StreamEvent): boolean {
    return isPlainDelta(payload) && this.#toLog.changeLast((last) => withDelta(last, payload));
  }

  /**
   * Publishes events. If the log has lost the run, for example because its server restarted, this process publishes the
   * earlier events again. The log has also lost the epoch, so the run store decides whether this process may still
   * write. The log is opened first: a process that claims the run after the decision then excludes this one.
   */
  async #publish(events: readonly StreamEvent[]): Promise<void> {
    const { log, epoch, threads, confirmHeld } = this.#settings;
    try {
      await log.publish(epoch, events);
    } catch (error) {
      const { run_id: runId, seq } = events[0]!;
      if (!(error instanceof Error) || error.name !== 'EventOrderError') throw error;
      const { nextSeq } = await log.open(runId, epoch);
      // defence: lost-runs-are-not-published
      await confirmHeld();
      if (nextSeq > seq) throw error;
      await this.#toThreads.flush();
      const stored = await eventsFrom(nextSeq, (from) => threads.readEvents(runId, { from }));
      await this.seedLog(stored, 0);
      await log.publish(epoch, events);
    }
  }

  #reportWrite(store: 'log' | 'threads', startedAt: number): void {
    this.#settings.onWritten?.(store, (performance.now() - startedAt) / 1000);
  }

  /** Resolves when the log has the events so far. Rejects if a write has failed. */
  flushLog(): Promise<void> {
    return this.#toLog.flush();
  }

  /** Resolves when the log and the thread store have the events so far. Rejects if a write has failed. */
  async flush(): Promise<void> {
    await this.#toLog.flush();
    await this.#toThreads.flush();
  }

  /** Copies to the log the events that only the thread store has. */
  async seedLog(events: readonly StreamEvent[], from: number): Promise<void> {
    for (let index = from; index < events.length; index += MAX_BATCH)
      await this.#settings.log.publish(this.#settings.epoch, events.slice(index, index + MAX_BATCH));
  }

  /** Copies to the thread store the events that only the log has. */
  async seedThreads(events: readonly StreamEvent[], from: number): Promise<void> {
    const { threads, epoch } = this.#settings;
    for (let index = from; index < events.length; index += MAX_BATCH)
      await threads.append(events.slice(index, index + MAX_BATCH), { epoch });
  }
}

/** A queue that performs one write at a time. */
class Lane {
  readonly #gatherMs: number;
  /** Ends the wait for further events. */
  #stopGathering: (() => void) | undefined;
  readonly #write: (events: readonly StreamEvent[]) => Promise<void>;
  readonly #onFailure: (error: unknown) => void;
  #waiting: StreamEvent[] = [];
  #isDraining = false;
  #failure: { readonly error: unknown } | undefined;
  #pushedCount = 0;
  #writtenCount = 0;
  /** The functions to call after the next write. */
  readonly #flushers: (() => void)[] = [];

  /**
   * `gatherMs`: time for which the first event of a write waits for further events, unless a caller flushes the queue.
   */
  constructor(
    write: (events: readonly StreamEvent[]) => Promise<void>,
    onFailure: (error: unknown) => void,
    gatherMs = 0,
  ) {
    this.#gatherMs = gatherMs;
    this.#write = write;
    this.#onFailure = onFailure;
  }

  push(event: StreamEvent): void {
    if (this.#failure !== undefined) return;
    this.#pushedCount += 1;
    this.#waiting.push(event);
    if (this.#isDraining) return;
    this.#isDraining = true;
    void this.#drain();
  }

  /**
   * Replaces the last waiting event by the result of `change`. Returns false if no event waits, or if `change` returns
   * undefined.
   */
  changeLast(change: (last: StreamEvent) => StreamEvent | undefined): boolean {
    const last = this.#waiting.at(-1);
    const changed = last && change(last);
    if (changed !== undefined) this.#waiting[this.#waiting.length - 1] = changed;
    return changed !== undefined;
  }

  /** Resolves when the events that were pushed so far are written. Rejects if a write has failed. */
  async flush(): Promise<void> {
    const upTo = this.#pushedCount;
    while (this.#writtenCount < upTo && this.#failure === undefined) {
      this.#stopGathering?.();
      await new Promise<void>((resolve) => this.#flushers.push(resolve));
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #drain(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        if (this.#gatherMs > 0 && this.#flushers.length === 0) await this.#gather();
        const events = this.#waiting.splice(0, MAX_BATCH);
        await this.#write(events);
        this.#writtenCount += events.length;
        this.#notifyFlushers();
      }
    } catch (error) {
      this.#failure = { error };
      this.#waiting = [];
      this.#notifyFlushers();
      this.#onFailure(error);
    }
    this.#isDraining = false;
  }

  #notifyFlushers(): void {
    for (const notify of this.#flushers.splice(0)) notify();
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#stopGathering?.(), this.#gatherMs);
      this.#stopGathering = () => {
        clearTimeout(timer);
        this.#stopGathering = undefined;
        resolve();
      };
    });
  }
}

function isPlainDelta(payload: EventPayload): payload is Delta {
  return payload.type === 'item_delta' && Object.keys(payload).length === 3;
}

function withDelta(event: StreamEvent, { item_id: itemId, delta }: Delta): StreamEvent | undefined {
  const { payload } = event;
  if (!isPlainDelta(payload) || payload.item_id !== itemId) return undefined;
  if (payload.delta.length + delta.length > MAX_DELTA_LENGTH) return undefined;
  return { ...event, payload: { ...payload, delta: payload.delta + delta } };
}
