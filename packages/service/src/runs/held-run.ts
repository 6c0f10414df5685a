import type { EventLog, EventPayload, Run, RunFence, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { RunInterruption } from '@toolscript/core/agent';
import { eventId } from '@toolscript/core/internal';
import { EventEnvelopes, type ApprovalDraft } from '@toolscript/core/ports';
import { EventWriter } from './event-writer.js';
import { allEvents, eventsFrom } from './run-history.js';
import type { ObserveRun, RunObserver, StopReason, WorkEnd } from './run-observer.js';
import { RunProgress } from './run-progress.js';
import { RunState } from './run-state.js';
import { storeErrors } from '../stores/store-errors.js';

export interface HeldRunSettings {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  /** The run that this process has claimed. */
  readonly run: Run;
  readonly leaseMs: number;
  /**
   * Joins text deltas that arrive during a write into one event. The stored events are then fewer than the received
   * ones, and have different numbers.
   */
  readonly mergesDeltas?: boolean | undefined;
  /** Receives errors of failed writes, and faults of Toolscript itself. */
  readonly onFault?: ((error: unknown) => void) | undefined;
  /** If given, the work continues after a failed write, without further writes. Default: the work stops. */
  readonly onWriteFailed?: ((error: unknown) => void) | undefined;
  readonly observe?: ObserveRun | undefined;
  /** See `EventWriterSettings`. */
  readonly isPersistedElsewhere?: boolean | undefined;
}

/**
 * A run that this process holds. The object renews the lease, and writes the events in order under the run's epoch.
 * `signal` aborts if the work must stop; `stopReason` contains the reason.
 */
export class HeldRun {
  readonly run: Run;
  /** The events that earlier claims wrote. */
  readonly earlier: readonly StreamEvent[];
  readonly state: RunState;
  readonly observer: RunObserver | undefined;
  readonly #settings: HeldRunSettings;
  readonly #writer: EventWriter;
  readonly #controller = new AbortController();
  readonly #renewing: NodeJS.Timeout;
  #stopReason: StopReason | undefined;
  /** Undefined if no holder has died, so that no progress needs to be reported. */
  #progress: RunProgress | undefined;
  #reporting: Promise<void> | undefined;

  private constructor(
    settings: HeldRunSettings,
    earlier: readonly StreamEvent[],
    writer: (run: HeldRun) => EventWriter,
  ) {
    this.run = settings.run;
    this.earlier = earlier;
    this.state = new RunState(earlier);
    if (settings.run.deaths !== undefined) this.#progress = new RunProgress(earlier);
    this.observer = settings.observe?.(settings.run, earlier);
    this.#settings = settings;
    this.#writer = writer(this);
    this.#renewing = setInterval(() => void this.#renew(), settings.leaseMs / 3).unref();
    if (settings.run.cancelRequestedAt !== undefined) this.stop('cancelled');
  }

  /** Reads the events of earlier claims, and copies missing events between the log and the thread store. */
  static async open(settings: HeldRunSettings): Promise<HeldRun> {
    const { stores, log, run, isPersistedElsewhere } = settings;
    const { runId, epoch } = run;
    const { nextSeq } = await log.open(runId, epoch);
    const [stored, current] = await Promise.all([allEvents(stores, runId), stores.runs.get(runId)]);
    // A log that has lost the run also opens it for a process that has lost its claim.
    // defence: lost-runs-are-not-opened
    if (current?.epoch !== epoch) throw storeErrors.runNotHeld(runId, epoch);
    const logged = nextSeq > stored.length ? await eventsFrom(stored.length, (from) => log.read(runId, { from })) : [];
    const earlier = [...stored, ...logged];
    const held = new HeldRun(settings, earlier, (self) => {
      const onFailure = (error: unknown) => self.fail(error);
      const onWritten = self.observer?.eventsWritten.bind(self.observer);
      const { threads } = stores;
      const confirmHeld = () => self.confirmHeld();
      return new EventWriter({ log, threads, epoch, confirmHeld, isPersistedElsewhere, onFailure, onWritten });
    });
    try {
      await held.#writer.seedThreads(earlier, stored.length);
      await held.#writer.seedLog(earlier, nextSeq);
      return held;
    } catch (error) {
      held.close();
      throw error;
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stopReason;
  }

  /** Aborts the work. Only the first reason counts. */
  stop(reason: StopReason): void {
    if (this.#stopReason !== undefined) return;
    this.#stopReason = reason;
    this.interrupt();
  }

  /**
   * Handles a failed write: the run writes no more events. The work stops, unless it may continue unwritten and this
   * process still holds the run.
   */
  fail(error: unknown): void {
    const { onWriteFailed } = this.#settings;
    if (onWriteFailed === undefined || isLoss(error)) return this.leave(error);
    if (!this.#isWriting) return;
    this.#stopReason = 'write-failed';
    onWriteFailed(error);
  }

  /** Stops the work because of a fault of a store. The run stays as it is, and continues later, or elsewhere. */
  leave(error: unknown): void {
    if (this.#stopReason === 'lost') return;
    const isLost = isLoss(error);
    if (!isLost && this.#stopReason !== 'write-failed') this.reportFault(error);
    this.#stopReason = isLost ? 'lost' : 'write-failed';
    this.interrupt();
  }

  /** Aborts the work. The script of a run that was not cancelled continues later, or in another process. */
  interrupt(): void {
    this.#controller.abort(this.#stopReason === 'cancelled' ? undefined : new RunInterruption());
  }

  take(event: StreamEvent): void {
    if (this.#settings.mergesDeltas === true && this.#isWriting && this.#writer.merge(event)) return;
    // A draining run does not write new events, so the state ignores them too.
    if (this.#stopReason === 'draining') return;
    const { runId } = this.run;
    const seq = this.state.nextSeq;
    const next = event.seq === seq ? event : { ...event, seq, event_id: eventId(runId, seq) };
    this.state.take(next);
    this.observer?.event(next);
    if (!this.#isWriting) return;
    this.#writer.write(next);
    if (this.#progress?.take(next.payload) === true) this.#reporting ??= this.#reportProgress();
  }

  /** Takes a payload as the run's next event. */
  emit(payload: EventPayload): void {
    this.take(new EventEnvelopes(this.run, this.state.nextSeq).next(payload));
  }

  /**
   * Resolves when the log has the events so far. Rejects if the log cannot store the events, unless the work may
   * continue unwritten. After a rejection, the run must stop.
   */
  async flushEvents(): Promise<void> {
    const isWritten = await this.#writer.flushLog().then(
      () => this.#isWriting,
      () => false,
    );
    if (!isWritten && this.#settings.onWriteFailed === undefined) throw new RunInterruption();
  }

  /** Rejects if another process has claimed the run. */
  async confirmHeld(): Promise<void> {
    const { isHeld } = await this.#settings.stores.runs.renew(this.#fence, this.#settings.leaseMs);
    if (!isHeld) throw storeErrors.runNotHeld(this.run.runId, this.run.epoch);
  }

  /**
   * Ends or suspends the run according to its events. If the events contain no end, the run has failed or was
   * cancelled. Writes nothing if the run was lost or a write has failed.
   */
  async end(): Promise<void> {
    const status = this.#stopReason === 'cancelled' ? 'cancelled' : 'failed';
    for (const payload of this.state.missingEnd(status)) this.emit(payload);
    await this.#flush();
    // A server that begins to stop during the flush still ends a run whose end is stored.
    if (this.#stopReason === 'draining' && this.state.done === undefined) return this.release();
    if (this.#isWriting || this.#stopReason === 'draining') await this.#finish();
    this.observer?.workEnded(this.#workEnd);
    this.close();
  }

  /**
   * Returns the run to the queue. Scripts that have performed only reads become pending again, and the next worker
   * restarts them. The stored events are complete, so they prove that such a script has made no call with effects.
   */
  async release(): Promise<void> {
    await this.#flush();
    const envelopes = new EventEnvelopes(this.run, this.state.nextSeq);
    for (const payload of this.state.restarts) this.#writer.write(envelopes.next(payload));
    await this.#flush();
    await this.#reporting;
    await this.#settings.stores.runs.release(this.#fence);
    this.observer?.workEnded('draining');
    this.close();
  }

  /** Leaves the run to an operator, for this reason. */
  async park(reason: string): Promise<void> {
    try {
      await this.#settings.stores.runs.park(this.#fence, reason);
      this.observer?.workEnded('parked');
    } catch (error) {
      this.fail(error);
    }
    this.close();
  }

  /** Reports a fault of Toolscript itself to the operator. */
  reportFault(error: unknown): void {
    this.#settings.onFault?.(error);
  }

  /** Stops renewing the lease. Idempotent. */
  close(): void {
    clearInterval(this.#renewing);
  }

  /** Whether new events are written. A draining run writes none: its next worker continues from the stored events. */
  get #isWriting(): boolean {
    return this.#stopReason === undefined || this.#stopReason === 'cancelled';
  }

  get #workEnd(): WorkEnd {
    if (!this.#isWriting) return this.#stopReason!;
    return this.state.done?.status === 'suspended' ? 'suspended' : this.state.end.state;
  }

  get #fence(): RunFence {
    return { runId: this.run.runId, epoch: this.run.epoch };
  }

  async #flush(): Promise<void> {
    await this.#writer.flush().catch(() => {});
  }

  async #finish(): Promise<void> {
    try {
      await finishRun(this.#settings.stores, this.#fence, this.state);
    } catch (error) {
      this.fail(error);
    }
  }

  async #renew(): Promise<void> {
    try {
      const { isHeld, isCancelRequested } = await this.#settings.stores.runs.renew(this.#fence, this.#settings.leaseMs);
      if (!isHeld) this.stop('lost');
      else if (isCancelRequested) this.stop('cancelled');
    } catch {
      // The next write reports the failure.
    }
  }

  /** Ends the count of deaths when the log has the progress. After a failure, the next progress is reported. */
  async #reportProgress(): Promise<void> {
    try {
      await this.#writer.flushLog();
      await this.#settings.stores.runs.renew(this.#fence, this.#settings.leaseMs, { hasProgressed: true });
      this.#progress = undefined;
    } catch {
      this.#reporting = undefined;
    }
  }
}

/** Suspends or finishes a run in the store according to its events. */
async function finishRun(stores: ServiceStores, fence: RunFence, state: RunState): Promise<void> {
  const drafts = await ownDrafts(stores, fence, state);
  if (drafts.length > 0) await stores.runs.suspend(fence, drafts);
  else await stores.runs.finish(fence, state.end);
}

/**
 * Drafts the approvals for which the run waits. Omits approvals that belong to another run, which executed the script
 * earlier.
 */
async function ownDrafts(
  { threads }: ServiceStores,
  { runId }: RunFence,
  { pendingRequests }: RunState,
): Promise<ApprovalDraft[]> {
  const known = await Promise.all(pendingRequests.map(({ approvalId }) => threads.approval(approvalId)));
  return pendingRequests.filter((_, index) => (known[index]?.runId ?? runId) === runId).map((request) => ({ request }));
}

/** Whether the error means that another process holds the run, or that the run was deleted. */
export function isLoss(error: unknown): boolean {
  return error instanceof Error && (error.name === 'StaleEpochError' || error.name === 'NotFoundError');
}
