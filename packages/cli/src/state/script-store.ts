import type { HarnessStore } from '@toolscript/core/protocol';
import type { ChangesFolder } from './changes-folder.js';
import type { Origin, OriginFolder } from './origin-folder.js';

type Claims = HarnessStore['claim'];
type Journals = HarnessStore['journal'];

interface ScriptStoreParts {
  readonly origins: OriginFolder;
  /** The origin of scripts that are started here. */
  readonly origin: Origin | undefined;
  /** The old files, deleted with their script. */
  readonly changes: ChangesFolder;
}

/**
 * This program's store of scripts: it records where each script was started, knows which one this process holds, and
 * can be detached. After that no more is written, as if the process had ended here: an interrupted script can be
 * recovered later.
 */
export class ScriptStore implements HarnessStore {
  readonly claim: Claims;
  readonly journal: Journals;
  readonly images: HarnessStore['images'];
  readonly #held = new Map<string, number>();
  /** Some data of a script was stored here. */
  hasKept = false;
  #isLeft = false;

  #origin: Origin | undefined;

  constructor(store: HarnessStore, { origins, origin, changes }: ScriptStoreParts) {
    this.#origin = origin;
    this.images = store.images;
    this.claim = {
      current: (scriptId) => store.claim.current(scriptId),
      take: async (scriptId, fromEpoch, options) => {
        this.#demandStaying();
        if (fromEpoch === 0 && this.#origin !== undefined) await origins.note(scriptId, this.#origin);
        const taken = await store.claim.take(scriptId, fromEpoch, options);
        if (taken !== undefined) this.#held.set(scriptId, taken.epoch);
        return taken;
      },
      renew: (scriptId, epoch) => store.claim.renew(scriptId, epoch),
      release: async (scriptId, epoch) => {
        if (this.#isLeft) return;
        if (this.#held.get(scriptId) === epoch) this.#held.delete(scriptId);
        await store.claim.release(scriptId, epoch);
      },
    };
    this.journal = {
      append: (scriptId, epoch, lines, options) => {
        this.#demandStaying();
        this.hasKept = true;
        return store.journal.append(scriptId, epoch, lines, options);
      },
      read: (scriptId) => store.journal.read(scriptId),
      list: (query) => store.journal.list(query),
      delete: async (scriptId) => {
        await store.journal.delete(scriptId);
        await changes.delete(scriptId);
        await origins.delete(scriptId);
      },
    };
  }

  /** Scripts that are started from now on belong to this conversation. */
  setThread(thread: string): void {
    if (this.#origin !== undefined) this.#origin = { ...this.#origin, thread };
  }

  /** The scripts that this process holds and has written. */
  get held(): readonly string[] {
    return [...this.#held.keys()];
  }

  get isLeft(): boolean {
    return this.#isLeft;
  }

  leave(): void {
    this.#isLeft = true;
  }

  #demandStaying(): void {
    if (this.#isLeft) throw new Error('the program is ending');
  }
}
