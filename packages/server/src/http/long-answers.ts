/**
 * The long answers of all principals. Those of one principal read from the stores one after the other, so that the
 * requests of others wait for one read, however many answers there are.
 */
export class LongAnswers {
  /** The last read of each principal that reads. */
  readonly #reads = new Map<string, Promise<void>>();

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
}
