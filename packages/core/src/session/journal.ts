import type { Decision, Settlement } from '../protocol/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';
import type { ScriptStart } from './script-start.js';
import type { TapeCall } from './tape.js';

/**
 * Receives every settlement and every intent of a script. The entries, in order, suffice to replay the script to the
 * same point: its start, each settlement before it is delivered, and each intent before its effect starts. A method
 * that returns a promise is awaited.
 */
export interface ScriptJournal {
  /** False: nothing is written, so callers need not prepare entries. */
  readonly isStored: boolean;
  started(start: ScriptStart): void;
  /** Calls `act` once after another process has resumed the script: no more effects may happen here. */
  whenLost(act: (error: unknown) => void): void;
  /** Stores the host's decision about a waiting call. If it throws or rejects, the decision is not stored. */
  decided(approvalId: string, decision: Decision): void | Promise<void>;
  /** Called before a call is executed. If it throws or rejects, the call is not made. */
  intended(intent: CallIntent): void | Promise<void>;
  /** A call with effects has ended while nothing can be delivered to the guest. */
  finished(call: EndedCall, settlement: Settlement): void | Promise<void>;
  /** The script is suspended: stores the calls that it made since the last delivery. */
  made(calls: readonly TapeCall[]): void;
  /** Called before a batch is delivered to the guest. If it throws or rejects, the script ends. */
  delivered(delivery: Delivery): void | Promise<void>;
  /** Stops all writes: the script is interrupted here, and continues from the stored entries. */
  leave(): void;
}

export interface Delivery {
  readonly clockMs: number;
  /** The calls that the script made since the last delivery. */
  readonly calls: readonly TapeCall[];
  readonly settlements: readonly Settlement[];
  /** The ends of the tool calls among the settlements. */
  readonly ended: readonly EndedCall[];
}

/** Stores nothing: the script cannot outlive its process. */
export const noopJournal: ScriptJournal = {
  isStored: false,
  started: () => {},
  whenLost: () => {},
  decided: () => {},
  intended: () => {},
  finished: () => {},
  made: () => {},
  delivered: () => {},
  leave: () => {},
};
