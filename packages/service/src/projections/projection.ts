import type { OutputItem, Response } from '@toolscript/core/protocol';

/** A run, folded from its events up to `nextSeq`. */
export interface ProjectedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly status: Response['status'];
  /** The `seq` of the first event that the copy does not contain. */
  readonly nextSeq: number;
  /** Number of the run's items. */
  readonly items: number;
  /** The time of the run's first event, as ISO 8601. */
  readonly startedAt: string;
}

/** An item whose content may differ from the last written content. */
export interface ProjectedItem {
  readonly position: number;
  readonly item: OutputItem;
  /** The JSON text of the item. */
  readonly text: string;
}

/**
 * A copy of runs and their items in another system, for readers of that system. The thread store stays authoritative.
 * Each function rejects with a `StoreUnavailableError` if the system does not answer or refuses access; the caller then
 * repeats the call.
 */
export interface Projection {
  /** Writes items, then their run. Repeated and outdated calls change nothing. */
  write(run: ProjectedRun, changed: readonly ProjectedItem[]): Promise<void>;
  /** The stored `nextSeq` of the run; 0 if the copy does not have the run. */
  position(runId: string): Promise<number>;
  /** Deletes a run with its items. Idempotent. */
  delete(runId: string): Promise<void>;
}
