/**
 * Where scripts that wait, or were cut off, are kept. Three ports, because they may live in different places:
 * a database for claims and journals, an object store for images. `testing` holds the suite that every
 * implementation must pass. A script id has 1 to 128 letters, digits, `_` and `-`; for another one, and for a name of
 * an image that is no SHA-256, every function throws or rejects with a `ToolscriptUsageError`.
 */
export interface HarnessStore {
  readonly claim: ClaimStore;
  readonly journal: JournalStore;
  readonly images: ImageStore;
}

/**
 * Who may go on with a script. Every take raises the script's epoch by one, and only one taker wins an epoch;
 * what an older epoch still wants to write is refused from then on.
 */
export interface ClaimStore {
  /** Undefined where nobody ever took the script. */
  current(scriptId: string): Promise<Claim | undefined>;
  /**
   * Takes the script over from `fromEpoch` (0: from nobody). In one step the epoch becomes `fromEpoch + 1`, the lines
   * of `options` are appended to the journal, and the journal as it was before them is read: nothing that an older
   * epoch writes later counts. Exactly one of several takers wins, between processes too. Undefined where `fromEpoch`
   * is not the current epoch any more, or where somebody holds the claim and `force` is not set. Where it rejects, the
   * claim is not held; its epoch may have risen.
   */
  take(scriptId: string, fromEpoch: number, options: TakeOptions): Promise<Taken | undefined>;
  /** The holder lives: its lease begins anew. False where the epoch is not the current one: the holder must stop. */
  renew(scriptId: string, epoch: number): Promise<boolean>;
  /** The holder is done, or waits for people. Nothing happens where the epoch is not the current one. */
  release(scriptId: string, epoch: number): Promise<void>;
}

export interface TakeOptions {
  /** Who takes it, for people to read. */
  readonly owner: string;
  /** For how long the claim is held without a `renew`, in ms. */
  readonly leaseMs: number;
  /** Takes the script from a holder who may still live: whatever that one has begun may take effect. Default false. */
  readonly force?: boolean;
  /** Default: none. */
  readonly lines?: readonly string[];
  /** From here on. Default: what it was. */
  readonly status?: ScriptStatus;
}

export interface Taken extends JournalContent {
  readonly epoch: number;
}

export interface Claim {
  readonly epoch: number;
  /** Somebody goes on with the script now. False after `release`, and when the lease has ended or the holder is known to be dead. */
  readonly isHeld: boolean;
  /** Empty where it is not known. */
  readonly owner: string;
  /** When the lease ends if it is not renewed, in ms since 1970. */
  readonly expiresAtMs: number;
}

/** The journal of each script: lines of text in the order in which they were written, a slot, and a status. */
export interface JournalStore {
  /**
   * Appends all lines, with the slot and the status, or nothing; in the order of the calls, also where they are not
   * awaited. When it is done they survive the death of this process; with `flush`, a power cut too. Lines are
   * well-formed text without line feeds; others are a `ToolscriptUsageError`. Throws or rejects with a
   * `StaleEpochError` where the epoch is not the script's current one (a later one has been taken, or the script was
   * deleted), also where that happened while it was writing; and with a `JournalFullError` where the script's journal
   * and slot would become too large.
   */
  append(scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions): void | Promise<void>;
  /** What is kept of the script; undefined where there is nothing. */
  read(scriptId: string): Promise<JournalContent | undefined>;
  /** What is kept, oldest change first; also scripts that were claimed and never wrote. */
  list(query?: ListQuery): Promise<ScriptPage>;
  /** Idempotent. The script's claim is forgotten with it. */
  delete(scriptId: string): Promise<void>;
}

export interface AppendOptions {
  /** Default false. */
  readonly flush?: boolean;
  /** Text that takes the place of the script's slot; null empties it. Default: the slot stays. */
  readonly slot?: string | null;
  /** Default: the status stays. */
  readonly status?: ScriptStatus;
}

export interface JournalContent {
  /** Every line in order, without an append that was cut off. Of a damaged journal, what can still be read. */
  readonly lines: readonly string[];
  /** Undefined where it is empty, or cannot be read any more. */
  readonly slot: string | undefined;
  /** Something that was appended is not there any more, or not as it was. */
  readonly damage: JournalDamage | undefined;
}

export interface JournalDamage {
  /** What is missing. */
  readonly message: string;
  /** The machine has stopped since, and all that is missing had been appended without `flush`. */
  readonly isUnflushedTail: boolean;
}

/** What a list tells of a script, as whoever held it last has written it. */
export interface ScriptStatus {
  readonly state: 'running' | 'suspended' | 'ended';
  readonly threadId?: string;
  readonly principal?: string;
  /** What it waits for, where it is suspended. */
  readonly approvals?: readonly WaitingApproval[];
  /** Images that it needs. */
  readonly images?: readonly string[];
  /** How it ended, where it has. */
  readonly ended?: { readonly status: 'completed' | 'failed'; readonly code?: string; readonly message?: string };
}

/** What a list shows of an approval that is waited for. */
export interface WaitingApproval {
  readonly approvalId: string;
  readonly tool: string;
  readonly line?: number;
  /** Where somebody has decided already, and nobody has gone on since. */
  readonly decided?: 'approve' | 'deny';
  /** When it can no longer be approved, in ms since 1970. */
  readonly expiresAtMs?: number;
}

/** `running`: somebody holds it. `interrupted`: its holder is gone. `damaged`: what is kept of it cannot be read. */
export type StoredState = 'running' | 'interrupted' | 'suspended' | 'ended' | 'damaged';

/** All conditions hold together. */
export interface ListQuery {
  readonly state?: StoredState;
  readonly principal?: string;
  readonly threadId?: string;
  /** `next` of the page before. */
  readonly after?: string;
  /** The most scripts of a page. Default: all. */
  readonly limit?: number;
}

export interface ScriptPage {
  readonly scripts: readonly ListedScript[];
  /** There may be more: `after` of the next page. */
  readonly next?: string;
}

export interface ListedScript extends Omit<ScriptStatus, 'state'> {
  readonly scriptId: string;
  readonly state: StoredState;
  /** In ms since 1970. */
  readonly updatedAtMs: number;
  /** Of the journal. */
  readonly bytes: number;
}

/** Engines and memory images, each named by the SHA-256 (hex) of its bytes. */
export interface ImageStore {
  has(sha256: string): Promise<boolean>;
  /** Idempotent. Rejects where the bytes do not have that hash. */
  put(sha256: string, bytes: Uint8Array): Promise<void>;
  /** Undefined where it is not kept, or no longer has its hash. */
  get(sha256: string): Promise<Uint8Array | undefined>;
  list(): Promise<readonly string[]>;
  /** Idempotent. */
  delete(sha256: string): Promise<void>;
}

/** Somebody else has gone on with the script; whoever sees this must stop. */
export class StaleEpochError extends Error {
  override readonly name = 'StaleEpochError';
}

/** The script's journal has reached the most bytes that the store keeps of one script. */
export class JournalFullError extends Error {
  override readonly name = 'JournalFullError';
}

export function isScriptId(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/u.test(name);
}
