import type { Decision, Settlement } from '../protocol/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';
import type { ScriptStart } from './script-start.js';
import type { TapeCall } from './tape.js';

/**
 * Every settlement and every intent of a script passes here. The entries, in order, are enough to run the script again to
 * the same point: its start, each settlement before it is delivered, and each intent before its effect starts. A method
 * that returns a promise is awaited.
 */
export interface ScriptJournal {
  /** False: nothing is written, so callers need not prepare entries. */
  readonly isStored: boolean;
  started(start: ScriptStart): void;
  /** Calls `act` once when another process has resumed the script: nothing more may happen here. */
  whenLost(act: (error: unknown) => void): void;
  /** The host decided about a call that waits. Where it throws or rejects, the decision is not stored. */
  decided(approvalId: string, decision: Decision): void | Promise<void>;
  /** Before a call is executed. Where it throws or rejects, the call is not made. */
  intended(intent: CallIntent): void | Promise<void>;
  /** A call with effects has ended while nothing can be delivered to the guest. */
  finished(call: EndedCall, settlement: Settlement): void | Promise<void>;
  /** The script is suspended: the calls that it made since the last delivery. */
  made(calls: readonly TapeCall[]): void;
  /** Before a batch is delivered to the guest. Where it throws or rejects, the script ends. */
  delivered(delivery: Delivery): void | Promise<void>;
}

export interface Delivery {
  readonly clockMs: number;
  /** The calls that the script made since the last delivery. */
  readonly calls: readonly TapeCall[];
  readonly settlements: readonly Settlement[];
  /** The ends of the tool calls among the settlements. */
  readonly ended: readonly EndedCall[];
}

/** Stores nothing: a script lives and dies with its process. */
export const noopJournal: ScriptJournal = {
  isStored: false,
  started: () => {},
  whenLost: () => {},
  decided: () => {},
  intended: () => {},
  finished: () => {},
  made: () => {},
  delivered: () => {},
};
