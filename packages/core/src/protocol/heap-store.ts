import type { OwnerFilter } from './store-shapes.js';

/**
 * A heap is the memory of a program between two of its scripts: an immutable value, made by the end of one script. The
 * store does not read the contents of a heap.
 */
export interface HeapDraft {
  /** 1 to 128 letters, digits, `_` and `-`. Unique among the heaps of the principal. */
  readonly heapId: string;
  /** The heap from which the script started. Default: the script started a new program. */
  readonly parentId?: string | undefined;
  /** Whether `state` contains only the difference to the state of the parent. Default false. */
  readonly isDelta?: boolean | undefined;
  /** The owner. Empty: scripts without a principal. */
  readonly principal: string;
  /** The conversation to whose program the heap belongs. Default: the heap belongs to no conversation. */
  readonly threadId?: string | undefined;
  /** A description of the state as JSON: its engine and the names in scope. */
  readonly head: string;
  /** The names of the images in the `ImageStore` that the state needs. Default: none. */
  readonly images?: readonly string[] | undefined;
  readonly state: Uint8Array;
}

/** A stored heap without its state. */
export interface HeapInfo extends Omit<HeapDraft, 'state' | 'isDelta' | 'images'> {
  readonly isDelta: boolean;
  readonly images: readonly string[];
  /** UTF-8 bytes of `head`, and bytes of the state. */
  readonly bytes: number;
  /** The time at which the heap was added, in ms since 1970. */
  readonly createdAt: number;
}

/** A stored heap with its state. */
export interface StoredHeap extends HeapInfo {
  readonly state: Uint8Array;
}

/** The limits for the heaps of one principal. */
export interface HeapLimits {
  /** Bytes of one heap. */
  readonly bytes: number;
  /** Bytes of all heaps of one principal. */
  readonly totalBytes: number;
}

/** The default limits of a store of heaps. */
export const HEAP_LIMITS: HeapLimits = { bytes: 100_000_000, totalBytes: 500_000_000 };

/** The heaps that `HeapStore.collect` may delete. */
export interface HeapCollection {
  /** Only heaps of this conversation. Default: only heaps that belong to no conversation. */
  readonly threadId?: string | undefined;
  /** Only heaps of this principal. Default: heaps of all principals. */
  readonly principal?: string | undefined;
  /** The ids of heaps that stay, because an item names them. Default: none. */
  readonly named?: readonly string[] | undefined;
  /** Only heaps that were added before this time, in ms since 1970. */
  readonly before: number;
}

/**
 * The thread ids of programs that belong to no conversation, and that end with the process that made them, begin with
 * this text: those of the sessions of an MCP gateway.
 */
export const PASSING_THREADS = 'mcp_';

/** The conversations that `HeapStore.oldThreads` returns. */
export interface OldThreads {
  /** The beginning of their ids. */
  readonly prefix: string;
  /** Their newest heaps were added before this time, in ms since 1970. */
  readonly before: number;
}

/** The heaps that `HeapStore.inherit` gives to another conversation of the same principal. */
export interface HeapInheritance {
  readonly principal: string;
  readonly from: string;
  readonly to: string;
  readonly heapIds: readonly string[];
}

/**
 * Stores the heaps of programs. No function reads, changes or reveals a heap of another principal. A thread id of one
 * principal does not name the thread of another. For a malformed id, every function rejects with a
 * `ToolscriptUsageError`.
 */
export interface HeapStore {
  /**
   * Adds a heap by compare-and-set. In a conversation that has heaps, the parent must be the newest one; otherwise the
   * result is `overtaken`, and nothing is stored. Exactly one of several writers wins, across processes too. Repeating
   * the call with the same id changes nothing and returns `added`. Rejects with a `NotFoundError` if the principal has
   * no heap with the id of the parent, and with a `StorageLimitError` if a limit is exceeded.
   */
  add(draft: HeapDraft): Promise<'added' | 'overtaken'>;
  /**
   * Reads a heap and the heaps of which its state is a delta: the one with the whole state first, the heap itself last.
   * Returns an empty list if the principal has no such heap.
   */
  read(principal: string, heapId: string): Promise<readonly StoredHeap[]>;
  /** The newest heap of the principal's conversation; undefined if it has none. */
  newest(principal: string, threadId: string): Promise<HeapInfo | undefined>;
  /** The ids of the conversations of all principals without new heaps, in any order. */
  oldThreads(query: OldThreads): Promise<readonly string[]>;
  /** The names of all images that heaps need. */
  images(): Promise<readonly string[]>;
  /**
   * Deletes the heaps of a conversation. A heap whose state another conversation needs, because it is a branch, stays
   * until `collect`, but no longer belongs to the conversation. Without `owner.principal`, deletes the heaps of all
   * principals that use this thread id. A repeated call does nothing.
   */
  deleteThread(threadId: string, owner?: OwnerFilter): Promise<void>;
  /**
   * Gives heaps of the conversation `from` to the conversation `to`, a branch of it that names them, so that they stay
   * when the original is deleted. They precede the heaps that `to` already has. Other ids are ignored.
   */
  inherit(inheritance: HeapInheritance): Promise<void>;
  /**
   * Deletes heaps that nothing needs, and returns their number. The newest heap of a conversation and the heaps of which
   * the state of a heap that stays is a delta are never deleted.
   */
  collect(collection: HeapCollection): Promise<number>;
}
