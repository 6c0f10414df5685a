import type { Operation, Settlement } from '../protocol/index.js';

/**
 * The one place that every settlement and every intent passes. What is written here, in order, is enough to
 * run the script again to the same point: its source and seed, then each settlement before it is delivered;
 * and each intent before its effect starts.
 */
export interface ScriptJournal {
  started(entry: { scriptId: string; sha256: string; seed: readonly number[]; clockMs: number }): void;
  /** Before a call is executed. */
  intended(operation: Operation): void | Promise<void>;
  /** Before a batch is delivered to the guest. */
  settled(batch: readonly Settlement[], clockMs: number): void;
}

/** Keeps nothing: a script lives and dies with its process. */
export const unwrittenJournal: ScriptJournal = {
  started: () => {},
  intended: () => {},
  settled: () => {},
};
