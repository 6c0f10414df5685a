import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * The turns of all long answers: those of one principal read from the stores one after the other, and in each turn of
 * the event loop only one of all makes a slice of its text. So other requests wait for few of them, however many there
 * are.
 */
export class LongAnswers {
  /** The last read of each principal that reads. */
  readonly #reads = new Map<string, Promise<void>>();
  #slice: Promise<unknown> = Promise.resolve();

  /** Reads a page or searches, after the principal's earlier reads. */
  async read<Value>(principal: string, read: () => Promise<Value>): Promise<Value> {
    // defence: long-reads-in-line
    const value = (this.#reads.get(principal) ?? Promise.resolve()).then(read);
    const end = value.then(
      () => {},
      () => {},
    );
    this.#reads.set(principal, end);
    try {
      return await value;
    } finally {
      if (this.#reads.get(principal) === end) this.#reads.delete(principal);
    }
  }

  /** Resolves in a turn of the event loop in which no other slice is made. */
  async nextSlice(): Promise<void> {
    // defence: slices-take-turns
    this.#slice = this.#slice.then(() => nextTurn());
    await this.#slice;
  }
}
