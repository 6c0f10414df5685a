import { availableParallelism } from 'node:os';
import type {
  ImageSource,
  SandboxCapture,
  SandboxEnd,
  SandboxJob,
  SandboxObserver,
  SandboxRun,
  SandboxRuntime,
  SandboxStats,
  Settlement,
} from '../../protocol/index.js';
import { internalFault } from '../../protocol/internal-fault.js';
import { FairQueue } from '../../protocol/fair-queue.js';
import type { Defined } from '../../protocol/json.js';
import { coreFile } from '../../files/core-files.js';
import type { SlotSnapshot } from '../quickjs/slot.js';
import { PROTOCOL_VERSION } from '../quickjs/image.js';
import {
  LiveRun,
  RestorableImages,
  RunTable,
  sendCapture,
  sendRun,
  sendSettlements,
  writeCapture,
} from './live-run.js';
import { ColumnReader, endSegment, readSegment, settlementBatch } from './guest-messages.js';
import type { CancelReason } from './link.js';
import { defaultMaxBytes, isNew, MemoryBudget, SANDBOX_BYTES, SlowLane, StartWatch } from './scheduling.js';
import { ReportKind, type WorkerReport } from './messages.js';
import { WorkerRoster } from './worker-roster.js';
import { HUNG, type WorkerThread } from './worker-thread.js';

export interface QuickJsOptions {
  /**
   * Number of worker threads. Default: 2, or the number of cores if that is less. The pool starts further threads for
   * scripts that compute for a long time.
   */
  size?: number | undefined;
  /** Maximum number of live scripts on one worker, including those that wait for tools. Default 1 024. */
  slotsPerWorker?: number | undefined;
  /**
   * Maximum bytes of the sandboxes of all live scripts together; further scripts wait in the queue. Default: a
   * quarter of the machine's memory, or of its control group's if that is less.
   */
  maxPoolBytes?: number | undefined;
  /** Replaces a worker after this many scripts. Default: never. */
  maxScriptsPerWorker?: number | undefined;
  /** Maximum number of scripts that wait for a free sandbox. Default 10 000. */
  maxWaiting?: number | undefined;
  /** Maximum memory of one sandbox, in MiB. Default 1 088: the highest `memoryMb` plus the engine. */
  maxMemoryMb?: number | undefined;
}

/** If this number of workers have died while they executed a script, the script counts as the cause. */
const MAX_DEATHS = 3;

/** The versions of the bridge that this release writes and reads. */
export const QUICKJS_BRIDGE: NonNullable<SandboxRuntime['bridge']> = {
  version: PROTOCOL_VERSION,
  known: [PROTOCOL_VERSION],
};

/**
 * Runs scripts on QuickJS in worker threads. Each worker runs as many scripts as its slots and the pool's memory allow.
 * Further runs wait, and principals take turns. The pool replaces a worker that it had to terminate; the worker's other
 * scripts replay their tapes on another worker. A script that computes for a long time while others share its worker is
 * moved in the same way, to a slow lane of workers that serve such scripts only.
 */
export class QuickJsPool implements SandboxRuntime {
  readonly name = 'quickjs';
  readonly bridge: NonNullable<SandboxRuntime['bridge']> = QUICKJS_BRIDGE;
  readonly sharesMemory = true;
  readonly #options: Defined<QuickJsOptions>;
  readonly #workers: WorkerRoster;
  readonly #runs = new RunTable<LiveRun>();
  readonly #waiting: FairQueue<LiveRun>;
  /** Ended runs whose worker has not released them yet. */
  readonly #draining = new Map<number, { worker: WorkerThread; slot: number }>();
  readonly #slowLane: SlowLane = new SlowLane({
    workers: () => this.#workers.slowLane(),
    isOpen: (worker) => this.#workers.isOpen(worker),
    startTurn: (run, worker) => this.#startTurn(run, worker),
    expire: (run, waitedMs) =>
      this.#end(run, isNew(run) ? { type: 'busy', waitedMs } : { type: 'limit', limit: 'wall' }),
  });
  readonly #startWatch: StartWatch = new StartWatch(
    () => this.#runs.all(),
    (run) => this.#end(run, { type: 'busy', waitedMs: run.job.limits.queueWaitMs }),
  );
  /** Runs that no longer have a worker, and wait for room on a worker. */
  readonly #strandedRuns = new Set<LiveRun>();
  readonly #images: RestorableImages;
  readonly #budget: MemoryBudget;
  #isLoaded = false;
  /** The names of this version's images. */
  #imageNames: readonly string[] = [];
  #warming: Promise<void> | undefined;
  #nextKey = 0;
  #isClosed = false;
  #completedCount = 0;
  #movedCount = 0;

  /** `entry`: the module of a worker thread. Tests pass modules with faults. */
  constructor(options: QuickJsOptions = {}, entry = coreFile('sandbox/worker/entry.js')) {
    this.#options = {
      size: options.size ?? Math.min(2, availableParallelism()),
      slotsPerWorker: options.slotsPerWorker ?? 1_024,
      maxPoolBytes: options.maxPoolBytes ?? defaultMaxBytes(),
      maxScriptsPerWorker: options.maxScriptsPerWorker ?? Number.POSITIVE_INFINITY,
      maxWaiting: options.maxWaiting ?? 10_000,
      maxMemoryMb: options.maxMemoryMb ?? 1_088,
    };
    this.#workers = new WorkerRoster(this.#options, entry, {
      onReport: (worker, report) => this.#receive(worker, report),
      onLost: (worker, culprit, detail) => this.#recover(worker, culprit, detail),
      hasOneRun: () => this.#runs.size === 1,
    });
    this.#waiting = new FairQueue(this.#options.maxWaiting);
    this.#images = new RestorableImages(this.#options.maxMemoryMb);
    this.#budget = new MemoryBudget(this.#options.maxPoolBytes, () => this.#grownBytes());
  }

  warm(): Promise<void> {
    this.#warming ??= this.#start();
    return this.#warming;
  }

  run(job: SandboxJob, observer: SandboxObserver): SandboxRun {
    const run = new LiveRun(this, this.#newKey(), job, observer);
    this.#runs.add(run);
    if (this.#isClosed) this.#endSoon(run, { type: 'cancelled', reason: 'cancelled' });
    else if (job.cell === undefined) this.#begin(run);
    else this.#afterImages(run);
    return run;
  }

  /** Starts a script of a program when the names of the images are known, which its memory will need. */
  #afterImages(run: LiveRun): void {
    this.images().then(
      (images) => {
        this.#imageNames = [...images.keys()];
        this.#begin(run);
      },
      (error: unknown) => this.#end(run, { type: 'internal', detail: String(error) }),
    );
  }

  /** Starts the run, now or as soon as a worker has room. */
  #begin(run: LiveRun): void {
    if (run.state === 'waiting' && !this.#dispatch(run)) this.#wait(run);
  }

  restore(capture: SandboxCapture, job: SandboxJob, observer: SandboxObserver, images: ImageSource): SandboxRun {
    const run = new LiveRun(this, this.#newKey(), job, observer);
    this.#runs.add(run);
    if (this.#isClosed) this.#endSoon(run, { type: 'cancelled', reason: 'cancelled' });
    else
      this.#images.captureOrigin(capture, images).then(
        (origin) => {
          run.origin = origin;
          if (job.cell === undefined) this.#begin(run);
          else this.#afterImages(run);
        },
        (error: unknown) => this.#end(run, { type: 'unrestorable', detail: String(error) }),
      );
    return run;
  }

  #newKey(): number {
    return this.#nextKey++ & 0x3fff_ffff;
  }

  images(): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#images.current();
  }

  async capture(run: LiveRun): Promise<SandboxCapture | undefined> {
    const images = run.origin?.other === undefined ? [...(await this.images()).keys()] : run.origin.images;
    if (run.state !== 'running' || run.capturing !== undefined) return undefined;
    return new Promise((resolve) => {
      run.capturing = (snapshot) => resolve(snapshot === undefined ? undefined : writeCapture(snapshot, images));
      if (run.worker !== undefined) sendCapture(run, run.worker);
    });
  }

  settle(run: LiveRun, settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    if (run.state !== 'running') return;
    const settled = settlements.map(({ callIndex }) => callIndex);
    const entry = { batchJson: settlementBatch(settlements), settled, clockMs };
    run.tape.push(entry);
    run.wallMs = wallMs;
    if (run.worker === undefined) return;
    if (run.lane === 'slow') this.#slowLane.want(run);
    else sendSettlements(run, run.worker);
  }

  cancel(run: LiveRun, reason: CancelReason): void {
    if (run.state === 'ended') return;
    // A script that executes a segment stops at its next check of the clock. A script that waits ends at once.
    run.worker?.control.cancel(run.slot, reason);
    this.#endSoon(run, { type: 'cancelled', reason });
  }

  stats(): SandboxStats {
    const running = this.#runs.all().filter(({ state }) => state === 'running');
    const awaitingTools = running.filter(({ worker, outstanding }) => worker !== undefined && outstanding <= 0).length;
    return {
      workers: this.#workers.size,
      running: running.length,
      executing: running.length - awaitingTools,
      awaitingTools,
      waiting: this.#waiting.size,
      queued: this.#waiting.size,
      memoryBytes: this.#budget.usedBytes,
      maxMemoryBytes: this.#budget.maxBytes,
      completed: this.#completedCount,
      instancesDropped: this.#workers.droppedInstances,
      workersReplaced: this.#workers.replacedCount,
      moved: this.#movedCount,
    };
  }

  /**
   * The growth of live sandboxes, plus sandboxes whose scripts have left them and whose threads have not yet freed
   * them.
   */
  #grownBytes(): number {
    return this.#workers.grownBytes + this.#draining.size * SANDBOX_BYTES;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startWatch.close();
    for (const run of this.#runs.all()) this.cancel(run, 'cancelled');
    await this.#warming?.catch(() => {});
    await this.#workers.close();
  }

  async #start(): Promise<void> {
    await this.#workers.start();
    this.#isLoaded = true;
    if (this.#isClosed) return;
    this.#serveWaiting();
    await this.#workers.ready();
  }

  /**
   * Assigns a run to the least loaded worker with a free slot, or to the slow lane. Returns false if the run must wait.
   */
  #dispatch(run: LiveRun): boolean {
    if (!this.#isLoaded) return false;
    if (run.lane === 'slow') {
      this.#slowLane.want(run);
      return true;
    }
    const best = this.#workers.leastLoaded();
    const first = run.state === 'waiting';
    if (best === undefined || (first && !this.#budget.hasRoom)) return false;
    const wasBusy = best.isBusy;
    this.#place(run, best);
    if (first && run.origin === undefined) run.observer.onStart();
    if (first && wasBusy) this.#startWatch.limit(run);
    sendRun(run, best, this.#maxMemoryBytes);
    this.#workers.scriptStarted(best);
    return true;
  }

  /** Maximum memory of one sandbox. */
  get #maxMemoryBytes(): number {
    return this.#options.maxMemoryMb * 1_048_576;
  }

  /** Gives the run a free slot of `worker`, which must have one. */
  #place(run: LiveRun, worker: WorkerThread): void {
    run.slot = worker.takeSlot()!;
    run.worker = worker;
    if (run.state === 'waiting') this.#budget.add();
    run.state = 'running';
    worker.started++;
  }

  #startTurn(run: LiveRun, worker: WorkerThread): void {
    if (run.worker === worker) return sendSettlements(run, worker);
    this.#place(run, worker);
    sendRun(run, worker, this.#maxMemoryBytes);
  }

  #wait(run: LiveRun): void {
    const { principal, limits } = run.job;
    this.#waiting.add(run, { principal, waitMs: limits.queueWaitMs }, (waitedMs) =>
      this.#end(run, { type: 'busy', waitedMs }),
    );
    this.warm().catch((error: unknown) =>
      this.#end(run, {
        type: 'internal',
        detail: `The sandbox did not start: ${String(error)}. If a file is missing, install @toolscript/core again`,
      }),
    );
  }

  #serveWaiting(): void {
    for (let run = this.#waiting.peek(); run !== undefined; run = this.#waiting.peek()) {
      if (!this.#dispatch(run)) return;
      this.#waiting.remove(run);
    }
  }

  #receive(worker: WorkerThread, report: WorkerReport): void {
    const [key, kind] = report;
    if ((kind & ReportKind.released) !== 0) return this.#onDrained(key);
    const run = this.#runs.get(key);
    // The run may have moved: its previous worker may still send reports about it.
    if (run === undefined || run.state === 'ended' || run.worker !== worker) return;
    run.outstanding--;
    if (run.lane === 'slow' && run.outstanding <= 0) this.#slowLane.endTurn(run);
    if ((kind & (ReportKind.moved | ReportKind.restored | ReportKind.captured | ReportKind.refused)) !== 0)
      return this.#receiveAnswer(run, worker, report);
    if (run.toSkip > 0 && (kind & ReportKind.ended) === 0) {
      run.toSkip--;
      return;
    }
    run.toSkip = 0;
    run.segments++;
    this.#deliver(run, report);
  }

  #receiveAnswer(run: LiveRun, worker: WorkerThread, [, kind, , , , rest]: WorkerReport): void {
    if ((kind & ReportKind.refused) !== 0) return this.#onRefusal(run, worker, String(rest?.detail));
    if ((kind & ReportKind.moved) !== 0) return this.#moveToSlowLane(run, worker);
    if ((kind & ReportKind.captured) !== 0) return this.#onCapture(run, rest?.snapshot);
    if (run.isRestored) return;
    run.isRestored = true;
    run.startBy = undefined;
    run.observer.onStart();
  }

  #onCapture(run: LiveRun, snapshot: SlotSnapshot | undefined): void {
    const { capturing } = run;
    run.capturing = undefined;
    if (snapshot !== undefined) this.#release(run);
    capturing?.(snapshot);
  }

  /**
   * The system has no memory for one more sandbox: the run waits until another script has ended, or ends if no other
   * script has a sandbox.
   */
  #onRefusal(run: LiveRun, worker: WorkerThread, detail: string): void {
    if (!this.#budget.learnLimit()) return this.#end(run, { type: 'internal', detail });
    run.worker = undefined;
    if (run.lane === 'slow') this.#slowLane.leave(run);
    this.#freeSlot(worker, run.slot, run.key);
    this.#startOver(run);
    if (run.segments === 0) this.#startWatch.limit(run);
    this.#strandedRuns.add(run);
  }

  #moveToSlowLane(run: LiveRun, worker: WorkerThread): void {
    if (run.lane === 'fast') this.#movedCount++;
    run.worker = undefined;
    this.#slowLane.leave(run);
    run.lane = 'slow';
    run.sliceMs *= 2;
    this.#freeSlot(worker, run.slot, run.key);
    this.#restart(run);
  }

  /** Delivers a segment. A script's output must never make the message listener throw. */
  #deliver(run: LiveRun, report: WorkerReport): void {
    try {
      run.columns ??= new ColumnReader(run.job.javascript);
      const segment = readSegment(report, run.job.limits, run.columns, this.#imageNames);
      if ((report[1] & ReportKind.ended) !== 0) this.#release(run);
      run.observer.onSegment(segment);
    } catch (error) {
      run.isBroken = true;
      this.#end(run, {
        type: 'internal',
        detail: `Toolscript cannot read the script's report: ${String(error)}`,
      });
    }
  }

  #endSoon(run: LiveRun, end: SandboxEnd): void {
    queueMicrotask(() => this.#end(run, end));
  }

  #end(run: LiveRun, end: SandboxEnd): void {
    if (run.state === 'ended') return;
    if (run.worker !== undefined) this.#drain(run, run.worker);
    this.#release(run);
    run.observer.onSegment(endSegment(end));
  }

  /**
   * The run has ended for the host, but perhaps not on its worker: the slot is free when the worker reports that it has
   * released the run.
   */
  #drain(run: LiveRun, worker: WorkerThread): void {
    this.#draining.set(run.key, { worker, slot: run.slot });
    worker.segmentLimits.set(run.key, 0);
    worker.send(['drop', run.key, run.isBroken]);
    run.worker = undefined;
  }

  #onDrained(key: number): void {
    const drained = this.#draining.get(key);
    if (drained === undefined) return;
    this.#draining.delete(key);
    this.#freeSlot(drained.worker, drained.slot, key);
  }

  #release(run: LiveRun): void {
    if (run.state === 'running') this.#budget.remove();
    run.state = 'ended';
    run.capturing?.(undefined);
    run.capturing = undefined;
    this.#runs.delete(run.key);
    this.#strandedRuns.delete(run);
    this.#waiting.remove(run);
    if (run.lane === 'slow') this.#slowLane.leave(run);
    this.#completedCount++;
    const { worker } = run;
    run.worker = undefined;
    if (worker !== undefined) this.#freeSlot(worker, run.slot, run.key);
  }

  #freeSlot(worker: WorkerThread, slot: number, key: number): void {
    if (worker.isLost) return;
    worker.segmentLimits.delete(key);
    worker.giveSlot(slot);
    this.#workers.scriptEnded(worker);
    if (worker.lane === 'slow') this.#slowLane.serve();
    if (this.#strandedRuns.size > 0) this.#serveStranded();
    if (this.#waiting.size > 0) this.#serveWaiting();
  }

  /**
   * Handles the loss of a worker. The script that hung its worker ends with the limit `wall`. The other scripts start
   * over on another worker and replay their tapes. So does a script that was executing when its worker died, until
   * MAX_DEATHS workers have died in this way.
   */
  #recover(worker: WorkerThread, culprit: number | undefined, detail: string): void {
    if (this.#isClosed) return;
    const affected = this.#runs.all().filter((run) => run.worker === worker);
    this.#slowLane.lost(worker);
    for (const [key, drained] of this.#draining) if (drained.worker === worker) this.#draining.delete(key);
    if (!this.#workers.replaceLost(worker)) return this.#giveUp(affected, detail);
    for (const run of affected) {
      run.worker = undefined;
      if (run.key === culprit && detail === HUNG) this.#end(run, { type: 'limit', limit: 'wall' });
      else if (run.key === culprit && ++run.deaths >= MAX_DEATHS)
        this.#end(run, { type: 'internal', detail: lostTooOften(detail) });
      else this.#restart(run);
    }
    this.#serveWaiting();
  }

  /**
   * Handles threads that die repeatedly before they are ready. Without any worker, all runs end. Otherwise the affected
   * runs of the fast lane restart, and those of the slow lane end.
   */
  #giveUp(affected: readonly LiveRun[], detail: string): void {
    const isEmpty = this.#workers.size === 0;
    for (const run of isEmpty ? this.#runs.all() : affected) {
      run.worker = undefined;
      if (!isEmpty && run.lane === 'fast') this.#restart(run);
      else
        this.#end(run, {
          type: 'internal',
          detail: `A worker thread of the sandbox could not start: ${detail}. Raise the limits of memory and threads of this process`,
        });
    }
    if (!isEmpty) return;
    this.#warming = undefined;
    this.#workers.resetFailures();
  }

  /** Moves the run to another worker, now or as soon as one has room. */
  #restart(run: LiveRun): void {
    this.#startOver(run);
    if (!this.#dispatch(run)) this.#strandedRuns.add(run);
  }

  #startOver(run: LiveRun): void {
    run.toSkip = run.segments;
    this.#runs.delete(run.key);
    run.key = this.#newKey();
    this.#runs.add(run);
    run.startBy = undefined;
  }

  #serveStranded(): void {
    for (const run of this.#strandedRuns) if (this.#dispatch(run)) this.#strandedRuns.delete(run);
  }
}

function lostTooOften(detail: string): string {
  return internalFault(`${MAX_DEATHS} worker threads ended while they executed this script: ${detail}.`).message;
}
