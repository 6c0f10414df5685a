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
 * record of its calls at the time of its last message. It is written before the message.
 */
export class ThreadMemory {
  readonly #words: Int32Array;

  private constructor(
    buffer: SharedArrayBuffer,
    readonly fault: ThreadFault | undefined,
  ) {
    this.#words = new Int32Array(buffer);
  }

  /** For the threads that this thread starts later. */
  static share(fault?: ThreadFault): ThreadMemory {
    const buffer = new SharedArrayBuffer((HEAD + RECORD.length) * WORD_BYTES);
    setEnvironmentData(KEY, { buffer, fault });
    return new ThreadMemory(buffer, fault);
  }

  /** In a thread: the memory that its parent shares. */
  static shared(): ThreadMemory {
    const { buffer, fault } = getEnvironmentData(KEY) as { buffer: SharedArrayBuffer; fault: ThreadFault | undefined };
    return new ThreadMemory(buffer, fault);
  }

  clear(): void {
    this.#words.fill(0);
    this.#words[IS_COMPLETE] = 1;
  }

  /** A message is being written; until it is complete, the record is that of the previous message. */
  beginMessage(): void {
    this.#words[IS_COMPLETE] = 0;
  }

  /** The last message is complete. */
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

  /** A copy; undefined if the script made none. */
  record(): Int32Array | undefined {
    return this.#words[HEAD] === RECORD_MARK[0] ? this.#words.slice(HEAD) : undefined;
  }
}
