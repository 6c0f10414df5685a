/**
 * Wakes listeners that wait for a change of a key. A change between two waits of a listener is not lost: the next wait
 * ends at once.
 */
export class ChangeBoard {
  readonly #listeners = new Set<ChangeListener>();
  readonly #onListen: () => void;
  #isClosed = false;

  /** `onListen` is called for each new listener. */
  constructor(onListen: () => void = () => {}) {
    this.#onListen = onListen;
  }

  /** Listens for one key; default: every key. */
  listen(key?: string): ChangeListener {
    const listener = new ChangeListener(key, () => this.#listeners.delete(listener));
    this.#listeners.add(listener);
    if (this.#isClosed) listener.end();
    else this.#onListen();
    return listener;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Without a key, any key may have changed. */
  announce(key?: string): void {
    for (const listener of this.#listeners)
      if (key === undefined || listener.key === undefined || listener.key === key) listener.wake();
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.end();
  }
}

export class ChangeListener {
  readonly key: string | undefined;
  readonly #onStop: () => void;
  #isChanged = false;
  #isEnded = false;
  #resolve: (() => void) | undefined;

  constructor(key: string | undefined, onStop: () => void) {
    this.key = key;
    this.#onStop = onStop;
  }

  wake(): void {
    this.#isChanged = true;
    this.#resolve?.();
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /** False if no change can follow, or the signal has aborted. */
  async next(signal?: AbortSignal): Promise<boolean> {
    if (!this.#isChanged && signal?.aborted !== true) await this.#wait(signal);
    this.#isChanged = false;
    return !this.#isEnded && signal?.aborted !== true;
  }

  stop(): void {
    this.#onStop();
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const wake = () => this.#resolve?.();
    signal?.addEventListener('abort', wake, { once: true });
    await new Promise<void>((resolve) => (this.#resolve = resolve));
    this.#resolve = undefined;
    signal?.removeEventListener('abort', wake);
  }
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** Only changes of this run. Default: of any. */
  readonly runId?: string | undefined;
}

/** Yields once for all changes since the last yield, as `RunStore.watch` describes it. */
export async function* watchBoard(
  board: ChangeBoard,
  { signal, runId }: WatchOptions,
): AsyncGenerator<void, void, undefined> {
  const listener = board.listen(runId);
  try {
    while (await listener.next(signal)) yield;
  } finally {
    listener.stop();
  }
}
