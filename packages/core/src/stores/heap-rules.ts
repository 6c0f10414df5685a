import {
  HEAP_LIMITS,
  isScriptId,
  NotFoundError,
  StorageLimitError,
  ToolscriptUsageError,
  type HeapCollection,
  type HeapDraft,
  type HeapInheritance,
  type HeapInfo,
  type HeapLimits,
  type OldThreads,
} from '../protocol/index.js';
import { checkSha256 } from './names.js';

/** Maximum size of a heap's `head`, in UTF-8 bytes. */
const MAX_HEAD_BYTES = 4_194_304;

/** The facts that decide whether a heap may be deleted. */
export interface HeapLink extends Pick<HeapInfo, 'principal' | 'heapId' | 'parentId' | 'isDelta' | 'threadId'> {
  readonly createdAt: number;
}

/** Throws a `ToolscriptUsageError` for a draft that no store takes. */
export function checkHeapDraft(draft: HeapDraft): void {
  const { heapId, parentId, isDelta = false, threadId, head, images = [] } = draft;
  checkHeapId(heapId);
  if (parentId !== undefined) checkHeapId(parentId, 'heap.parentId');
  if (threadId !== undefined) checkHeapId(threadId, 'heap.threadId');
  if (isDelta && parentId === undefined) throw invalid('heap.isDelta', 'a delta needs a parent');
  if (Buffer.byteLength(head) > MAX_HEAD_BYTES) throw invalid('heap.head', `it has more than ${MAX_HEAD_BYTES} bytes`);
  for (const image of images) checkSha256(image);
}

/** Throws a `ToolscriptUsageError` unless the text is an id of a heap or a thread. */
export function checkHeapId(id: string, path = 'heapId'): void {
  if (!isScriptId(id)) throw invalid(path, 'an id has 1 to 128 letters, digits, "_" and "-"');
}

/** Throws a `ToolscriptUsageError` for malformed ids. */
export function checkHeapInheritance({ from, to, heapIds }: HeapInheritance): void {
  checkHeapId(from, 'from');
  checkHeapId(to, 'to');
  for (const heapId of heapIds) checkHeapId(heapId);
}

function invalid(path: string, problem: string): ToolscriptUsageError {
  return new ToolscriptUsageError('STORE_VALUE_INVALID', { path, problem });
}

export function heapNotFound(heapId: string): NotFoundError {
  return new NotFoundError(
    `There is no heap ${JSON.stringify(heapId)}. It may have been deleted with its thread: start a new program`,
  );
}

/** The bytes of a heap that count. */
export function heapBytes({ head, state }: Pick<HeapDraft, 'head' | 'state'>): number {
  return Buffer.byteLength(head) + state.length;
}

/** Throws a `StorageLimitError` if the heap, or all heaps of its principal with it, would be too large. */
export function checkHeapBytes(
  bytes: number,
  storedBytes: number,
  { bytes: most = HEAP_LIMITS.bytes, totalBytes = HEAP_LIMITS.totalBytes }: Partial<HeapLimits>,
): void {
  // defence: bytes-of-a-heap
  if (bytes > most)
    throw new StorageLimitError(
      `The variables of the program would take ${bytes} bytes; one script may store at most ${most}. Keep less data in variables`,
    );
  // defence: bytes-of-all-heaps
  if (storedBytes + bytes > totalBytes)
    throw new StorageLimitError(
      `The variables of all your programs would take ${storedBytes + bytes} bytes; at most ${totalBytes} are allowed. Delete conversations that you do not need`,
    );
}

/** Whether `collect` may delete the heap, unless it is the newest of its thread or another heap needs it. */
export function isCollectable(
  heap: HeapLink,
  { threadId, principal = heap.principal, named = [], before }: HeapCollection,
): boolean {
  const isInScope = heap.threadId === threadId && heap.principal === principal;
  return isInScope && heap.createdAt < before && !named.includes(heap.heapId);
}

/** The ids of the threads without new heaps. `heaps`: all heaps of the store. */
export function oldThreads(heaps: readonly HeapLink[], { prefix, before }: OldThreads): string[] {
  const newest = new Map<string, number>();
  for (const { threadId, createdAt } of heaps)
    if (threadId?.startsWith(prefix) === true)
      newest.set(threadId, Math.max(createdAt, newest.get(threadId) ?? createdAt));
  return [...newest].flatMap(([threadId, createdAt]) => (createdAt < before ? threadId : []));
}

/**
 * Divides the doomed heaps into those to delete, and those whose state a heap that stays needs. `heaps`: all heaps of
 * the store.
 */
export function sparedHeaps<Heap extends HeapLink>(
  heaps: readonly Heap[],
  doomed: ReadonlySet<Heap>,
): { deleted: readonly Heap[]; spared: readonly Heap[] } {
  const byKey = new Map(heaps.map((heap) => [heapKey(heap.principal, heap.heapId), heap]));
  const needed = new Set<Heap>();
  for (const heap of heaps) {
    if (doomed.has(heap)) continue;
    let base: Heap | undefined = heap;
    while (base?.isDelta && base.parentId !== undefined) {
      base = byKey.get(heapKey(base.principal, base.parentId));
      if (base === undefined || needed.has(base)) break;
      needed.add(base);
    }
  }
  return {
    deleted: [...doomed].filter((heap) => !needed.has(heap)),
    spared: [...doomed].filter((heap) => needed.has(heap)),
  };
}

/** Identifies a heap among the heaps of all principals. */
export function heapKey(principal: string, heapId: string): string {
  return `${heapId} ${principal}`;
}
