import { checkHeapDraft, checkHeapId, checkHeapInheritance } from '@toolscript/core/internal';
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
} from '@toolscript/core/ports';
import type { TableCalls } from './calls.js';

/** Stores heaps in the database of the threads, so that they are deleted with their thread. */
export class TableHeaps implements HeapStore {
  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
    readonly limits: Partial<HeapLimits> = {},
  ) {}

  async add(draft: HeapDraft): Promise<'added' | 'overtaken'> {
    checkHeapDraft(draft);
    return this.database.call('heaps', 'add', { ...draft, state: draft.state.slice() }, this.limits, this.now());
  }

  async read(principal: string, heapId: string): Promise<readonly StoredHeap[]> {
    checkHeapId(heapId);
    return this.database.call('heaps', 'read', principal, heapId);
  }

  async newest(principal: string, threadId: string): Promise<HeapInfo | undefined> {
    checkHeapId(threadId, 'threadId');
    return this.database.call('heaps', 'newest', principal, threadId);
  }

  oldThreads(query: OldThreads): Promise<readonly string[]> {
    return this.database.call('heaps', 'oldThreads', query);
  }

  images(): Promise<readonly string[]> {
    return this.database.call('heaps', 'images');
  }

  async deleteThread(threadId: string, { principal }: OwnerFilter = {}): Promise<void> {
    checkHeapId(threadId, 'threadId');
    await this.database.call('heaps', 'deleteThread', threadId, principal);
  }

  async inherit(inheritance: HeapInheritance): Promise<void> {
    checkHeapInheritance(inheritance);
    await this.database.call('heaps', 'inherit', inheritance);
  }

  collect(collection: HeapCollection): Promise<number> {
    return this.database.call('heaps', 'collect', collection);
  }
}
