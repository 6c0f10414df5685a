import { MAX_TIMER_MS } from '../../protocol/index.js';
import type { LiveRun } from './live-run.js';
import { WaitingRuns } from './waiting-runs.js';
import type { WorkerThread } from './worker-thread.js';

/** How long a script may compute in the lane before it yields to one that waits; doubled after each yield. */
const FIRST_SLICE_MS = 250;

/** The functions of the pool that the lane calls. */
export interface SlowLaneHost {
  workers(): readonly WorkerThread[];
  /** Whether the worker can take a run that has no worker. */
  isOpen(worker: WorkerThread): boolean;
  /** Sends the worker what the run has to execute next. */
  startTurn(run: LiveRun, worker: WorkerThread): void;
  /** A run has waited for its turn for the maximum time. */
  expire(run: LiveRun, waitedMs: number): void;
}

/**
 * Runs scripts with long computations on separate workers. Each worker executes one script at a time; the others wait
 * for a turn, and principals take turns. While others wait, the script whose turn it is yields after a slice: the
 * work of that slice is discarded, so its next slice is twice as long. A script waits for its first turn at most as
 * long as for any sandbox (`queueWaitMs`), and for every later one also at most for the rest of its wall clock.
 */
export class SlowLane {
  readonly #host: SlowLaneHost;
  readonly #turns = new WaitingRuns<LiveRun>(Number.POSITIVE_INFINITY);
  readonly #active = new Map<WorkerThread, LiveRun>();

  constructor(host: SlowLaneHost) {
    this.#host = host;
  }

  want(run: LiveRun): void {
    const since = performance.now();
    const { queueWaitMs } = run.job.limits;
    const waitMs = isNew(run) ? queueWaitMs : Math.min(MAX_TIMER_MS, run.wallMs + queueWaitMs);
    // defence: slow-lane-has-a-clock
    this.#turns.add(run, run.job.principal, waitMs, () => {
      this.#turns.remove(run);
      this.#host.expire(run, Math.round(performance.now() - since));
    });
    this.serve();
  }

  /** The run needs no turn any longer: its segment was reported, it ended, or it lost its worker. */
  leave(run: LiveRun): void {
    this.#turns.remove(run);
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

/** The run has had no turn, and no segment of it was reported. */
export function isNew(run: LiveRun): boolean {
  return run.segments === 0 && run.sliceMs === 0;
}
