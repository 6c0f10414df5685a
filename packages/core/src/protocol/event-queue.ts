/** A queue between a producer that never waits and a consumer that does. */
export class EventQueue<Item> implements AsyncIterable<Item> {
  #items: Item[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  push(item: Item): void {
    if (this.#ended) return;
    this.#items.push(item);
    this.#wake?.();
  }

  /** Items pushed earlier are still delivered. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length > 0) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
