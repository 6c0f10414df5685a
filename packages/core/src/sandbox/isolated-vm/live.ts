import type { GuestThrow, SandboxJob, SandboxObserver, SandboxRun, Settlement } from '../../protocol/index.js';
import type { SandboxProcess } from './child-process.js';

/** The pool, as a run uses it. */
export interface IsolateHost {
  settle(run: IsolateLive, settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  cancel(run: IsolateLive, reason: 'cancelled' | 'timeout'): void;
}

/** A run, from `run` to its last segment. It has no `capture`: the session replays its tape instead. */
export class IsolateLive implements SandboxRun {
  state: 'waiting' | 'running' | 'ended' = 'waiting';
  process: SandboxProcess | undefined;
  /** It executes a segment now. */
  isExecuting = false;
  /** It may have ended a process, so it runs in one of its own. */
  isSuspect = false;
  wallMs: number;
  /** Ends the process where the child does not stop a segment by itself. */
  watch: NodeJS.Timeout | undefined;
  segments = 0;
  /** Segments that were delivered before the process was lost; a replay of the tape repeats them. */
  toSkip = 0;
  /** Entries of the tape that the present process has been given. */
  sent = 0;
  calls = 0;
  pending = new Set<number>();
  unhandled: readonly GuestThrow[] = [];
  /** Every delivered settlement, for a process that has to start over. */
  readonly tape: { batchJson: string; settled: readonly number[]; clockMs: number }[] = [];

  constructor(
    readonly host: IsolateHost,
    /** It changes each time the run starts over, so that late reports of an earlier attempt are ignored. */
    public key: number,
    readonly job: SandboxJob,
    readonly observer: SandboxObserver,
  ) {
    this.wallMs = job.wallMs;
  }

  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    this.host.settle(this, settlements, clockMs, wallMs);
  }

  cancel(reason: 'cancelled' | 'timeout'): void {
    this.host.cancel(this, reason);
  }
}
