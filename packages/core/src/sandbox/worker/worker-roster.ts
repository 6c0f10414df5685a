import { loadArtefacts, type Artefacts, type StartImage } from './artefacts.js';
import type { WorkerReport } from './messages.js';
import { WorkerThread, type Lane } from './worker-thread.js';

interface RosterOptions {
  /** Number of workers of the fast lane. */
  readonly size: number;
  readonly slotsPerWorker: number;
  /** A worker that has started this many scripts is replaced. */
  readonly maxScriptsPerWorker: number;
  readonly maxMemoryMb: number;
  readonly image: StartImage;
}

interface RosterHandlers {
  onReport(worker: WorkerThread, report: WorkerReport): void;
  /** Called after a worker was lost; `culprit` is the key of the run that the worker was executing. */
  onLost(worker: WorkerThread, culprit: number | undefined, detail: string): void;
  hasOneRun(): boolean;
}

/**
 * Memory of dropped instances that a worker may still hold: V8 frees the memory at its next full collection, or when
 * the worker ends.
 */
const RETIRE_BYTES = 1 << 30;

/**
 * Maximum number of consecutive threads that die before they are ready. After that number, the roster does not replace
 * another such thread.
 */
const MAX_FAILED_STARTS = 3;

/** Maximum time for which the slow lane keeps an idle worker, in ms. */
const SLOW_LANE_IDLE_MS = 5_000;

/**
 * Creates the worker threads of a pool, replaces lost and worn-out ones, and, after the first replacement, keeps a
 * spare one ready. A worn-out worker gets no new scripts, and ends after its last one.
 */
export class WorkerRoster {
  readonly #options: RosterOptions;
  readonly #entry: URL;
  readonly #handlers: RosterHandlers;
  readonly #fast: WorkerThread[] = [];
  readonly #slow: WorkerThread[] = [];
  /** All workers whose threads have not ended: those of both lanes, the retiring ones and the spare one. */
  readonly #live = new Set<WorkerThread>();
  /** Workers that are worn out and already replaced, and still serve their last scripts. */
  readonly #retiring = new Set<WorkerThread>();
  #spare: WorkerThread | undefined;
  #artefacts: Promise<Artefacts> | undefined;
  #failedStarts = 0;
  #replacedCount = 0;
  /** Number of instances that workers had dropped when they ended. */
  #droppedBefore = 0;

  constructor(options: RosterOptions, entry: URL, handlers: RosterHandlers) {
    this.#options = options;
    this.#entry = entry;
    this.#handlers = handlers;
  }

  /** Number of workers of the fast lane. */
  get size(): number {
    return this.#fast.length;
  }

  get replacedCount(): number {
    return this.#replacedCount;
  }

  get droppedInstances(): number {
    return [...this.#live].reduce((sum, worker) => sum + worker.droppedInstances, this.#droppedBefore);
  }

  /** The growth of live sandboxes in bytes. */
  get grownBytes(): number {
    let sum = 0;
    for (const worker of this.#live) sum += worker.grownBytes;
    return sum;
  }

  /** Starts the workers of the fast lane. Resolves when the engine and its images have been read. */
  async start(): Promise<void> {
    while (this.#fast.length < this.#options.size) this.#fast.push(this.#spawn('fast'));
    await this.#artefacts;
  }

  /** Resolves when the first worker of the fast lane is ready. */
  async ready(): Promise<void> {
    await this.#fast[0]?.ready;
  }

  /** The least loaded worker of the fast lane; undefined if none has a free slot. */
  leastLoaded(): WorkerThread | undefined {
    let best: WorkerThread | undefined;
    for (const worker of this.#fast)
      if (this.isOpen(worker) && (best === undefined || isBetter(worker, best))) best = worker;
    return best;
  }

  isOpen(worker: WorkerThread): boolean {
    return worker.hasSlot && !this.#isWornOut(worker);
  }

  /**
   * The workers of the slow lane, which start on demand. A worker ends when it has been idle for `SLOW_LANE_IDLE_MS`.
   */
  slowLane(): readonly WorkerThread[] {
    // The slow lane has half as many workers as the fast lane, because long computations must not keep all other
    // scripts from the processors.
    while (this.#slow.length < Math.max(1, this.#options.size >> 1)) this.#slow.push(this.#spawn('slow'));
    return this.#slow;
  }

  /** Replaces the worker if the script that has started on it was its last one. */
  scriptStarted(worker: WorkerThread): void {
    if (this.#isWornOut(worker)) this.#replaceWornOut();
  }

  /**
   * Ends a worker without live scripts if it is worn out or has dropped too much memory. A worker of the slow lane ends
   * when it has been idle for a time.
   */
  scriptEnded(worker: WorkerThread): void {
    if (worker.load > 0) return;
    if (this.#isWornOut(worker) || worker.droppedBytes > RETIRE_BYTES) this.#retire(worker);
    else if (worker.lane === 'slow') this.#endWhenIdle(worker);
  }

  /**
   * Replaces a lost worker. Returns false, and does not replace the worker, if too many threads have died before they
   * were ready.
   */
  replaceLost(worker: WorkerThread): boolean {
    this.#removeLive(worker);
    this.#retiring.delete(worker);
    const isSpare = worker === this.#spare;
    if (isSpare) this.#spare = undefined;
    if (!worker.born && ++this.#failedStarts > MAX_FAILED_STARTS) {
      this.#remove(worker);
      return false;
    }
    if (!isSpare) this.#replace(worker);
    return true;
  }

  /** Allows the roster to start threads again. */
  resetFailures(): void {
    this.#failedStarts = 0;
  }

  async close(): Promise<void> {
    this.#fast.length = this.#slow.length = 0;
    this.#spare = undefined;
    await Promise.all([...this.#live].map((worker) => worker.terminate()));
  }

  #spawn(lane: Lane): WorkerThread {
    this.#artefacts ??= loadArtefacts(this.#options.maxMemoryMb, this.#options.image);
    const worker: WorkerThread = new WorkerThread(
      this.#artefacts,
      this.#options.slotsPerWorker,
      {
        onReport: (report) => this.#handlers.onReport(worker, report),
        onLost: (culprit, detail) => this.#handlers.onLost(worker, culprit, detail),
        hasOneRun: () => this.#handlers.hasOneRun(),
      },
      this.#entry,
      lane,
    );
    void worker.ready.then(() => {
      if (worker.born) this.#failedStarts = 0;
    });
    this.#live.add(worker);
    return worker;
  }

  #isWornOut(worker: WorkerThread): boolean {
    return worker.started >= this.#options.maxScriptsPerWorker;
  }

  /** Replaces worn-out workers while fewer than `size` replaced workers still serve their last scripts. */
  #replaceWornOut(): void {
    for (const worker of this.#fast) {
      if (!this.#isWornOut(worker) || this.#retiring.size >= this.#options.size) continue;
      this.#retiring.add(worker);
      this.#replace(worker);
    }
  }

  #retire(worker: WorkerThread): void {
    this.#replace(worker);
    if (this.#retiring.delete(worker)) this.#replaceWornOut();
    this.#end(worker);
  }

  #replace(worker: WorkerThread): void {
    const index = this.#fast.indexOf(worker);
    if (index < 0 && !this.#slow.includes(worker)) return;
    this.#replacedCount++;
    // Workers of the slow lane start on demand.
    if (index < 0) return this.#remove(worker);
    this.#fast[index] = this.#spare ?? this.#spawn('fast');
    this.#spare = this.#spawn('fast');
  }

  #remove(worker: WorkerThread): void {
    for (const lane of [this.#fast, this.#slow]) {
      const index = lane.indexOf(worker);
      if (index >= 0) lane.splice(index, 1);
    }
  }

  #end(worker: WorkerThread): void {
    this.#removeLive(worker);
    void worker.terminate();
  }

  /** Removes a worker that has ended, or is about to end, from the live ones. */
  #removeLive(worker: WorkerThread): void {
    if (this.#live.delete(worker)) this.#droppedBefore += worker.droppedInstances;
  }

  #endWhenIdle(worker: WorkerThread): void {
    const end = () => {
      if (worker.load > 0 || !this.#slow.includes(worker)) return;
      this.#remove(worker);
      this.#end(worker);
    };
    setTimeout(end, SLOW_LANE_IDLE_MS).unref();
  }
}

/** Prefers an idle worker to a busy one, then the one with fewer live scripts. */
function isBetter(worker: WorkerThread, other: WorkerThread): boolean {
  if (worker.isBusy !== other.isBusy) return other.isBusy;
  return worker.load < other.load;
}
