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
import type { SlotSnapshot } from '../quickjs/slot.js';
import { KNOWN_PROTOCOLS, PROTOCOL_VERSION } from '../quickjs/image.js';
import { loadArtefacts, type Artefacts } from './artefacts.js';
import { writeCapture } from './captures.js';
import { ColumnReader } from './columns.js';
import type { CancelReason } from './control.js';
import { writeBatch } from './guest-messages.js';
import { LiveRun } from './live-run.js';
import { defaultMaxBytes, MemoryBudget, SANDBOX_BYTES } from './memory-budget.js';
import { ReportKind, type WorkerReport } from './messages.js';
import { RestorableImages } from './restorable-images.js';
import { sendRun, sendSettle } from './run-commands.js';
import { RunTable } from './run-table.js';
import { endSegment, readSegment } from './segments.js';
import { isNew, SlowLane } from './slow-lane.js';
import { WaitingRuns } from './waiting-runs.js';
import { HUNG, WorkerThread, type Lane } from './worker-thread.js';

export interface QuickJsOptions {
  /** Worker threads. Default: 2, or the number of cores where that is less. */
  size?: number;
  /** Scripts that may be live on one worker, most of them waiting for tools. Default 1 024. */
  slotsPerWorker?: number;
  /**
   * Bytes that the sandboxes of all live scripts may take together; a script beyond them waits in the queue. Default:
   * a quarter of the machine's memory, or of its control group's where that is less.
   */
  maxPoolBytes?: number;
  /** Replaces a worker after this many scripts. Default: never. */
  maxScriptsPerWorker?: number;
  /** Scripts that may wait for a free sandbox. Default 10 000. */
  maxWaiting?: number;
  /** The most memory one sandbox can ever have, in MiB. Default 1 088: the highest `memoryMb` and the engine. */
  maxMemoryMb?: number;
}

/** Memory of dropped instances that a worker may still hold: it is freed when V8 gets to it, or with the worker. */
const RETIRE_BYTES = 1 << 30;

/** Threads that may die before they were ready, in a row, before the pool stops making new ones. */
const MOST_STILLBIRTHS = 3;

/** Workers that may die while they are busy with a script, before it is taken for the cause. */
const MAX_DEATHS = 3;

/** How long a worker of the slow lane is kept when it has nothing to do. */
const SLOW_LANE_IDLE_MS = 5_000;

/**
 * QuickJS in worker threads, many scripts a worker: as many as its slots and the pool's memory allow. Beyond that
 * runs wait, in turn by principal. A worker that had to be ended is replaced, and the other scripts it held go on from their tapes on
 * another worker. A script that computes for long while others share its worker is moved in the same way, to a
 * slow lane of workers that serve such scripts only.
 */
export class QuickJsPool implements SandboxRuntime {
  readonly name = 'quickjs';
  readonly bridge = { version: PROTOCOL_VERSION, known: KNOWN_PROTOCOLS };
  readonly #options: Required<QuickJsOptions>;
  readonly #entry: URL;
  readonly #workers: WorkerThread[] = [];
  readonly #runs = new RunTable<LiveRun>();
  readonly #waiting: WaitingRuns<LiveRun>;
  /** Ended runs whose worker has not let go of them yet. */
  readonly #draining = new Map<number, { worker: WorkerThread; slot: number }>();
  readonly #slowWorkers: WorkerThread[] = [];
  readonly #slowLane: SlowLane = new SlowLane({
    workers: () => this.#fillSlowLane(),
    isOpen: (worker) => this.#isOpen(worker),
    startTurn: (run, worker) => this.#startTurn(run, worker),
    expire: (run, waitedMs) =>
      this.#end(run, isNew(run) ? { type: 'busy', waitedMs } : { type: 'limit', limit: 'wall' }),
  });
  /** Worn out, and replaced already; they end with their last script. */
  readonly #retiring = new Set<WorkerThread>();
  /** Runs that lost their worker and wait for room on another. */
  readonly #stranded = new Set<LiveRun>();
  readonly #images: RestorableImages;
  readonly #budget: MemoryBudget;
  #spare: WorkerThread | undefined;
  #artefacts: Promise<Artefacts> | undefined;
  #isLoaded = false;
  #warming: Promise<void> | undefined;
  #nextKey = 0;
  #closed = false;
  #completed = 0;
  #replaced = 0;
  #stillbirths = 0;
  #droppedBefore = 0;
  #moved = 0;

  /** `entry`: what a worker thread runs. Tests plant faults there. */
  constructor(options: QuickJsOptions = {}, entry = new URL('./entry.js', import.meta.url)) {
    this.#entry = entry;
    this.#options = {
      size: options.size ?? Math.min(2, availableParallelism()),
      slotsPerWorker: options.slotsPerWorker ?? 1_024,
      maxPoolBytes: options.maxPoolBytes ?? defaultMaxBytes(),
      maxScriptsPerWorker: options.maxScriptsPerWorker ?? Number.POSITIVE_INFINITY,
      maxWaiting: options.maxWaiting ?? 10_000,
      maxMemoryMb: options.maxMemoryMb ?? 1_088,
    };
    this.#waiting = new WaitingRuns(this.#options.maxWaiting);
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
    if (this.#closed) this.#endSoon(run, { type: 'cancelled', reason: 'cancelled' });
    else if (!this.#dispatch(run)) this.#wait(run);
    return run;
  }

  restore(capture: SandboxCapture, job: SandboxJob, observer: SandboxObserver, images: ImageSource): SandboxRun {
    const run = new LiveRun(this, this.#newKey(), job, observer);
    this.#runs.add(run);
    if (this.#closed) this.#endSoon(run, { type: 'cancelled', reason: 'cancelled' });
    else
      this.#images.originOf(capture, images).then(
        (origin) => {
          run.origin = origin;
          if (run.state === 'waiting' && !this.#dispatch(run)) this.#wait(run);
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
      run.worker?.send(['capture', run.key]);
    });
  }

  settle(run: LiveRun, settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    if (run.state !== 'running') return;
    const settled = settlements.map(({ callIndex }) => callIndex);
    const entry = { batchJson: writeBatch(settlements), settled, clockMs };
    run.tape.push(entry);
    run.wallMs = wallMs;
    if (run.worker === undefined) return;
    if (run.lane === 'slow') this.#slowLane.want(run);
    else sendSettle(run, run.worker);
  }

  cancel(run: LiveRun, reason: CancelReason): void {
    if (run.state === 'ended') return;
    // A script inside a segment stops at its next look at the clock; one that stands still just ends.
    run.worker?.control.cancel(run.slot, reason);
    this.#endSoon(run, { type: 'cancelled', reason });
  }

  stats(): SandboxStats {
    const running = this.#runs.all().filter(({ state }) => state === 'running');
    const awaitingTools = running.filter(({ worker, outstanding }) => worker !== undefined && outstanding <= 0).length;
    return {
      workers: this.#workers.length,
      running: running.length,
      executing: running.length - awaitingTools,
      awaitingTools,
      waiting: this.#waiting.size,
      queued: this.#waiting.size,
      memoryBytes: this.#budget.usedBytes,
      maxMemoryBytes: this.#budget.maxBytes,
      completed: this.#completed,
      instancesDropped: this.#workers.reduce((sum, worker) => sum + worker.droppedInstances, this.#droppedBefore),
      workersReplaced: this.#replaced,
      moved: this.#moved,
    };
  }

  /** What live sandboxes have grown by, and those that their scripts have left and their threads have not. */
  #grownBytes(): number {
    const workers = [...this.#workers, ...this.#slowWorkers, ...this.#retiring];
    return workers.reduce((sum, worker) => sum + worker.grownBytes, this.#draining.size * SANDBOX_BYTES);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const run of this.#runs.all()) this.cancel(run, 'cancelled');
    await this.#warming?.catch(() => {});
    const workers = [
      ...this.#workers,
      ...this.#slowWorkers,
      ...this.#retiring,
      ...(this.#spare === undefined ? [] : [this.#spare]),
    ];
    this.#workers.length = this.#slowWorkers.length = 0;
    this.#spare = undefined;
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  async #start(): Promise<void> {
    while (this.#workers.length < this.#options.size) this.#workers.push(this.#spawn());
    await this.#artefacts;
    this.#isLoaded = true;
    if (this.#closed) return;
    this.#serveWaiting();
    await this.#workers[0]?.ready;
  }

  #spawn(lane: Lane = 'fast'): WorkerThread {
    this.#artefacts ??= loadArtefacts(this.#options.maxMemoryMb);
    const worker: WorkerThread = new WorkerThread(
      this.#artefacts,
      this.#options.slotsPerWorker,
      {
        onReport: (report) => this.#receive(worker, report),
        onLost: (culprit, detail) => this.#recover(worker, culprit, detail),
        hasOneRun: () => this.#runs.size === 1,
      },
      this.#entry,
      lane,
    );
    void worker.ready.then(() => {
      if (worker.born) this.#stillbirths = 0;
    });
    return worker;
  }

  /** Puts a run on the least loaded worker with a free slot. */
  #dispatch(run: LiveRun): boolean {
    if (!this.#isLoaded) return false;
    if (run.lane === 'slow') {
      this.#slowLane.want(run);
      return true;
    }
    let best: WorkerThread | undefined;
    for (const worker of this.#workers)
      if (this.#isOpen(worker) && (best === undefined || isBetter(worker, best))) best = worker;
    const first = run.state === 'waiting';
    if (best === undefined || (first && !this.#budget.hasRoom)) return false;
    const wasBusy = best.isBusy;
    this.#place(run, best);
    if (first && run.origin === undefined) run.observer.onStart();
    if (first && wasBusy) this.#limitWait(run, best);
    sendRun(run, best, this.#maxMemoryBytes);
    if (this.#isWornOut(best)) this.#relieve();
    return true;
  }

  /** Of one sandbox. */
  get #maxMemoryBytes(): number {
    return this.#options.maxMemoryMb * 1_048_576;
  }

  #isOpen(worker: WorkerThread): boolean {
    return worker.hasSlot && !this.#isWornOut(worker);
  }

  /** On an open worker. */
  #place(run: LiveRun, worker: WorkerThread): void {
    run.slot = worker.takeSlot()!;
    run.worker = worker;
    if (run.state === 'waiting') this.#budget.add();
    run.state = 'running';
    worker.started++;
  }

  #startTurn(run: LiveRun, worker: WorkerThread): void {
    if (run.worker === worker) return sendSettle(run, worker);
    this.#place(run, worker);
    sendRun(run, worker, this.#maxMemoryBytes);
  }

  /** Made when the first script computes for long, and ended when none does any more. */
  #fillSlowLane(): readonly WorkerThread[] {
    // Half as many: what computes for long must not keep everybody else from the processors.
    while (this.#slowWorkers.length < Math.max(1, this.#options.size >> 1)) this.#slowWorkers.push(this.#spawn('slow'));
    return this.#slowWorkers;
  }

  #leaveSlowLane(worker: WorkerThread): void {
    const leave = () => {
      const index = this.#slowWorkers.indexOf(worker);
      if (worker.load > 0 || index < 0) return;
      this.#slowWorkers.splice(index, 1);
      this.#droppedBefore += worker.droppedInstances;
      void worker.terminate();
    };
    setTimeout(leave, SLOW_LANE_IDLE_MS).unref();
  }

  /** A worker executes one segment at a time; a script behind one that computes for long is told so in time. */
  #limitWait(run: LiveRun, worker: WorkerThread): void {
    const { queueWaitMs } = run.job.limits;
    run.notStarted = setTimeout(() => {
      if (run.segments === 0 && worker.control.busy().run !== run.key)
        this.#end(run, { type: 'busy', waitedMs: queueWaitMs });
    }, queueWaitMs);
  }

  #wait(run: LiveRun): void {
    const { queueWaitMs } = run.job.limits;
    const since = performance.now();
    const busy = () => this.#end(run, { type: 'busy', waitedMs: Math.round(performance.now() - since) });
    if (!this.#waiting.add(run, run.job.principal, queueWaitMs, busy)) queueMicrotask(busy);
    this.warm().catch((error: unknown) =>
      this.#end(run, { type: 'internal', detail: `the sandbox did not start: ${String(error)}` }),
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
    if ((kind & ReportKind.released) !== 0) return this.#drained(key);
    const run = this.#runs.get(key);
    // A run that was moved may still be spoken of by the worker it left.
    if (run === undefined || run.state === 'ended' || run.worker !== worker) return;
    run.outstanding--;
    if (run.lane === 'slow' && run.outstanding <= 0) this.#slowLane.leave(run);
    if ((kind & (ReportKind.moved | ReportKind.restored | ReportKind.captured | ReportKind.refused)) !== 0)
      return this.#receiveAnswer(run, worker, report);
    if (run.toSkip > 0 && (kind & ReportKind.ended) === 0) {
      run.toSkip--;
      return;
    }
    run.toSkip = 0;
    run.segments++;
    if (run.segments === 1) clearTimeout(run.notStarted);
    this.#deliver(run, report);
  }

  #receiveAnswer(run: LiveRun, worker: WorkerThread, [, kind, , , , rest]: WorkerReport): void {
    if ((kind & ReportKind.refused) !== 0) return this.#refused(run, worker, String(rest?.detail));
    if ((kind & ReportKind.moved) !== 0) return this.#moveToSlowLane(run, worker);
    if ((kind & ReportKind.captured) !== 0) return this.#captured(run, rest?.snapshot);
    if (run.hasStood) return;
    run.hasStood = true;
    clearTimeout(run.notStarted);
    run.observer.onStart();
  }

  #captured(run: LiveRun, snapshot: SlotSnapshot | undefined): void {
    const { capturing } = run;
    run.capturing = undefined;
    if (snapshot !== undefined) this.#release(run);
    capturing?.(snapshot);
  }

  /** The system has no memory for one more sandbox: the run waits until another script has ended. */
  #refused(run: LiveRun, worker: WorkerThread, detail: string): void {
    if (!this.#budget.learnLimit()) return this.#end(run, { type: 'internal', detail });
    run.worker = undefined;
    if (run.lane === 'slow') this.#slowLane.leave(run);
    this.#freeSlot(worker, run.slot, run.key);
    this.#startOver(run);
    if (run.segments === 0) this.#limitWait(run, worker);
    this.#stranded.add(run);
  }

  #moveToSlowLane(run: LiveRun, worker: WorkerThread): void {
    if (run.lane === 'fast') this.#moved++;
    run.worker = undefined;
    this.#slowLane.leave(run);
    run.lane = 'slow';
    run.sliceMs *= 2;
    this.#freeSlot(worker, run.slot, run.key);
    this.#restart(run);
  }

  /** Nothing that a script wrote may throw out of a message's listener. */
  #deliver(run: LiveRun, report: WorkerReport): void {
    try {
      run.columns ??= new ColumnReader(run.job.javascript);
      const segment = readSegment(report, run.job.limits, run.columns);
      if ((report[1] & ReportKind.ended) !== 0) this.#release(run);
      run.observer.onSegment(segment);
    } catch (error) {
      run.isBroken = true;
      this.#end(run, { type: 'internal', detail: `a segment could not be read: ${String(error)}` });
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

  /** The host is done with the run, the worker may not be: its slot is free when the worker says so. */
  #drain(run: LiveRun, worker: WorkerThread): void {
    this.#draining.set(run.key, { worker, slot: run.slot });
    worker.segmentLimits.set(run.key, 0);
    worker.send(['drop', run.key, run.isBroken]);
    run.worker = undefined;
  }

  #drained(key: number): void {
    const drained = this.#draining.get(key);
    if (drained === undefined) return;
    this.#draining.delete(key);
    this.#freeSlot(drained.worker, drained.slot, key);
  }

  #release(run: LiveRun): void {
    if (run.state === 'running') this.#budget.remove();
    run.state = 'ended';
    clearTimeout(run.notStarted);
    run.capturing?.(undefined);
    run.capturing = undefined;
    this.#runs.delete(run.key);
    this.#stranded.delete(run);
    this.#waiting.remove(run);
    if (run.lane === 'slow') this.#slowLane.leave(run);
    this.#completed++;
    const { worker } = run;
    run.worker = undefined;
    if (worker !== undefined) this.#freeSlot(worker, run.slot, run.key);
  }

  #freeSlot(worker: WorkerThread, slot: number, key: number): void {
    if (worker.lost) return;
    worker.segmentLimits.delete(key);
    worker.giveSlot(slot);
    if (worker.load === 0 && (this.#isWornOut(worker) || worker.droppedBytes > RETIRE_BYTES)) this.#retire(worker);
    else if (worker.load === 0 && worker.lane === 'slow') this.#leaveSlowLane(worker);
    if (worker.lane === 'slow') this.#slowLane.serve();
    if (this.#stranded.size > 0) this.#serveStranded();
    if (this.#waiting.size > 0) this.#serveWaiting();
  }

  /** A worn-out worker serves the scripts that it has; another takes its place, as long as few are on their way out. */
  #relieve(): void {
    for (const worker of this.#workers) {
      if (!this.#isWornOut(worker) || this.#retiring.size >= this.#options.size) continue;
      this.#retiring.add(worker);
      this.#replace(worker);
    }
  }

  #isWornOut(worker: WorkerThread): boolean {
    return worker.started >= this.#options.maxScriptsPerWorker;
  }

  #retire(worker: WorkerThread): void {
    this.#replace(worker);
    if (this.#retiring.delete(worker)) this.#relieve();
    void worker.terminate();
  }

  #replace(worker: WorkerThread): void {
    const slow = this.#slowWorkers.indexOf(worker);
    if (slow >= 0) this.#slowWorkers.splice(slow, 1);
    const index = this.#workers.indexOf(worker);
    if (index < 0 && slow < 0) return;
    this.#replaced++;
    this.#droppedBefore += worker.droppedInstances;
    // The slow lane is filled when it is needed.
    if (index < 0) return;
    this.#workers[index] = this.#spare ?? this.#spawn();
    this.#spare = this.#spawn();
  }

  /**
   * The script that hung its worker ends with the limit it broke; the others start over on another worker from their
   * tapes. So does the one that a worker was busy with when it died, until that has happened too often.
   */
  #recover(worker: WorkerThread, culprit: number | undefined, detail: string): void {
    if (this.#closed) return;
    this.#retiring.delete(worker);
    const affected = this.#runs.all().filter((run) => run.worker === worker);
    this.#slowLane.lost(worker);
    for (const [key, drained] of this.#draining) if (drained.worker === worker) this.#draining.delete(key);
    if (!worker.born && ++this.#stillbirths > MOST_STILLBIRTHS) return this.#giveUp(worker, affected, detail);
    if (worker === this.#spare) this.#spare = undefined;
    else this.#replace(worker);
    for (const run of affected) {
      run.worker = undefined;
      if (run.key === culprit && detail === HUNG) this.#end(run, { type: 'limit', limit: 'wall' });
      else if (run.key === culprit && ++run.deaths >= MAX_DEATHS) this.#end(run, { type: 'internal', detail });
      else this.#restart(run);
    }
    this.#serveWaiting();
  }

  /** Threads die at birth, again and again: nobody is kept waiting for one. */
  #giveUp(worker: WorkerThread, affected: readonly LiveRun[], detail: string): void {
    if (worker === this.#spare) this.#spare = undefined;
    for (const lane of [this.#workers, this.#slowWorkers]) {
      const index = lane.indexOf(worker);
      if (index >= 0) lane.splice(index, 1);
    }
    const isEmpty = this.#workers.length === 0;
    for (const run of isEmpty ? this.#runs.all() : affected) {
      run.worker = undefined;
      if (!isEmpty && run.lane === 'fast') this.#restart(run);
      else this.#end(run, { type: 'internal', detail: `no worker thread could be started: ${detail}` });
    }
    if (isEmpty) this.#warming = undefined;
    if (isEmpty) this.#stillbirths = 0;
  }

  /** On another worker, now or when one has room. */
  #restart(run: LiveRun): void {
    this.#startOver(run);
    if (!this.#dispatch(run)) this.#stranded.add(run);
  }

  #startOver(run: LiveRun): void {
    run.toSkip = run.segments;
    this.#runs.delete(run.key);
    run.key = this.#newKey();
    this.#runs.add(run);
    clearTimeout(run.notStarted);
  }

  #serveStranded(): void {
    for (const run of this.#stranded) if (this.#dispatch(run)) this.#stranded.delete(run);
  }
}

/** An idle worker rather than a busy one, then the one with fewer live scripts. */
function isBetter(worker: WorkerThread, other: WorkerThread): boolean {
  if (worker.isBusy !== other.isBusy) return other.isBusy;
  return worker.load < other.load;
}
