import { createHash } from 'node:crypto';
import { withFileLock } from '../durable-files/file-lock.js';
import {
  files,
  folderNames,
  readStart,
  readWhole,
  removeFile,
  statFile,
  syncFolder,
  type PrivateFolder,
} from '../durable-files/private-folder.js';
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
  heapNotFound,
  isCollectable,
  oldThreads,
  sparedHeaps,
} from './heap-rules.js';

/**
 * Stores heaps in files. All heaps of a principal are in one folder, and a lock orders its writers:
 *
 *     heaps/<hash of the principal>/states/<heap>    a line of JSON without the state, then the bytes of the state
 *     heaps/<hash of the principal>/threads/<thread> the ids of the thread's heaps, one a line, in order
 *     heaps/<hash of the principal>/bytes            the size of all heaps; at most too large, after a crash
 *
 * The line in the file of the thread commits a heap of a thread. A heap whose line is missing is the remainder of a
 * crash, and is written again.
 */
export class FileHeaps implements HeapStore {
  readonly #folder: PrivateFolder;

  constructor(
    folder: PrivateFolder,
    readonly limits: Partial<HeapLimits> = {},
    readonly now: () => number = Date.now,
  ) {
    this.#folder = folder;
  }

  async add(draft: HeapDraft): Promise<'added' | 'overtaken'> {
    checkHeapDraft(draft);
    const owned = this.#of(draft.principal);
    return owned.locked(() => this.#addLocked(owned, { ...draft, state: draft.state.slice() }));
  }

  async read(principal: string, heapId: string): Promise<readonly StoredHeap[]> {
    checkHeapId(heapId);
    const owned = this.#of(principal);
    const chain: StoredHeap[] = [];
    let heap = await owned.read(heapId);
    while (heap !== undefined) {
      chain.unshift(heap);
      if (!heap.isDelta || heap.parentId === undefined) break;
      heap = await owned.read(heap.parentId);
    }
    return chain;
  }

  async newest(principal: string, threadId: string): Promise<HeapInfo | undefined> {
    checkHeapId(threadId, 'threadId');
    const owned = this.#of(principal);
    const heapId = (await owned.thread(threadId)).at(-1);
    return heapId === undefined ? undefined : owned.info(heapId);
  }

  async oldThreads(query: OldThreads): Promise<readonly string[]> {
    const infos: HeapInfo[] = [];
    for (const owned of await this.#all()) infos.push(...(await owned.infos()));
    return oldThreads(infos, query);
  }

  async images(): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const owned of await this.#all())
      for (const { images } of await owned.infos()) for (const image of images) names.add(image);
    return [...names];
  }

  async deleteThread(threadId: string, { principal }: OwnerFilter = {}): Promise<void> {
    checkHeapId(threadId, 'threadId');
    for (const owned of principal === undefined ? await this.#all() : [this.#of(principal)]) {
      if (!(await owned.hasThread(threadId))) continue;
      await owned.locked(async () => {
        const heaps = await owned.infos();
        const { deleted, spared } = sparedHeaps(heaps, new Set(heaps.filter((heap) => heap.threadId === threadId)));
        for (const { heapId } of spared) await owned.assign(heapId, undefined);
        await owned.delete(deleted);
        await owned.deleteThread(threadId);
      });
    }
  }

  async inherit(inheritance: HeapInheritance): Promise<void> {
    checkHeapInheritance(inheritance);
    const { principal, from, to, heapIds } = inheritance;
    const owned = this.#of(principal);
    if (!(await owned.hasThread(from))) return;
    await owned.locked(async () => {
      const original = await owned.thread(from);
      const inherited = original.filter((heapId) => heapIds.includes(heapId));
      // After a crash between the writes, a heap is in both threads, and belongs to the branch or will.
      const others = (await owned.thread(to)).filter((heapId) => !inherited.includes(heapId));
      await owned.saveThread(to, [...inherited, ...others]);
      for (const heapId of inherited) await owned.assign(heapId, to);
      await owned.saveThread(
        from,
        original.filter((heapId) => !inherited.includes(heapId)),
      );
    });
  }

  async collect(collection: HeapCollection): Promise<number> {
    let count = 0;
    const { principal } = collection;
    for (const owned of principal === undefined ? await this.#all() : [this.#of(principal)])
      count += await owned.locked(async () => {
        const heaps = await owned.infos();
        const { threadId } = collection;
        const newest = threadId === undefined ? undefined : (await owned.thread(threadId)).at(-1);
        const isDoomed = (heap: HeapInfo) => heap.heapId !== newest && isCollectable(heap, collection);
        const { deleted } = sparedHeaps(heaps, new Set(heaps.filter(isDoomed)));
        return owned.delete(deleted);
      });
    return count;
  }

  async #addLocked(owned: OwnedHeaps, draft: HeapDraft): Promise<'added' | 'overtaken'> {
    const { heapId, parentId, threadId, isDelta = false, images = [] } = draft;
    const thread = threadId === undefined ? [] : await owned.thread(threadId);
    const isCommitted = threadId === undefined || thread.includes(heapId);
    if (isCommitted && (await owned.has(heapId))) return 'added';
    if (thread.length > 0 && thread.at(-1) !== parentId) return 'overtaken';
    if (parentId !== undefined && !(await owned.has(parentId))) throw heapNotFound(parentId);
    const bytes = heapBytes(draft);
    const stored = await owned.bytes();
    checkHeapBytes(bytes, stored, this.limits);
    await owned.saveBytes(stored + bytes);
    await owned.write({ ...draft, isDelta, images, bytes, createdAt: this.now() });
    if (threadId !== undefined) await owned.saveThread(threadId, [...thread, heapId]);
    return 'added';
  }

  #of(principal: string): OwnedHeaps {
    return new OwnedHeaps(this.#folder, createHash('sha256').update(JSON.stringify(principal)).digest('hex'));
  }

  async #all(): Promise<readonly OwnedHeaps[]> {
    const names = await folderNames(this.#folder.path('heaps'));
    return names.filter((name) => /^[0-9a-f]{64}$/u.test(name)).map((name) => new OwnedHeaps(this.#folder, name));
  }
}

/** Bytes that contain the first line of almost every heap. */
const FIRST_BYTES = 16_384;

/** The files of one principal's heaps. */
class OwnedHeaps {
  constructor(
    readonly folder: PrivateFolder,
    readonly name: string,
  ) {}

  locked<Result>(act: () => Promise<Result>): Promise<Result> {
    return withFileLock(this.#path(), act);
  }

  async has(heapId: string): Promise<boolean> {
    return (await statFile(this.#path('states', heapId))) !== undefined;
  }

  async hasThread(threadId: string): Promise<boolean> {
    return (await statFile(this.#path('threads', threadId))) !== undefined;
  }

  async read(heapId: string): Promise<StoredHeap | undefined> {
    const found = await readWhole(this.#path('states', heapId));
    if (found === undefined) return undefined;
    const end = found.bytes.indexOf('\n');
    return { ...(JSON.parse(found.bytes.toString('utf8', 0, end)) as HeapInfo), state: found.bytes.subarray(end + 1) };
  }

  async info(heapId: string): Promise<HeapInfo | undefined> {
    const bytes = await readStart(this.#path('states', heapId), FIRST_BYTES);
    const end = bytes?.indexOf('\n') ?? -1;
    if (bytes !== undefined && end >= 0) return JSON.parse(bytes.toString('utf8', 0, end)) as HeapInfo;
    const heap = await this.read(heapId);
    if (heap === undefined) return undefined;
    const { state: _state, ...info } = heap;
    return info;
  }

  async infos(): Promise<readonly HeapInfo[]> {
    const all: HeapInfo[] = [];
    for (const heapId of await folderNames(this.#path('states'))) {
      const info = await this.info(heapId);
      if (info !== undefined) all.push(info);
    }
    return all;
  }

  async write({ state, ...info }: StoredHeap): Promise<void> {
    await this.#replace('states', info.heapId, Buffer.concat([Buffer.from(`${JSON.stringify(info)}\n`), state]));
  }

  /** Moves the heap to another thread, or to none. */
  async assign(heapId: string, threadId: string | undefined): Promise<void> {
    const heap = await this.read(heapId);
    if (heap !== undefined) await this.write({ ...heap, threadId });
  }

  /** Returns the number of the deleted heaps. */
  async delete(heaps: readonly HeapInfo[]): Promise<number> {
    for (const { heapId } of heaps) await removeFile(this.#path('states', heapId));
    const infos = await this.infos();
    await this.saveBytes(infos.reduce((sum, { bytes }) => sum + bytes, 0));
    return heaps.length;
  }

  /** The ids of the thread's heaps, in order. */
  async thread(threadId: string): Promise<readonly string[]> {
    const found = await readWhole(this.#path('threads', threadId));
    return found === undefined ? [] : found.bytes.toString('utf8').split('\n').filter(Boolean);
  }

  async saveThread(threadId: string, heapIds: readonly string[]): Promise<void> {
    await this.#replace('threads', threadId, heapIds.join('\n'));
  }

  async deleteThread(threadId: string): Promise<void> {
    await removeFile(this.#path('threads', threadId));
  }

  async bytes(): Promise<number> {
    const found = await readWhole(this.#path('bytes'));
    return found === undefined ? 0 : Number(found.bytes.toString('utf8'));
  }

  async saveBytes(bytes: number): Promise<void> {
    const partial = await this.folder.createPartial(`${bytes}`);
    await this.folder.within(['heaps', this.name], () => files.rename(partial, this.#path('bytes')));
  }

  async #replace(kind: 'states' | 'threads', name: string, content: string | Uint8Array): Promise<void> {
    const partial = await this.folder.createPartial(content, true);
    await this.folder.within(['heaps', this.name, kind], () => files.rename(partial, this.#path(kind, name)));
    await syncFolder(this.#path(kind));
  }

  #path(...names: string[]): string {
    return this.folder.path('heaps', this.name, ...names);
  }
}
