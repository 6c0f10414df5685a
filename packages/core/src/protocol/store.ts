import type { ApprovalRequest } from './approvals.js';
import type { HeapStore } from './heap-store.js';
import type { RunFence } from './store-shapes.js';

/**
 * Stores suspended and interrupted scripts, and the heaps of programs. The ports may use different backends: a database for claims and
 * journals, an object store for images. `testing` contains the suite that every implementation must pass. A script id
 * has 1 to 128 letters, digits, `_` and `-`. For any other id, and for an image name that is not a SHA-256, every
 * function throws or rejects with a `ToolscriptUsageError`.
 */
export interface HarnessStore {
  readonly claim: ClaimStore;
  readonly journal: JournalStore;
  readonly images: ImageStore;
  /** Default: no script over this store can share its variables with a later one. */
  readonly heaps?: HeapStore | undefined;
  /** True: every write to the journal survives a power failure, even without `flush`. Default false. */
  readonly isFlushed?: boolean | undefined;
  /** True: the store also has the runs, and checks the `fence` of an append. Default false. */
  readonly hasRuns?: boolean | undefined;
  /**
   * Writes one small value, over the earlier one. Rejects if the store cannot be written. Default: a server takes it that
   * the store can be written.
   */
  readonly probe?: (() => Promise<void>) | undefined;
}

/**
 * Decides which process may continue a script. Every claim (`take`) increments the script's epoch, and only one process
 * wins an epoch. From then on, writes of older epochs are rejected.
 */
export interface ClaimStore {
  /** The current claim; undefined if the script was never claimed, or was deleted. */
  current(scriptId: string): Promise<Claim | undefined>;
  /**
   * Claims the script at `fromEpoch` (0: never claimed). In one step the epoch becomes `fromEpoch + 1`, the lines of
   * `options` are appended to the journal, and all earlier lines are read: later writes of older epochs do not count.
   * Exactly one of several callers wins, across processes too. Returns undefined if `fromEpoch` is no longer the
   * current epoch, or if the claim is held and `force` is not set. If the call rejects, the claim is not held, but its
   * epoch may have increased.
   */
  take(scriptId: string, fromEpoch: number, options: TakeOptions): Promise<ClaimedJournal | undefined>;
  /** Renews the lease of a live holder. Returns false if the epoch is not the current one: the holder must stop. */
  renew(scriptId: string, epoch: number): Promise<boolean>;
  /**
   * Releases the claim, because the holder has finished or suspended the script. Does nothing if the epoch is not the
   * current one.
   */
  release(scriptId: string, epoch: number): Promise<void>;
}

/** Options of `ClaimStore.take`. */
export interface TakeOptions {
  /** The name of the process, for users to read. */
  readonly owner: string;
  /** The time that the claim is held without a `renew`, in ms. */
  readonly leaseMs: number;
  /**
   * Claims the script even if its holder may be alive: calls that the holder has started may take effect. Default
   * false.
   */
  readonly force?: boolean | undefined;
  /** Lines to append to the journal. Default: none. */
  readonly lines?: readonly string[] | undefined;
  /** The new status. Default: the status stays. */
  readonly status?: ScriptStatus | undefined;
}

/** A script that was claimed, with the journal as it was at the moment of the claim. */
export interface ClaimedJournal extends JournalContent {
  readonly epoch: number;
}

/** The right of one process to run a script. */
export interface Claim {
  readonly epoch: number;
  /**
   * Whether a process runs the script now. False after `release`, after the lease has expired, or if the holder is
   * known to be dead.
   */
  readonly isHeld: boolean;
  /** The name of the holder; empty if unknown. */
  readonly owner: string;
  /** The time at which the lease expires unless it is renewed, in ms since 1970. */
  readonly expiresAtMs: number;
}

/** Stores the journal of each script: lines of text in write order, a slot for one text, and a status. */
export interface JournalStore {
  /**
   * Appends all lines and replaces the slot and the status, or does nothing. Appends keep the order of the calls, even
   * if the calls are not awaited. After `append` returns or resolves, the data survives the death of this process, and
   * with `flush` also a power failure. Each line must be well-formed text without line feeds; any other line causes a
   * `ToolscriptUsageError`. Throws or rejects with a `StaleEpochError` if the epoch is not the script's current one
   * (another process claimed the script, or the script was deleted), even if that happened during the write, and with a
   * `JournalFullError` if journal and slot would exceed the maximum size.
   */
  append(scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions): void | Promise<void>;
  /** The stored content; undefined if there is none. */
  read(scriptId: string): Promise<JournalContent | undefined>;
  /**
   * Lists stored scripts, the least recently changed one first, including scripts that were claimed but have no
   * journal.
   */
  list(query?: ListQuery): Promise<ScriptPage>;
  /** Deletes the script and its claim. A repeated call does nothing. */
  delete(scriptId: string): Promise<void>;
}

/** Options of `JournalStore.append`. */
export interface AppendOptions {
  /** Whether the data must survive a power failure. Default false. */
  readonly flush?: boolean | undefined;
  /** Text that replaces the script's slot; null empties it. Default: the slot stays. */
  readonly slot?: string | null | undefined;
  /** Default: the status stays. */
  readonly status?: ScriptStatus | undefined;
  /**
   * The claim of the script's run. A store that also has the runs rejects the append with a `StaleEpochError` if the run
   * was claimed again. Other stores ignore the claim. Default: no claim.
   */
  readonly fence?: RunFence | undefined;
}

/** The stored journal of a script. */
export interface JournalContent {
  /** Every line in order, without truncated appends; in a damaged journal, only the readable lines. */
  readonly lines: readonly string[];
  /** The text of the slot; undefined if it is empty or unreadable. */
  readonly slot: string | undefined;
  /** The damage, if appended data is missing or was changed. */
  readonly damage: JournalDamage | undefined;
}

/** The reason why a journal cannot be trusted. */
export interface JournalDamage {
  /** Describes the missing data. */
  readonly message: string;
  /** True if the machine has rebooted since the last append, and all missing data was appended without `flush`. */
  readonly isUnflushedTail: boolean;
  /** The id of the suspension key that has authenticated the rest of the journal, if the harness lacks the key. */
  readonly foreignKey?: string | undefined;
}

/** A script's status in a list, as its last holder wrote it. */
export interface ScriptStatus {
  readonly state: 'running' | 'suspended' | 'ended';
  readonly threadId?: string | undefined;
  /**
   * The run that makes the script; for a script of a sub-agent, the run that began the chain of sub-agents. Stored with
   * the script's first call with effects, so that a recovery finds the script even if the run's events were lost.
   */
  readonly runId?: string | undefined;
  readonly principal?: string | undefined;
  /** The pending approvals of a suspended script. */
  readonly approvals?: readonly WaitingApproval[] | undefined;
  /** The names of the images that the script needs. */
  readonly images?: readonly string[] | undefined;
  /** The end of the script; absent if it has not ended. */
  readonly ended?:
    | {
        readonly status: 'completed' | 'failed';
        readonly code?: string | undefined;
        readonly message?: string | undefined;
      }
    | undefined;
}

/** The list entry of a pending approval. */
export interface WaitingApproval extends Pick<ApprovalRequest, 'approvalId' | 'tool' | 'line'> {
  /** The decision, if a user has made one and the script has not been resumed since that decision. */
  readonly decided?: 'approve' | 'deny' | undefined;
}

/** `running`: a process holds the script. `interrupted`: its holder is gone. `damaged`: its data is unreadable. */
export type StoredState = 'running' | 'interrupted' | 'suspended' | 'ended' | 'damaged';

/** The conditions of a list. A script must meet all of them. */
export interface ListQuery {
  readonly state?: StoredState | undefined;
  readonly principal?: string | undefined;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  /** Maximum number of scripts on a page. Default: all. */
  readonly limit?: number | undefined;
}

/** A page of stored scripts. */
export interface ScriptPage {
  readonly scripts: readonly ListedScript[];
  /** The `after` of the next page; present if there may be more entries. */
  readonly next?: string | undefined;
}

/** A stored script, as `JournalStore.list` returns it. */
export interface ListedScript extends Omit<ScriptStatus, 'state'> {
  readonly scriptId: string;
  readonly state: StoredState;
  /** The time of the last change, in ms since 1970. */
  readonly updatedAtMs: number;
  /** The size of the journal in bytes. */
  readonly bytes: number;
}

/** Stores engines and memory images, each named by the SHA-256 (hex) of its bytes. */
export interface ImageStore {
  has(sha256: string): Promise<boolean>;
  /** Stores the image; a second call with the same image does nothing. Rejects if the bytes do not match the hash. */
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  /** The bytes of the image; undefined if it is missing or no longer matches its hash. */
  get(sha256: string): Promise<Uint8Array | undefined>;
  list(): Promise<readonly string[]>;
  /** Deletes the image, if it exists. */
  delete(sha256: string): Promise<void>;
}

/**
 * The writer has lost its claim, for example because another process has claimed the script or run. The writer must
 * stop.
 */
export class StaleEpochError extends Error {
  override readonly name = 'StaleEpochError';
}

/** The script's journal has reached the maximum size that the store allows for one script. */
export class JournalFullError extends Error {
  override readonly name = 'JournalFullError';
}

export function isScriptId(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/u.test(name);
}
