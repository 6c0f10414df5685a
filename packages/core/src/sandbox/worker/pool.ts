import { availableParallelism } from 'node:os';
import type {
  SandboxEnd,
  SandboxJob,
  SandboxLimits,
  SandboxObserver,
  SandboxRun,
  SandboxRuntime,
  SandboxStats,
  Settlement,
} from '../../protocol/index.js';
import { loadArtefacts, type Artefacts } from './artefacts.js';
import { ColumnReader } from './columns.js';
import type { CancelReason } from './control.js';
import { ReportKind, type RunStart, type WorkerReport } from './messages.js';
import { warmSeed } from './seed.js';
import { endSegment, readSegment } from './segments.js';
import { toolTree } from './tool-tree.js';
import { WaitingRuns } from './waiting-runs.js';
import { HUNG, WorkerThread } from './worker-thread.js';

export interface QuickJsOptions {
  /** Worker threads. Default: 2, or the number of cores where that is less. */
  size?: number;
  /** Scripts that may be live on one worker, most of them waiting for tools. Default 128. */
  slotsPerWorker?: number;
  /** Replaces a worker after this many scripts. Default: never. */
  maxScriptsPerWorker?: number;
  /** Scripts that may wait for a free sandbox. Default 10 000. */
  maxWaiting?: number;
  /** The most memory one sandbox can ever have, in MiB. Default 1 088: the highest `memoryMb` and the engine. */
  maxMemoryMb?: number;
}

/** Linear memory above which a worker takes no further scripts until some of its own have ended. */
const WORKER_MEMORY_MARK = 1 << 30;

/** Memory of dropped instances that a worker may still hold: it is freed when V8 gets to it, or with the worker. */
const RETIRE_BYTES = 1 << 30;

/** Threads that may die before they were ready, in a row, before the pool stops making new ones. */
const MOST_STILLBIRTHS = 3;

type LiveState = 'waiting' | 'running' | 'ended';

/** A run, from `run` to its last segment. */
class LiveRun implements SandboxRun {
  state: LiveState = 'waiting';
  worker: WorkerThread | undefined;
  slot = 0;
  segments = 0;
  /** Segments already delivered before the worker was lost; a replay of the tape repeats them. */
  toSkip = 0;
  wallMs: number;
  columns: ColumnReader | undefined;
  /** Ends the wait for a worker that is busy with other scripts. */
  notStarted: NodeJS.Timeout | undefined;
  /** Every settlement delivered, in order, for a worker that has to start over. */
  readonly tape: { batchJson: string; settled: number[]; clockMs: number }[] = [];

  constructor(
    readonly pool: QuickJsPool,
    readonly key: number,
    readonly job: SandboxJob,
    readonly observer: SandboxObserver,
  ) {
    this.wallMs = job.wallMs;
  }

  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    this.pool.settle(this, settlements, clockMs, wallMs);
  }

  cancel(reason: CancelReason): void {
    this.pool.cancel(this, reason);
  }
}

/**
 * QuickJS in worker threads, several scripts a worker. Runs wait in turn by principal when every slot is
 * taken; a worker that had to be ended is replaced, and the other scripts it held go on from their tapes on
 * another worker.
 */
export class QuickJsPool implements SandboxRuntime {
  readonly name = 'quickjs';
  readonly #options: Required<QuickJsOptions>;
  readonly #entry: URL;
  readonly #workers: WorkerThread[] = [];
  readonly #runs = new Map<number, LiveRun>();
  readonly #waiting: WaitingRuns<LiveRun>;
  /** Ended runs whose worker has not let go of them yet. */
  readonly #draining = new Map<number, { worker: WorkerThread; slot: number }>();
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

  /** `entry`: what a worker thread runs. Tests plant faults there. */
  constructor(options: QuickJsOptions = {}, entry = new URL('./entry.js', import.meta.url)) {
    this.#entry = entry;
    this.#options = {
      size: options.size ?? Math.min(2, availableParallelism()),
      slotsPerWorker: options.slotsPerWorker ?? 128,
      maxScriptsPerWorker: options.maxScriptsPerWorker ?? Number.POSITIVE_INFINITY,
      maxWaiting: options.maxWaiting ?? 10_000,
      maxMemoryMb: options.maxMemoryMb ?? 1_088,
    };
    this.#waiting = new WaitingRuns(this.#options.maxWaiting);
  }

  warm(): Promise<void> {
    this.#warming ??= this.#start();
    return this.#warming;
  }

  run(job: SandboxJob, observer: SandboxObserver): SandboxRun {
    const run = new LiveRun(this, this.#nextKey++ & 0x3fff_ffff, job, observer);
    this.#runs.set(run.key, run);
    if (this.#closed) this.#endSoon(run, { type: 'cancelled', reason: 'cancelled' });
    else if (!this.#dispatch(run)) this.#wait(run);
    return run;
  }

  settle(run: LiveRun, settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    if (run.state !== 'running') return;
    const settled = settlements.map(({ callIndex }) => callIndex);
    const entry = { batchJson: writeBatch(settlements), settled, clockMs };
    run.tape.push(entry);
    run.wallMs = wallMs;
    if (run.worker === undefined) return;
    run.worker.segmentLimits.set(run.key, wallMs);
    run.worker.send(['settle', run.key, entry.batchJson, settled, clockMs, wallMs]);
  }

  cancel(run: LiveRun, reason: CancelReason): void {
    if (run.state === 'ended') return;
    // A script inside a segment stops at its next look at the clock; one that stands still just ends.
    run.worker?.control.cancel(run.slot, reason);
    this.#endSoon(run, { type: 'cancelled', reason });
  }

  stats(): SandboxStats {
    return {
      workers: this.#workers.length,
      running: [...this.#runs.values()].filter(({ state }) => state === 'running').length,
      waiting: this.#waiting.size,
      completed: this.#completed,
      instancesDropped: this.#workers.reduce((sum, worker) => sum + worker.droppedInstances, this.#droppedBefore),
      workersReplaced: this.#replaced,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const run of this.#runs.values()) this.cancel(run, 'cancelled');
    await this.#warming?.catch(() => {});
    const workers = [...this.#workers, ...(this.#spare === undefined ? [] : [this.#spare])];
    this.#workers.length = 0;
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

  #spawn(): WorkerThread {
    this.#artefacts ??= loadArtefacts(this.#options.maxMemoryMb);
    const worker: WorkerThread = new WorkerThread(
      this.#artefacts,
      this.#options.slotsPerWorker,
      {
        onReport: (report) => this.#receive(report),
        onLost: (culprit, detail) => this.#recover(worker, culprit, detail),
      },
      this.#entry,
    );
    return worker;
  }

  /** Puts a run on the least loaded worker with a free slot. */
  #dispatch(run: LiveRun): boolean {
    if (!this.#isLoaded) return false;
    let best: WorkerThread | undefined;
    for (const worker of this.#workers) {
      const open = worker.hasSlot && worker.linearBytes < WORKER_MEMORY_MARK && !this.#isWornOut(worker);
      if (open && (best === undefined || isBetter(worker, best))) best = worker;
    }
    const slot = best?.takeSlot();
    if (best === undefined || slot === undefined) return false;
    best.started++;
    run.worker = best;
    run.slot = slot;
    const first = run.state === 'waiting';
    run.state = 'running';
    if (first) run.observer.onStart();
    if (first && best.isBusy) this.#limitWait(run, best);
    this.#sendRun(run, best);
    return true;
  }

  #sendRun(run: LiveRun, worker: WorkerThread): void {
    const { job } = run;
    const { limits } = job;
    worker.segmentLimits.set(run.key, run.wallMs);
    const start: RunStart = {
      slot: run.slot,
      sha256: job.sha256,
      javascript: worker.knows(job.sha256) ? undefined : job.javascript,
      initJson: writeInit(job),
      clockMs: job.clockMs,
      computeMs: limits.computeMs,
      wallMs: run.wallMs,
      memoryBytes: limits.memoryMb * 1_048_576,
      maxStackBytes: limits.maxStackBytes,
    };
    worker.send(['run', run.key, start]);
    for (const { batchJson, settled, clockMs } of run.tape) {
      worker.send(['settle', run.key, batchJson, settled, clockMs, run.wallMs]);
    }
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

  #receive(report: WorkerReport): void {
    const [key, kind] = report;
    if ((kind & ReportKind.released) !== 0) return this.#drained(key);
    const run = this.#runs.get(key);
    if (run === undefined || run.state === 'ended') return;
    if (run.toSkip > 0 && (kind & ReportKind.ended) === 0) {
      run.toSkip--;
      return;
    }
    run.toSkip = 0;
    run.segments++;
    if (run.segments === 1) clearTimeout(run.notStarted);
    this.#deliver(run, report);
  }

  /** Nothing that a script wrote may throw out of a message's listener. */
  #deliver(run: LiveRun, report: WorkerReport): void {
    try {
      run.columns ??= new ColumnReader(run.job.javascript);
      const segment = readSegment(report, run.columns);
      if ((report[1] & ReportKind.ended) !== 0) this.#release(run);
      run.observer.onSegment(segment);
    } catch (error) {
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
    worker.send(['drop', run.key]);
    run.worker = undefined;
  }

  #drained(key: number): void {
    const drained = this.#draining.get(key);
    if (drained === undefined) return;
    this.#draining.delete(key);
    this.#freeSlot(drained.worker, drained.slot, key);
  }

  #release(run: LiveRun): void {
    run.state = 'ended';
    clearTimeout(run.notStarted);
    this.#runs.delete(run.key);
    this.#waiting.remove(run);
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
    if (this.#waiting.size > 0) this.#serveWaiting();
  }

  #isWornOut(worker: WorkerThread): boolean {
    return worker.started >= this.#options.maxScriptsPerWorker;
  }

  #retire(worker: WorkerThread): void {
    this.#replace(worker);
    void worker.terminate();
  }

  #replace(worker: WorkerThread): void {
    const index = this.#workers.indexOf(worker);
    if (index < 0) return;
    this.#replaced++;
    this.#droppedBefore += worker.droppedInstances;
    this.#workers[index] = this.#spare ?? this.#spawn();
    this.#spare = this.#spawn();
  }

  /** The culprit ends with the limit it broke; the others start over on another worker from their tapes. */
  #recover(worker: WorkerThread, culprit: number | undefined, detail: string): void {
    if (this.#closed) return;
    const affected = [...this.#runs.values()].filter((run) => run.worker === worker);
    for (const [key, drained] of this.#draining) if (drained.worker === worker) this.#draining.delete(key);
    if (!worker.born && ++this.#stillbirths > MOST_STILLBIRTHS) return this.#giveUp(worker, detail);
    if (worker === this.#spare) this.#spare = undefined;
    else this.#replace(worker);
    for (const run of affected) {
      run.worker = undefined;
      if (run.key === culprit)
        this.#end(run, detail === HUNG ? { type: 'limit', limit: 'wall' } : { type: 'internal', detail });
      else this.#restart(run);
    }
    this.#serveWaiting();
  }

  /** Threads die at birth, again and again: nobody is kept waiting for one. */
  #giveUp(worker: WorkerThread, detail: string): void {
    if (worker === this.#spare) this.#spare = undefined;
    const index = this.#workers.indexOf(worker);
    if (index >= 0) this.#workers.splice(index, 1);
    if (this.#workers.length > 0) return;
    for (const run of this.#runs.values()) {
      run.worker = undefined;
      this.#end(run, { type: 'internal', detail: `no worker thread could be started: ${detail}` });
    }
    this.#warming = undefined;
    this.#stillbirths = 0;
  }

  #restart(run: LiveRun): void {
    run.toSkip = run.segments;
    if (!this.#dispatch(run)) this.#end(run, { type: 'internal', detail: 'no worker could take the script over' });
  }
}

/** An idle worker rather than a busy one, then the one with fewer live scripts. */
function isBetter(worker: WorkerThread, other: WorkerThread): boolean {
  if (worker.isBusy !== other.isBusy) return other.isBusy;
  return worker.load < other.load;
}

const limitTexts = new WeakMap<SandboxLimits, string>();

function guestLimits(limits: SandboxLimits): string {
  let text = limitTexts.get(limits);
  if (text === undefined) {
    text = [
      limits.maxCalls,
      limits.maxToolInputBytes,
      limits.maxReturnBytes,
      limits.maxLogEvents,
      limits.maxLogBytes,
      limits.maxOutputBytes,
      limits.maxProgressEvents,
    ].join();
    limitTexts.set(limits, text);
  }
  return text;
}

/** What the guest's bridge reads at a script's start; see `begin` there. */
function writeInit({ limits, seed, spawn, toolNames, contextJson }: SandboxJob): string {
  return `[${guestLimits(limits)},${warmSeed(seed).join()},${spawn ? 1 : 0},${JSON.stringify(toolTree(toolNames))},${JSON.stringify(contextJson)}]`;
}

function writeBatch(settlements: readonly Settlement[]): string {
  const entries = settlements.map((settlement) => {
    if (settlement.ok) return `[${settlement.callIndex},1${settlement.json === '' ? '' : `,${settlement.json}`}]`;
    const { code, message, data } = settlement.error;
    return `[${settlement.callIndex},0,${JSON.stringify(code)},${JSON.stringify(message)}${data === undefined ? '' : `,${JSON.stringify(data)}`}]`;
  });
  return `[${entries.join(',')}]`;
}
