/**
 * A few shared words for each worker, for state that cannot wait until the worker reads its messages: whether a
 * running script was cancelled, how many scripts share the worker, which of them it executes, and how many messages
 * were sent.
 */
const BUSY_RUN = 0;
const SEGMENTS_ENTERED = 1;
const SCRIPTS = 2;
const MESSAGES = 3;
const FIRST_SLOT = 4;

export const IDLE = -1;

const REASONS = { 1: 'cancelled', 2: 'timeout' } as const;
export type CancelReason = 'cancelled' | 'timeout';

export class Control {
  readonly #words: Int32Array;

  constructor(readonly buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  static create(slots: number): Control {
    const control = new Control(new SharedArrayBuffer((FIRST_SLOT + slots) * 4));
    control.leave();
    return control;
  }

  enter(run: number): void {
    Atomics.store(this.#words, BUSY_RUN, run);
    Atomics.add(this.#words, SEGMENTS_ENTERED, 1);
  }

  leave(): void {
    Atomics.store(this.#words, BUSY_RUN, IDLE);
  }

  /** The run that the worker executes now, and a counter of the segments that it has started. */
  busy(): { run: number; entered: number } {
    return { run: Atomics.load(this.#words, BUSY_RUN), entered: Atomics.load(this.#words, SEGMENTS_ENTERED) };
  }

  /** The number of scripts on the worker that a long computation of another script would delay. */
  setScripts(count: number): void {
    Atomics.store(this.#words, SCRIPTS, count);
  }

  scripts(): number {
    return Atomics.load(this.#words, SCRIPTS);
  }

  /** Called for each message that is sent. */
  countMessage(): void {
    Atomics.add(this.#words, MESSAGES, 1);
  }

  messages(): number {
    return Atomics.load(this.#words, MESSAGES);
  }

  cancel(slot: number, reason: CancelReason): void {
    Atomics.store(this.#words, FIRST_SLOT + slot, reason === 'cancelled' ? 1 : 2);
  }

  clear(slot: number): void {
    Atomics.store(this.#words, FIRST_SLOT + slot, 0);
  }

  cancelled(slot: number): CancelReason | undefined {
    return REASONS[Atomics.load(this.#words, FIRST_SLOT + slot) as 1 | 2];
  }
}
