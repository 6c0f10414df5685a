import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_PAGE } from '@toolscript/core/ports';
import type { ServiceStores } from '@toolscript/core/protocol';
import { ChangeBoard } from '@toolscript/service/stores';

/** The minimum interval between two reads for one principal, in ms. Changes within it are read together. */
const GATHER_MS = 100;

interface Watched {
  readonly controller: AbortController;
  /** Resolves after the first read. */
  readonly ready: Promise<void>;
  followers: number;
}

/**
 * Reports changes of the lists of threads and approvals. All followers of one principal share one read for each change
 * of this principal, so that their number costs the stores nothing.
 */
export class ChangedLists {
  readonly #stores: Pick<ServiceStores, 'threads' | 'runs'>;
  readonly #board = new ChangeBoard();
  readonly #watched = new Map<string, Watched>();

  constructor(stores: Pick<ServiceStores, 'threads' | 'runs'>) {
    this.#stores = stores;
  }

  /** Yields at the start, and after each change of the principal's lists. Ends when the signal aborts. */
  async *follow(principal: string, signal: AbortSignal): AsyncGenerator<void, void, undefined> {
    const listener = this.#board.listen(principal);
    // defence: one-read-for-all-streams
    const watched = this.#watched.get(principal) ?? this.#watch(principal);
    watched.followers += 1;
    try {
      await watched.ready;
      do yield;
      while (await listener.next(signal));
    } finally {
      listener.stop();
      watched.followers -= 1;
      if (watched.followers === 0) {
        this.#watched.delete(principal);
        watched.controller.abort();
      }
    }
  }

  #watch(principal: string): Watched {
    const controller = new AbortController();
    const ready = new Promise<void>((onRead) => {
      void this.#announceChanges(principal, { signal: controller.signal, onRead });
    });
    const watched = { controller, ready, followers: 0 };
    this.#watched.set(principal, watched);
    return watched;
  }

  async #announceChanges(
    principal: string,
    { signal, onRead }: { readonly signal: AbortSignal; readonly onRead: () => void },
  ): Promise<void> {
    const watching = this.#stores.runs.watch({ signal, principal })[Symbol.asyncIterator]();
    for (let known: string | undefined; ;) {
      // The watch begins before the list is read, so that no change in the meantime is lost.
      const change = watching.next();
      const found = await this.#newest(principal);
      if (known !== undefined && known !== found) this.#board.announce(principal);
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
