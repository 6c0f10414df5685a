/** A map of at most `capacity` entries, which drops the least recently used one. */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  /** The newest key is often read repeatedly and then need not be moved. */
  #latest: Key | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}
