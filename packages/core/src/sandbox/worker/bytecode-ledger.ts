/**
 * An LRU of keys, with values on the worker's side and without values on the pool's. Both process the same runs in
 * the same order, so the pool knows the worker's cache without asking.
 */
export class BytecodeLedger<Value> {
  readonly #entries = new Map<string, Value>();
  /** The most recent key need not be moved when it is used again. */
  #latest: string | undefined;

  constructor(readonly capacity: number) {}

  /** Returns the value, which becomes the most recent. */
  use(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  add(key: string, value: Value): void {
    this.#latest = key;
    this.#entries.set(key, value);
    if (this.#entries.size > this.capacity) this.#entries.delete(this.#entries.keys().next().value!);
  }
}
