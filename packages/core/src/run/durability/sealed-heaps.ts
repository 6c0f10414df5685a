import type {
  HeapCollection,
  HeapDraft,
  HeapInheritance,
  HeapInfo,
  HeapStore,
  OldThreads,
  OwnerFilter,
  StoredHeap,
} from '../../protocol/index.js';
import type { SuspensionSeal } from './suspension-envelope.js';

/** The links of a heap that its seal covers. Not the thread: a deletion of the thread may leave the heap to a branch. */
type Sealed = Pick<HeapInfo, 'principal' | 'heapId' | 'parentId' | 'isDelta' | 'images'>;

/**
 * A store whose heaps are encrypted: a program without the key reads nothing, and cannot change a heap, or give it to
 * another principal. `read` and `newest` reject with a `SealError` for a heap that was changed.
 */
export class SealedHeaps implements HeapStore {
  readonly #heaps: HeapStore;
  readonly #seal: SuspensionSeal;

  constructor(heaps: HeapStore, seal: SuspensionSeal) {
    this.#heaps = heaps;
    this.#seal = seal;
  }

  add(draft: HeapDraft): Promise<'added' | 'overtaken'> {
    const links = { ...draft, isDelta: draft.isDelta ?? false, images: draft.images ?? [] };
    const head = this.#seal.sealHeap(Buffer.from(draft.head), associated(links, 'head')).toString('base64');
    const state = this.#seal.sealHeap(draft.state, associated(links, 'state'));
    return this.#heaps.add({ ...draft, head: JSON.stringify(head), state });
  }

  async read(principal: string, heapId: string): Promise<readonly StoredHeap[]> {
    const heaps = await this.#heaps.read(principal, heapId);
    return heaps.map(({ state, ...info }) => ({
      ...this.#opened(info),
      state: this.#seal.openHeap(state, associated(info, 'state')),
    }));
  }

  async newest(principal: string, threadId: string): Promise<HeapInfo | undefined> {
    const info = await this.#heaps.newest(principal, threadId);
    return info && this.#opened(info);
  }

  oldThreads(query: OldThreads): Promise<readonly string[]> {
    return this.#heaps.oldThreads(query);
  }

  images(): Promise<readonly string[]> {
    return this.#heaps.images();
  }

  deleteThread(threadId: string, owner?: OwnerFilter): Promise<void> {
    return this.#heaps.deleteThread(threadId, owner);
  }

  inherit(inheritance: HeapInheritance): Promise<void> {
    return this.#heaps.inherit(inheritance);
  }

  collect(collection: HeapCollection): Promise<number> {
    return this.#heaps.collect(collection);
  }

  #opened(info: HeapInfo): HeapInfo {
    const sealed = Buffer.from(info.head.slice(1, -1), 'base64');
    return { ...info, head: this.#seal.openHeap(sealed, associated(info, 'head')).toString('utf8') };
  }
}

function associated({ principal, heapId, parentId, isDelta, images }: Sealed, part: 'head' | 'state'): string {
  // defence: heaps-are-bound-to-their-principal
  return JSON.stringify([part, principal, heapId, parentId ?? null, isDelta, images]);
}
