import type { Decision, Settlement } from '../protocol/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';
import type { ScriptStart } from './script-start.js';
import type { TapeCall } from './tape.js';

/**
 * The one place that every settlement and every intent passes. What is written here, in order, is enough to
 * run the script again to the same point: what it started from, then each settlement before it is delivered;
 * and each intent before its effect starts. Whoever writes may be late: what gives a promise is waited for.
 */
export interface ScriptJournal {
  /** Nothing is written at all: whoever would say much need not. */
  readonly isKept: boolean;
  started(start: ScriptStart): void;
  /** Tells once where another process has taken the script over: nothing more may happen here. */
  whenLost(act: (error: unknown) => void): void;
  /** The host decided about a call that waits. Where it throws or rejects, that is not kept. */
  decided(approvalId: string, decision: Decision): void | Promise<void>;
  /** Before a call is executed. Where it throws or rejects, the call is not made. */
  intended(intent: CallIntent): void | Promise<void>;
  /** A call with effects has ended while the guest cannot be told. */
  finished(call: EndedCall, settlement: Settlement): void | Promise<void>;
  /** The script is put aside: the calls that it made since the last delivery. */
  made(calls: readonly TapeCall[]): void;
  /** Before a batch is delivered to the guest. Where it throws or rejects, the script cannot go on. */
  delivered(delivery: Delivery): void | Promise<void>;
}

export interface Delivery {
  readonly clockMs: number;
  /** The calls that the script made since the last delivery. */
  readonly calls: readonly TapeCall[];
  readonly settlements: readonly Settlement[];
  /** Of the tool calls among the settlements. */
  readonly ended: readonly EndedCall[];
}

/** Keeps nothing: a script lives and dies with its process. */
export const noopJournal: ScriptJournal = {
  isKept: false,
  started: () => {},
  whenLost: () => {},
  decided: () => {},
  intended: () => {},
  finished: () => {},
  made: () => {},
  delivered: () => {},
};
