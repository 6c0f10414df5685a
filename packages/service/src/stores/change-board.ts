import { createHash } from 'node:crypto';
import type { RunWatchOptions } from '@toolscript/core/ports';

/** Begins the key of a principal, and no id of a run. */
const PRINCIPAL_MARK = '@';

/** The key of all changes of a principal's threads, runs and approvals. */
export function principalKey(principal: string): string {
  return PRINCIPAL_MARK + createHash('sha256').update(principal).digest('base64url');
}

/**
 * Wakes listeners that wait for a change of a key. A change between two waits of a listener is not lost: the next wait
 * ends at once.
 */
export class ChangeBoard {
  /**
   * Listeners by key, so that a change of one key costs nothing for the listeners of other keys. The key `undefined`
   * stands for every run.
   */
  readonly #listeners = new Map<string | undefined, Set<ChangeListener>>();
  readonly #onListen: () => void;
  #isClosed = false;

  /** `onListen` is called for each new listener, until the board is closed. */
  constructor(onListen: () => void = () => {}) {
    this.#onListen = onListen;
  }

  /** Listens for one key; default: every run. */
  listen(key?: string): ChangeListener {
    const listener = new ChangeListener(() => this.#remove(key, listener));
    const beside = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, beside.add(listener));
    if (this.#isClosed) listener.end();
    else this.#onListen();
    return listener;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Wakes the listeners of the key; without a key, wakes all listeners. */
  announce(key?: string): void {
    if (key === undefined) return this.#each((listener) => listener.wake());
    const keys = key.startsWith(PRINCIPAL_MARK) ? [key] : [key, undefined];
    for (const woken of keys) for (const listener of this.#listeners.get(woken) ?? []) listener.wake();
  }

  /** Ends all current waits. Every later wait ends at once. */
  close(): void {
    this.#isClosed = true;
    this.#each((listener) => listener.end());
  }

  #each(action: (listener: ChangeListener) => void): void {
    for (const listeners of this.#listeners.values()) for (const listener of listeners) action(listener);
  }

  #remove(key: string | undefined, listener: ChangeListener): void {
    const beside = this.#listeners.get(key);
    beside?.delete(listener);
    if (beside?.size === 0) this.#listeners.delete(key);
  }
}

export class ChangeListener {
  readonly #onStop: () => void;
  #isChanged = false;
  #isEnded = false;
  #resolve: (() => void) | undefined;

  constructor(onStop: () => void) {
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

  /** Waits for a change. Returns false if no change can follow, or the signal has aborted. */
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

/** Yields once for all changes since the last yield; see `RunStore.watch`. */
export async function* watchBoard(
  board: ChangeBoard,
  { signal, runId, principal }: RunWatchOptions,
): AsyncGenerator<void, void, undefined> {
  const listener = board.listen(principal === undefined ? runId : principalKey(principal));
  try {
    while (await listener.next(signal)) yield;
  } finally {
    listener.stop();
  }
}
