import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import type { Fault } from './faulty-engine.js';
import { RECORD, RECORD_MARK } from './script-record.js';

/** A fault in a sandbox thread itself, which the harness's campaign must find. */
export type ThreadFault = 'changes arguments' | 'skips cleaning' | 'ends itself' | 'repeats messages';

/** The data that a script's `context` carries to its thread. */
export interface ThreadPlan {
  readonly faults: readonly Fault[];
  /** The script's limits in bytes. */
  readonly memory: number;
  readonly stack: number;
}

const KEY = 'toolscript: memory that a test shares with its sandbox threads';
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const IS_COMPLETE = 0;
const RAN_OUT = 1;
const HEAD = 2;

/**
 * The data that a sandbox thread writes about the one script with a plan, and that its test reads: the script's own
 * record of its calls at the time of its last message. The thread writes the data before the message.
 */
export class ThreadMemory {
  readonly #words: Int32Array;

  private constructor(
    buffer: SharedArrayBuffer,
    readonly fault: ThreadFault | undefined,
  ) {
    this.#words = new Int32Array(buffer);
  }

  /** Shares memory with the threads that this thread starts later. */
  static share(fault?: ThreadFault): ThreadMemory {
    const buffer = new SharedArrayBuffer((HEAD + RECORD.length) * WORD_BYTES);
    setEnvironmentData(KEY, { buffer, fault });
    return new ThreadMemory(buffer, fault);
  }

  /** The memory that the parent of this thread shares. */
  static shared(): ThreadMemory {
    const { buffer, fault } = getEnvironmentData(KEY) as { buffer: SharedArrayBuffer; fault: ThreadFault | undefined };
    return new ThreadMemory(buffer, fault);
  }

  clear(): void {
    this.#words.fill(0);
    this.#words[IS_COMPLETE] = 1;
  }

  /** Marks that a message is being written. Until it is complete, the record is that of the previous message. */
  beginMessage(): void {
    this.#words[IS_COMPLETE] = 0;
  }

  /** Marks that the last message is complete. */
  endMessage(record: Int32Array | undefined): void {
    if (record !== undefined) this.#words.set(record, HEAD);
    this.#words[IS_COMPLETE] = 1;
  }

  noteRanOut(): void {
    this.#words[RAN_OUT] = 1;
  }

  get isComplete(): boolean {
    return this.#words[IS_COMPLETE] === 1;
  }

  get ranOut(): boolean {
    return this.#words[RAN_OUT] === 1;
  }

  /** A copy of the record; undefined if the script created none. */
  record(): Int32Array | undefined {
    return this.#words[HEAD] === RECORD_MARK[0] ? this.#words.slice(HEAD) : undefined;
  }
}
