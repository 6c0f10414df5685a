import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery, EventLog, Run, StreamEvent, ThreadStore } from '@toolscript/core/protocol';
import type { RunProjector } from '../projections/run-projector.js';
import { untilTrue } from './until-true.js';

/** The consumer group of the log that stores events in threads. */
export const PERSISTENCE_GROUP = 'persistence';

/** Time after which another process gets events that this process has not stored, in ms. */
const LEASE_MS = 30_000;

/** The interval between searches for events whose lease has expired, in ms. */
const LOOK_MS = 1_000;

/** The delay before the next attempt after a store has failed, in ms. */
const RETRY_MS = 500;

/** Maximum number of events of one write. */
const MAX_EVENTS = 500;

/**
 * Time for which the events of a run wait for further events, in ms. An event that ends or suspends the run does not
 * wait.
 */
const GATHER_MS = 200;

/** Maximum number of runs that are stored at the same time. */
const LANES = 4;

export interface PersistenceWorkerSettings {
  readonly threads: ThreadStore;
  readonly log: EventLog;
  /** Writes the stored runs to the projection before their events are acknowledged. */
  readonly projector?: RunProjector | undefined;
  /** The identity of this process as a consumer of the log. */
  readonly consumer: string;
  /** Receives faults of the stores, and the error of each delivery that could not be stored. */
  readonly onFault: (error: unknown, run: Pick<Run, 'runId'> | undefined) => void;
}

/**
 * Copies events from the log to the thread store, in order, and acknowledges them in the log. A repeated delivery
 * changes nothing. Events that cannot be stored become a dead letter after `MAX_DELIVERIES`. If a store does not
 * answer, the worker tries again.
 */
export class PersistenceWorker {
  readonly #settings: PersistenceWorkerSettings;
  readonly #stopping = new AbortController();
  #lanes: Promise<unknown> = Promise.resolve();
  /** Functions that wake the lanes that wait for the next change. */
  readonly #waiting = new Set<() => void>();
  /**
   * `#gathering`: deliveries that wait for further events of their runs. `#gatheredDeliveries`: deliveries that a lane may store.
   */
  readonly #gathering = new Set<Promise<void>>();
  readonly #gatheredDeliveries: Delivery[] = [];
  /** While true, the lanes receive no more events, so that the events do not become dead letters. */
  #isStoreFailing = false;
  #reportedFault: string | undefined;

  constructor(settings: PersistenceWorkerSettings) {
    this.#settings = settings;
    // Each delivery that waits listens to this signal; Node would report more than 10 listeners as a leak.
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    const lanes = Array.from({ length: LANES }, () => this.#persist());
    this.#lanes = Promise.all([...lanes, this.#watch()]);
  }

  /** Stops receiving events. Resolves when the received events are stored, or a store has failed to store them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#lanes;
    await Promise.all(this.#gathering);
    for (const delivery of this.#gatheredDeliveries.splice(0)) await this.#store(delivery);
  }

  async #watch(): Promise<void> {
    try {
      for await (const _change of this.#settings.log.watch({ signal: this.#stopping.signal })) this.#wake();
    } catch (error) {
      this.#report(error, undefined);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  async #persist(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // The wait begins before the search, so that no change is missed.
      const changed = this.#nextChange();
      const isIdle = this.#isStoreFailing || !(await this.#persistNext());
      if (isIdle) await changed.done;
      changed.cancel();
    }
  }

  /** Stores one delivery. Returns false if there was none, or after a fault. Never rejects. */
  async #persistNext(): Promise<boolean> {
    try {
      const delivery = this.#gatheredDeliveries.shift() ?? (await this.#receive());
      if (delivery !== undefined) await this.#store(delivery);
      return delivery !== undefined;
    } catch (error) {
      this.#report(error, undefined);
      await this.#pause();
      return false;
    }
  }

  /** The next delivery that need not wait for further events. Returns undefined if the log has no more deliveries. */
  async #receive(): Promise<Delivery | undefined> {
    const { log, consumer } = this.#settings;
    for (;;) {
      const options = { group: PERSISTENCE_GROUP, consumer, leaseMs: LEASE_MS, limit: MAX_EVENTS };
      const delivery = await log.receive(options);
      // A repeated delivery may contain the event that cannot be stored, so no further events join the delivery.
      if (delivery === undefined || delivery.attempt > 1 || isWhole(delivery.events)) return delivery;
      const gathering = this.#gather(delivery).finally(() => this.#gathering.delete(gathering));
      this.#gathering.add(gathering);
    }
  }

  /**
   * Waits for further events of the run, so that one transaction stores them together. Never rejects: if the log does
   * not answer, the lanes store the events so far.
   */
  async #gather(delivery: Delivery): Promise<void> {
    const { log } = this.#settings;
    const { runId } = delivery;
    const events = [...delivery.events];
    const isTrue = async () => {
      const from = events.at(-1)!.seq + 1;
      events.push(...(await log.read(runId, { from, limit: MAX_EVENTS })).events);
      return isWhole(events);
    };
    const watch = (signal: AbortSignal) => log.watch({ signal, runId });
    const { signal } = this.#stopping;
    await untilTrue({ watch, isTrue, waitMs: GATHER_MS, lookMs: GATHER_MS, signal }).catch(() => {});
    this.#gatheredDeliveries.push({ ...delivery, events });
    this.#wake();
  }

  async #store(delivery: Delivery): Promise<void> {
    const { threads, log, projector } = this.#settings;
    const { runId, events } = delivery;
    for (;;) {
      try {
        await threads.append(events);
        await projector?.project(runId);
        this.#isStoreFailing = false;
        this.#reportedFault = undefined;
        return void (await log.acknowledge(delivery));
      } catch (error) {
        const { name, message } = error as Error;
        this.#isStoreFailing = name === 'StoreUnavailableError';
        // The thread of the run was deleted.
        if (name === 'NotFoundError') return this.#deleteRun(runId);
        this.#report(error, { runId });
        if (!this.#isStoreFailing) return void (await log.reject(delivery, message));
        if (this.#stopping.signal.aborted) return;
        await this.#pause();
      }
    }
  }

  /** The log's entry is deleted last, so that an interrupted deletion is repeated. */
  async #deleteRun(runId: string): Promise<void> {
    await this.#settings.projector?.delete(runId);
    await this.#settings.log.delete(runId);
  }

  /** Reports a fault. Reports the same fault of an unavailable store only once, until a delivery is stored. */
  #report(error: unknown, run: Pick<Run, 'runId'> | undefined): void {
    if (error instanceof Error && error.name === 'StoreUnavailableError') {
      if (this.#reportedFault === error.message) return;
      this.#reportedFault = error.message;
    }
    this.#settings.onFault(error, run);
  }

  #nextChange(): { readonly done: Promise<void>; readonly cancel: () => void } {
    let cancel = (): void => {};
    const done = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      const wake = () => cancel();
      cancel = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
    return { done, cancel };
  }

  async #pause(): Promise<void> {
    await delay(RETRY_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}

/** Whether the events need not wait for further events. */
function isWhole(events: readonly StreamEvent[]): boolean {
  return events.length >= MAX_EVENTS || events.at(-1)!.payload.type === 'response_done';
}
