import type {
  HeapCollection,
  HeapDraft,
  HeapInheritance,
  HeapInfo,
  HeapLimits,
  HeapStore,
  OldThreads,
  OwnerFilter,
  StoredHeap,
} from '../protocol/index.js';
import {
  checkHeapBytes,
  checkHeapDraft,
  checkHeapId,
  checkHeapInheritance,
  heapBytes,
  heapKey,
  heapNotFound,
  isCollectable,
  oldThreads,
  sparedHeaps,
} from './heap-rules.js';

/** Stores heaps in memory. */
export class MemoryHeaps implements HeapStore {
  /** In the order in which they were added. */
  readonly #heaps = new Map<string, StoredHeap>();

  constructor(
    readonly limits: Partial<HeapLimits> = {},
    readonly now: () => number = Date.now,
  ) {}

  async add(draft: HeapDraft): Promise<'added' | 'overtaken'> {
    checkHeapDraft(draft);
    const { principal, heapId, parentId, threadId, isDelta = false, images = [] } = draft;
    const key = heapKey(principal, heapId);
    if (this.#heaps.has(key)) return 'added';
    const newest = threadId === undefined ? undefined : this.#newest(principal, threadId);
    if (newest !== undefined && newest.heapId !== parentId) return 'overtaken';
    if (parentId !== undefined && !this.#heaps.has(heapKey(principal, parentId))) throw heapNotFound(parentId);
    const bytes = heapBytes(draft);
    checkHeapBytes(bytes, this.#bytesOf(principal), this.limits);
    const { head, state } = draft;
    const links = { heapId, principal, ...(parentId === undefined ? {} : { parentId }) };
    const thread = threadId === undefined ? {} : { threadId };
    const content = { isDelta, head, images: [...images], bytes, createdAt: this.now(), state: state.slice() };
    this.#heaps.set(key, { ...links, ...thread, ...content });
    return 'added';
  }

  async read(principal: string, heapId: string): Promise<readonly StoredHeap[]> {
    checkHeapId(heapId);
    const chain: StoredHeap[] = [];
    let heap = this.#heaps.get(heapKey(principal, heapId));
    while (heap !== undefined) {
      chain.unshift({ ...heap, state: heap.state.slice() });
      if (!heap.isDelta || heap.parentId === undefined) break;
      heap = this.#heaps.get(heapKey(principal, heap.parentId));
    }
    return chain;
  }

  async newest(principal: string, threadId: string): Promise<HeapInfo | undefined> {
    checkHeapId(threadId, 'threadId');
    const heap = this.#newest(principal, threadId);
    if (heap === undefined) return undefined;
    const { state: _state, ...info } = heap;
    return info;
  }

  async oldThreads({ prefix, before }: OldThreads): Promise<readonly string[]> {
    return oldThreads([...this.#heaps.values()], { prefix, before });
  }

  async images(): Promise<readonly string[]> {
    return [...new Set([...this.#heaps.values()].flatMap(({ images }) => images))];
  }

  async deleteThread(threadId: string, { principal }: OwnerFilter = {}): Promise<void> {
    checkHeapId(threadId, 'threadId');
    const isOfThread = (heap: StoredHeap) =>
      heap.threadId === threadId && (principal === undefined || heap.principal === principal);
    this.#deleteUnlessNeeded([...this.#heaps.values()].filter(isOfThread));
  }

  async inherit(inheritance: HeapInheritance): Promise<void> {
    checkHeapInheritance(inheritance);
    const { principal, from, to, heapIds } = inheritance;
    const isInherited = (heap: StoredHeap) =>
      heap.principal === principal && heap.threadId === from && heapIds.includes(heap.heapId);
    for (const [key, heap] of this.#heaps) if (isInherited(heap)) this.#heaps.set(key, { ...heap, threadId: to });
  }

  async collect(collection: HeapCollection): Promise<number> {
    const doomed = [...this.#heaps.values()].filter(
      (heap) =>
        isCollectable(heap, collection) &&
        (heap.threadId === undefined || this.#newest(heap.principal, heap.threadId) !== heap),
    );
    return this.#deleteUnlessNeeded(doomed, true);
  }

  #newest(principal: string, threadId: string): StoredHeap | undefined {
    return [...this.#heaps.values()].findLast((heap) => heap.threadId === threadId && heap.principal === principal);
  }

  #bytesOf(principal: string): number {
    let bytes = 0;
    for (const heap of this.#heaps.values()) if (heap.principal === principal) bytes += heap.bytes;
    return bytes;
  }

  #deleteUnlessNeeded(doomed: readonly StoredHeap[], keepsThread = false): number {
    const { deleted, spared } = sparedHeaps([...this.#heaps.values()], new Set(doomed));
    for (const { principal, heapId } of deleted) this.#heaps.delete(heapKey(principal, heapId));
    if (!keepsThread)
      for (const { threadId: _threadId, ...heap } of spared)
        this.#heaps.set(heapKey(heap.principal, heap.heapId), heap);
    return deleted.length;
  }
}
