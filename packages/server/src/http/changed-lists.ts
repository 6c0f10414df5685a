import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_PAGE } from '@toolscript/core/ports';
import type { ServiceStores } from '@toolscript/core/protocol';
import { ChangeListener } from '@toolscript/service/stores';

/** The minimum interval between two reads for one principal, in ms. Changes within it are read together. */
const GATHER_MS = 100;

/** The number of followers of one principal that are woken together, and the interval until the next ones, in ms. */
const WOKEN_TOGETHER = 10;
const WAKE_MS = 10;

interface Watched {
  readonly controller: AbortController;
  /** Resolves after the first read. */
  readonly ready: Promise<void>;
  readonly followers: Set<ChangeListener>;
}

/**
 * Reports changes of the lists of threads and approvals. All followers of one principal share one read for each change
 * of this principal, so that their number costs the stores nothing.
 */
export class ChangedLists {
  readonly #stores: Pick<ServiceStores, 'threads' | 'runs'>;
  readonly #watched = new Map<string, Watched>();

  constructor(stores: Pick<ServiceStores, 'threads' | 'runs'>) {
    this.#stores = stores;
  }

  /** Yields at the start, and after each change of the principal's lists. Ends when the signal aborts. */
  async *follow(principal: string, signal: AbortSignal): AsyncGenerator<void, void, undefined> {
    // defence: one-read-for-all-streams
    const watched = this.#watched.get(principal) ?? this.#watch(principal);
    const { followers } = watched;
    const listener = new ChangeListener(() => followers.delete(listener));
    followers.add(listener);
    try {
      await watched.ready;
      do yield;
      while (await listener.next(signal));
    } finally {
      listener.stop();
      if (followers.size === 0) {
        this.#watched.delete(principal);
        watched.controller.abort();
      }
    }
  }

  #watch(principal: string): Watched {
    const controller = new AbortController();
    const followers = new Set<ChangeListener>();
    const ready = new Promise<void>((onRead) => {
      void this.#announceChanges(principal, { followers, signal: controller.signal, onRead });
    });
    const watched = { controller, ready, followers };
    this.#watched.set(principal, watched);
    return watched;
  }

  async #announceChanges(
    principal: string,
    { followers, signal, onRead }: Pick<Watched, 'followers'> & { signal: AbortSignal; onRead: () => void },
  ): Promise<void> {
    const watching = this.#stores.runs.watch({ signal, principal })[Symbol.asyncIterator]();
    for (let known: string | undefined; ;) {
      // The watch begins before the list is read, so that no change in the meantime is lost.
      const change = watching.next();
      const found = await this.#newest(principal);
      if (known !== undefined && known !== found) await wakeInTurns(followers, signal);
      known = found;
      onRead();
      if ((await change).done === true) return;
      await delay(GATHER_MS, undefined, { signal }).catch(() => {});
    }
  }

  /**
   * The newest threads as text. A change of an approval changes its thread. A store that fails is a change too: the
   * follower reads the lists and sees the failure.
   */
  async #newest(principal: string): Promise<string> {
    const page = this.#stores.threads.list({ principal, limit: DEFAULT_PAGE });
    return page.then(JSON.stringify, String);
  }
}

/** Wakes a few followers at a time, because each of them sends an event: many streams must not fill a turn of the loop. */
async function wakeInTurns(followers: ReadonlySet<ChangeListener>, signal: AbortSignal): Promise<void> {
  const all = [...followers];
  for (let first = 0; first < all.length && !signal.aborted; first += WOKEN_TOGETHER) {
    // defence: streams-are-woken-in-turns
    if (first > 0) await delay(WAKE_MS, undefined, { signal }).catch(() => {});
    for (const follower of all.slice(first, first + WOKEN_TOGETHER)) follower.wake();
  }
}
