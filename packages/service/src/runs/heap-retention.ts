import type { HeapStore, ItemPage, ThreadPage, TurnItems } from '@toolscript/core/ports';
import type { ServiceStores, Thread } from '@toolscript/core/protocol';
import { scriptPrincipal } from '../principals.js';
import { allPageItems } from './run-history.js';

interface HeapParts {
  readonly stores: Pick<ServiceStores, 'threads'>;
  readonly heaps: HeapStore;
}

/** The time after which a heap that no item names is deleted, in ms. */
const UNNAMED_MS = 30 * 86_400_000;

/**
 * Gives the heaps of a thread to the branches that name them, before the thread is deleted: a branch begins with the
 * items of its original, and its next script starts from the heap of its last item.
 */
export async function leaveHeaps({ stores, heaps }: HeapParts, threadId: string): Promise<void> {
  const thread = await stores.threads.get(threadId);
  const owner = thread && heapOwner(thread);
  if (thread === undefined || (await heaps.newest(owner!, threadId)) === undefined) return;
  for await (const branch of allThreads(stores, { principal: thread.principal })) {
    if (branch.branchOf === undefined || branch.threadId === threadId) continue;
    const heapIds = await namedHeaps(stores, branch.threadId);
    if (heapIds.length > 0) await heaps.inherit({ principal: owner!, from: threadId, to: branch.threadId, heapIds });
  }
}

/**
 * Deletes heaps older than 30 days that no item names, such as those of a run that ended before its items were stored.
 * Looks at the threads that have changed in the last `changedMs`: no other thread can have new ones. Stops when
 * `isStopped` returns true.
 */
export async function collectHeaps(
  { stores, heaps }: HeapParts,
  { changedMs, nowMs = Date.now(), isStopped = () => false }: CollectHeapsOptions,
): Promise<void> {
  const before = nowMs - UNNAMED_MS;
  for await (const thread of allThreads(stores, {})) {
    if (isStopped() || thread.updatedAt < nowMs - changedMs) return;
    const { threadId } = thread;
    const principal = heapOwner(thread);
    if (thread.createdAt >= before || (await heaps.newest(principal, threadId)) === undefined) continue;
    await heaps.collect({ threadId, principal, named: await namedHeaps(stores, threadId), before });
  }
}

export interface CollectHeapsOptions {
  readonly changedMs: number;
  readonly nowMs?: number | undefined;
  readonly isStopped?: (() => boolean) | undefined;
}

/** The owner of the heaps of a thread's scripts. */
function heapOwner({ principal }: Thread): string {
  return scriptPrincipal(principal) ?? '';
}

/** The ids of the heaps that the items of a thread name. */
async function namedHeaps({ threads }: HeapParts['stores'], threadId: string): Promise<readonly string[]> {
  const turns = await allPageItems<ItemPage, TurnItems>(
    (after) => threads.readItems(threadId, after),
    (page) => page.turns,
  );
  const heaps = turns.flatMap(({ items }) =>
    items.flatMap((item) => (item.type === 'script_execution_output' && item.heap !== undefined ? [item.heap] : [])),
  );
  return [...new Set(heaps)];
}

/** Threads, the most recently changed one first, a page in the memory at a time. */
async function* allThreads(
  { threads }: HeapParts['stores'],
  owner: { readonly principal?: string | undefined },
): AsyncGenerator<Thread> {
  for (let after: string | undefined, isLast = false; !isLast;) {
    const page: ThreadPage = await threads.list({ ...owner, after });
    yield* page.threads;
    after = page.next;
    isLast = after === undefined;
  }
}
