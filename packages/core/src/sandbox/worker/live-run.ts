import type { SandboxCapture, SandboxJob, SandboxObserver, SandboxRun, Settlement } from '../../protocol/index.js';
import type { SlotSnapshot } from '../quickjs/slot.js';
import type { ExecuteArtefacts } from './artefacts.js';
import type { ColumnReader } from './columns.js';
import type { CancelReason } from './control.js';
import type { Lane, WorkerThread } from './worker-thread.js';

/** The functions of the pool that a run calls. */
export interface RunHost {
  settle(run: LiveRun, settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  cancel(run: LiveRun, reason: CancelReason): void;
  capture(run: LiveRun): Promise<SandboxCapture | undefined>;
}

type LiveState = 'waiting' | 'running' | 'ended';

/** The data from which a captured run is restored. */
export interface Origin {
  snapshot: SlotSnapshot;
  images: readonly string[];
  /** Engine and image, if they belong to another version. */
  other: ExecuteArtefacts | undefined;
}

/** A run, from `run` to its last segment. */
export class LiveRun implements SandboxRun {
  state: LiveState = 'waiting';
  worker: WorkerThread | undefined;
  slot = 0;
  segments = 0;
  /** Segments that were delivered before the worker was lost; a replay of the tape repeats them. */
  toSkip = 0;
  wallMs: number;
  columns: ColumnReader | undefined;
  lane: Lane = 'fast';
  /** How long the run may compute in the slow lane while others wait there; 0 before its first turn. */
  sliceMs = 0;
  /** The run's guest broke a rule of the bridge. */
  isBroken = false;
  /** The number of the run's commands that the worker has not answered. */
  outstanding = 0;
  /** How often a worker died while it executed this run. */
  deaths = 0;
  /** Undefined: the script starts from its beginning. */
  origin: Origin | undefined;
  /** The run was restored, and the observer was notified. */
  isRestored = false;
  capturing: ((snapshot: SlotSnapshot | undefined) => void) | undefined;
  /** Ends the wait for a worker that is busy with other scripts. */
  notStarted: NodeJS.Timeout | undefined;
  /** Every delivered settlement, in order, for a worker that has to start over. */
  readonly tape: { batchJson: string; settled: number[]; clockMs: number }[] = [];

  constructor(
    readonly pool: RunHost,
    /**
     * The run's name on its worker. The name changes each time the run starts over, so that late reports of an earlier
     * attempt are ignored.
     */
    public key: number,
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

  capture(): Promise<SandboxCapture | undefined> {
    return this.pool.capture(this);
  }
}
