import type { Run, RunState as StoredState, StreamEvent } from '@toolscript/core/protocol';
import type { OpenedAgent } from '../agents/index.js';

/**
 * The reason why the work on a run stops before the run ends. `lost`: another process has the run, or the run was
 * deleted.
 */
export type StopReason = 'cancelled' | 'lost' | 'write-failed' | 'draining';

/**
 * The reason why the work on a run ended: the final or suspended state of the run, or a stop before its end.
 * `draining`: the run returned to the queue. `parked`: the run waits for an operator.
 */
export type WorkEnd = StoredState | StopReason | 'parked';

/** Receives the events of this process's work on one run. Its functions do not throw. */
export interface RunObserver {
  agentOpened(opened: OpenedAgent): void;
  event(event: StreamEvent): void;
  /** Called after a write of some of the run's events. */
  eventsWritten(store: 'log' | 'threads', seconds: number): void;
  workEnded(how: WorkEnd): void;
}

/** Called for each run that this process claims. `earlier`: the run's events so far. */
export type ObserveRun = (run: Run, earlier: readonly StreamEvent[]) => RunObserver;
