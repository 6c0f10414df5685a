import { Store } from './store.ts';

export interface PolledState<Value> {
  readonly value?: Value | undefined;
  /** The error of the last request, if it failed. */
  readonly error?: unknown;
}

/** The interval for values that are also refreshed after each change, in ms. */
const REFRESHED_MS = 60_000;

/** A value that is read from the server at intervals, which are longer while the page is hidden. */
export class Polled<Value> {
  readonly store = new Store<PolledState<Value>>({});
  readonly #load: () => Promise<Value>;
  readonly #intervalMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #text = '';
  #isRunning = false;
  #isRefreshed = false;
  #generation = 0;

  constructor(load: () => Promise<Value>, intervalMs: number) {
    this.#load = load;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#isRunning = true;
    document.addEventListener('visibilitychange', this.#onVisible);
    void this.refresh();
  }

  stop(): void {
    this.#isRunning = false;
    document.removeEventListener('visibilitychange', this.#onVisible);
    clearTimeout(this.#timer);
  }

  /** Reads the value now. A response that arrives after a later request was sent is dropped. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    this.#generation += 1;
    const generation = this.#generation;
    try {
      const value = await this.#load();
      if (generation !== this.#generation) return;
      const text = JSON.stringify(value);
      if (text !== this.#text || this.store.value.error !== undefined) this.store.set({ value });
      this.#text = text;
    } catch (error) {
      if (generation !== this.#generation) return;
      this.store.set({ ...this.store.value, error });
    }
    if (this.#isRunning) this.#timer = setTimeout(() => void this.refresh(), this.#waitMs());
  }

  /** Sets whether the value is also refreshed after each change. Such a value is polled rarely. */
  setRefreshed(isRefreshed: boolean): void {
    if (this.#isRefreshed === isRefreshed) return;
    this.#isRefreshed = isRefreshed;
    if (!isRefreshed && this.#isRunning) void this.refresh();
  }

  /**
   * The time in ms until the next poll. A hidden page polls less often, but does not stop, because its title shows the
   * number of approvals.
   */
  #waitMs(): number {
    if (this.#isRefreshed) return Math.max(this.#intervalMs, REFRESHED_MS);
    return document.hidden ? this.#intervalMs * 4 : this.#intervalMs;
  }

  readonly #onVisible = () => {
    if (!document.hidden) void this.refresh();
  };
}
