import { totalmem } from 'node:os';
import { FairQueue } from '../../protocol/fair-queue.js';
import { MAX_TIMER_MS } from '../../protocol/limited-signal.js';
import type { LiveRun } from './live-run.js';
import type { WorkerThread } from './worker-thread.js';

/** Bytes of a sandbox whose script has just started: 1.03 MB (measured), plus the heap that most scripts add. */
export const SANDBOX_BYTES = 1_310_720;

/** The default share of the machine's memory for sandboxes. */
const DEFAULT_SHARE = 1 / 4;

/** A quarter of the memory that this process can have: the machine's, or its control group's if that is less. */
export function defaultMaxBytes(): number {
  const limit = process.constrainedMemory() ?? 0;
  return Math.floor((limit > 0 ? Math.min(limit, totalmem()) : totalmem()) * DEFAULT_SHARE);
}

/**
 * Decides whether another script may have a sandbox. The budget counts live sandboxes itself, so that scripts that
 * start at the same moment count at once, and adds the growth that the worker threads report.
 */
export class MemoryBudget {
  #maxBytes: number;
  #sandboxes = 0;
  readonly #grownBytes: () => number;

  /** `grownBytes` returns the bytes in use in addition to `SANDBOX_BYTES` for each live sandbox. */
  constructor(maxBytes: number, grownBytes: () => number) {
    this.#maxBytes = maxBytes;
    this.#grownBytes = grownBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  get usedBytes(): number {
    return this.#sandboxes * SANDBOX_BYTES + this.#grownBytes();
  }

  /** Whether the memory suffices for one more sandbox. Always true if no script has a sandbox. */
  get hasRoom(): boolean {
    // defence: memory-of-all-sandboxes
    return this.#sandboxes === 0 || this.usedBytes + SANDBOX_BYTES <= this.#maxBytes;
  }

  add(): void {
    this.#sandboxes++;
  }

  remove(): void {
    this.#sandboxes--;
  }

  /**
   * Call this function if the system had no memory for the last sandbox: the memory of the other sandboxes becomes the
   * maximum. Returns false if no other sandbox exists.
   */
  learnLimit(): boolean {
    this.#maxBytes = Math.min(this.#maxBytes, this.usedBytes - SANDBOX_BYTES);
    return this.#sandboxes > 1;
  }
}

/**
 * Maximum time of a script's first turn while another script waits, in ms. The time doubles each time the script
 * yields.
 */
const FIRST_SLICE_MS = 250;

/** The functions of the pool that the lane calls. */
interface SlowLaneHost {
  workers(): readonly WorkerThread[];
  /** Whether the worker can take a run that has no worker. */
  isOpen(worker: WorkerThread): boolean;
  /** Sends the worker the commands that the run has to execute next. */
  startTurn(run: LiveRun, worker: WorkerThread): void;
  /** Called when a run has waited for its turn for the maximum time. */
  expire(run: LiveRun, waitedMs: number): void;
}

/**
 * Runs scripts with long computations on separate workers. Each worker executes one script at a time; the others wait
 * for a turn, and principals take turns. While others wait, the script whose turn it is yields after a slice: the work
 * of that slice is discarded, so its next slice is twice as long. A script waits at most `queueWaitMs` for its first
 * turn, and at most `queueWaitMs` plus the rest of its wall clock for each later turn.
 */
export class SlowLane {
  readonly #host: SlowLaneHost;
  /** Each run here has a sandbox's memory in the pool's budget, which bounds the queue. */
  readonly #turns = new FairQueue<LiveRun>(Number.POSITIVE_INFINITY);
  readonly #active = new Map<WorkerThread, LiveRun>();

  constructor(host: SlowLaneHost) {
    this.#host = host;
  }

  /** Waits for a turn. A run that waits already keeps its place. */
  want(run: LiveRun): void {
    const { principal, limits } = run.job;
    const { queueWaitMs } = limits;
    const waitMs = isNew(run) ? queueWaitMs : run.wallMs + queueWaitMs;
    this.#turns.add(run, { principal, waitMs }, (waitedMs) => this.#host.expire(run, waitedMs));
    this.serve();
  }

  /** Removes a run that no longer needs a turn: it ended, or it lost its worker. */
  leave(run: LiveRun): void {
    this.#turns.remove(run);
    this.endTurn(run);
  }

  /** Ends the turn of a run whose commands were answered. If the run already waits for its next turn, it keeps waiting. */
  endTurn(run: LiveRun): void {
    for (const [worker, active] of this.#active) if (active === run) this.#active.delete(worker);
    this.serve();
  }

  lost(worker: WorkerThread): void {
    this.#active.delete(worker);
  }

  serve(): void {
    if (this.#turns.size > 0) {
      for (const worker of this.#host.workers()) this.#serveOn(worker);
    }
    for (const worker of this.#active.keys()) worker.control.setScripts(this.#turns.size > 0 ? 2 : 1);
  }

  #serveOn(worker: WorkerThread): void {
    if (this.#active.has(worker)) return;
    const isOpen = this.#host.isOpen(worker);
    const run = this.#turns.find((one) => one.worker === worker || (one.worker === undefined && isOpen));
    if (run === undefined) return;
    this.#turns.remove(run);
    this.#active.set(worker, run);
    run.sliceMs ||= FIRST_SLICE_MS;
    this.#host.startTurn(run, worker);
  }
}

/** Whether the run has had no turn yet and none of its segments was reported. */
export function isNew(run: LiveRun): boolean {
  return run.segments === 0 && run.sliceMs === 0;
}

/**
 * Ends the waits of runs whose worker executes the long computation of another script. One timer serves all runs: it
 * rings at the earliest deadline, and nearly all runs have started by then.
 */
export class StartWatch {
  readonly #runs: () => readonly LiveRun[];
  readonly #expire: (run: LiveRun) => void;
  #timer: NodeJS.Timeout | undefined;
  #ringsAt = Number.POSITIVE_INFINITY;

  /** `expire`: called for a run that waits for its worker and has reached its deadline. */
  constructor(runs: () => readonly LiveRun[], expire: (run: LiveRun) => void) {
    this.#runs = runs;
    this.#expire = expire;
  }

  limit(run: LiveRun): void {
    run.startBy = performance.now() + run.job.limits.queueWaitMs;
    this.#ringBy(run.startBy);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #ringBy(at: number): void {
    if (at >= this.#ringsAt) return;
    clearTimeout(this.#timer);
    this.#ringsAt = at;
    const delayMs = Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(at - performance.now())));
    this.#timer = setTimeout(() => this.#ring(), delayMs).unref();
  }

  #ring(): void {
    this.#ringsAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (const run of this.#runs()) {
      const { startBy } = run;
      if (startBy === undefined || run.segments > 0) continue;
      if (now < startBy) this.#ringBy(startBy);
      else this.#endWait(run);
    }
  }

  #endWait(run: LiveRun): void {
    run.startBy = undefined;
    if (run.worker?.control.busy().run !== run.key) this.#expire(run);
  }
}
