import type { Run, RunState as StoredState, StreamEvent } from '@toolscript/core/protocol';
import type { OpenedAgent } from '../agents/index.js';

/** The reason why a run's work stops before its end. `lost`: another process has the run, or it was deleted. */
export type StopReason = 'cancelled' | 'lost' | 'write-failed' | 'draining';

/**
 * The way in which the work on a run stops: with the final or suspended state of the run, or before its end.
 * `draining`: the run is queued again.
 */
export type WorkEnd = StoredState | StopReason;

/** Receives the events of this process's work on one run. Does not throw. */
export interface RunObserver {
  agentOpened(opened: OpenedAgent): void;
  event(event: StreamEvent): void;
  /** Called after some of the run's events were written. */
  eventsWritten(store: 'log' | 'threads', seconds: number): void;
  workEnded(how: WorkEnd): void;
}

/** Called for each run that this process claims. `earlier`: the run's events so far. */
export type ObserveRun = (run: Run, earlier: readonly StreamEvent[]) => RunObserver;
