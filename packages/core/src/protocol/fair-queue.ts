/**
 * Items that wait for a shared stage. Principals take turns; the items of one principal are served in order of arrival.
 * Items without a principal share one turn.
 */
export class FairQueue<Item> {
  readonly #queues = new Map<string, Item[]>();
  readonly #principals = new Map<Item, string>();

  get size(): number {
    return this.#principals.size;
  }

  add(item: Item, principal: string | undefined): void {
    const key = principal ?? '';
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
    this.#principals.set(item, key);
  }

  /** The item whose turn it is. */
  peek(): Item | undefined {
    for (const queue of this.#queues.values()) return queue[0];
    return undefined;
  }

  /** Removes and returns the item whose turn it is. */
  next(): Item | undefined {
    const item = this.peek();
    if (item !== undefined) this.remove(item);
    return item;
  }

  /** The first item, in the order of turns, that fits. */
  find(fits: (item: Item) => boolean): Item | undefined {
    for (const queue of this.#queues.values()) {
      const item = queue.find(fits);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** Removes an item. Does nothing if the item does not wait. */
  remove(item: Item): void {
    const principal = this.#principals.get(item);
    if (principal === undefined) return;
    this.#principals.delete(item);
    const queue = this.#queues.get(principal)!;
    const place = queue.indexOf(item);
    queue.splice(place, 1);
    if (place > 0) return;
    // Moves the principal to the end, so that the next one is served first.
    // defence: principals-take-turns
    this.#queues.delete(principal);
    if (queue.length > 0) this.#queues.set(principal, queue);
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const items = [...this.#principals.keys()];
    this.#queues.clear();
    this.#principals.clear();
    return items;
  }
}
