/**
 * The long reads of all principals: whole threads, searches, the conversations of runs. Those of one principal read from
 * the stores one after the other, so that the work of others waits for one read, however many there are.
 */
export class LongReads {
  /** The last read of each principal that reads. */
  readonly #reads = new Map<string, Promise<void>>();

  /** Reads a page or a conversation, or searches, after the principal's earlier reads. */
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
