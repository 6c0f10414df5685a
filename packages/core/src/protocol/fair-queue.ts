import { MAX_TIMER_MS } from './limited-signal.js';

/** The principal of an item that waits for a shared stage, and how long the item may wait, in ms. */
export interface QueueTurn {
  readonly principal: string | undefined;
  readonly waitMs: number;
}

interface Place {
  readonly key: string;
  readonly since: number;
  readonly timer: NodeJS.Timeout;
  readonly refuse: (waitedMs: number) => void;
}

const CAPACITY = 10_000;

/**
 * Items that wait for a shared stage, each for a limited time. Principals take turns; the items of one principal are
 * served in order of arrival. Items without a principal share one turn.
 */
export class FairQueue<Item> {
  readonly #capacity: number;
  readonly #queues = new Map<string, Item[]>();
  readonly #places = new Map<Item, Place>();

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#places.size;
  }

  /**
   * `refuse` is called, in a later tick, after the item has left the queue without a turn: it waited too long, or the
   * queue was full. A full queue refuses the last item of the principal with the most items. An item that waits already
   * keeps its place.
   */
  add(item: Item, { principal, waitMs }: QueueTurn, refuse: (waitedMs: number) => void): void {
    if (this.#places.has(item)) return;
    const key = principal ?? '';
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
    // defence: waits-are-limited
    const timer = setTimeout(() => this.#refuse(item), Math.min(waitMs, MAX_TIMER_MS));
    this.#places.set(item, { key, since: performance.now(), timer, refuse });
    // defence: queue-is-bounded
    if (this.size > this.#capacity) this.#refuseOne();
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
    const place = this.#places.get(item);
    if (place === undefined) return;
    clearTimeout(place.timer);
    this.#places.delete(item);
    const { key } = place;
    const queue = this.#queues.get(key)!;
    const index = queue.indexOf(item);
    queue.splice(index, 1);
    if (index > 0) return;
    // Moves the principal to the end, so that the next one is served first.
    // defence: principals-take-turns
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const items = [...this.#places.keys()];
    for (const item of items) this.remove(item);
    return items;
  }

  #refuse(item: Item): void {
    const { refuse, since } = this.#places.get(item)!;
    this.remove(item);
    refuse(Math.round(performance.now() - since));
  }

  #refuseOne(): void {
    let longest: Item[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    const item = longest.at(-1)!;
    const { refuse } = this.#places.get(item)!;
    this.remove(item);
    queueMicrotask(() => refuse(0));
  }
}
