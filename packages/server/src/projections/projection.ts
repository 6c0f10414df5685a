import type { OutputItem, Response } from '@toolscript/core/protocol';

/** A run as its events fold, up to `nextSeq`. */
export interface ProjectedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly status: Response['status'];
  /** The `seq` of the first event that is not contained. */
  readonly nextSeq: number;
  /** Number of its items. */
  readonly items: number;
  /** ISO text of its first event. */
  readonly startedAt: string;
}

/** An item whose content may differ from what was written before. */
export interface ProjectedItem {
  readonly position: number;
  readonly item: OutputItem;
  /** The JSON text of the item. */
  readonly text: string;
}

/**
 * A copy of runs and their items in another system, for readers there. The thread store stays authoritative. Each
 * function rejects with a `StoreUnavailableError` if the system does not answer or refuses access; then the call is
 * repeated.
 */
export interface Projection {
  /** Writes items, then their run. Repeated and outdated calls change nothing. */
  write(run: ProjectedRun, changed: readonly ProjectedItem[]): Promise<void>;
  /** The `nextSeq` of the run there; 0 if it has none. */
  position(runId: string): Promise<number>;
  /** Deletes a run with its items. Idempotent. */
  delete(runId: string): Promise<void>;
}
