interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A queue between a producer that never waits and a consumer that does. */
export class EventQueue<Item> implements AsyncIterable<Item> {
  #items: Item[] = [];
  #ended = false;
  #wake: (() => void) | undefined;
  #pushed = 0;
  #handled = 0;
  #isLeft = false;
  #waiters: Waiter[] = [];

  push(item: Item): void {
    if (this.#ended) return;
    this.#pushed += 1;
    this.#items.push(item);
    this.#wake?.();
  }

  /** Items pushed earlier are still delivered. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /**
   * Resolves when the consumer has handled every item pushed so far: it asks for the next one. Rejects if the consumer
   * leaves before.
   */
  handled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#pushed, resolve, reject });
      this.#notify();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        const items = this.#items;
        this.#items = [];
        for (const item of items) {
          yield item;
          this.#handled += 1;
          if (this.#waiters.length > 0) this.#notify();
        }
        if (this.#items.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    } finally {
      this.#isLeft = true;
      this.#notify();
    }
  }

  #notify(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (this.#handled >= waiter.upTo) waiter.resolve();
      else if (this.#isLeft)
        waiter.reject(new Error('The consumer stopped before it handled the event. Read the stream to its end.'));
      else this.#waiters.push(waiter);
    }
  }
}
