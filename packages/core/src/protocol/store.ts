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
   * Takes the script over from `fromEpoch` (0: from nobody). False where that is not the current epoch any more.
   * Exactly one of several takers wins, between processes too.
   */
  take(scriptId: string, fromEpoch: number): Promise<boolean>;
  /** The holder is done, or waits for people. Nothing happens where the epoch is not the current one. */
  release(scriptId: string, epoch: number): Promise<void>;
}

export interface Claim {
  readonly epoch: number;
  /** A living process goes on with the script now. False after `release`, and after the holder's death. */
  readonly isHeld: boolean;
}

/** The journal of each script: lines of text in the order in which they were written. */
export interface JournalStore {
  /**
   * Appends all lines or none; in the order of the calls, also where they are not awaited. When it is done they
   * survive the death of this process; with `flush`, a power cut too. Lines are well-formed text without line
   * feeds; others are a `ToolscriptUsageError`. Throws or rejects with a `StaleEpochError` where the epoch is not the script's current one (a later one
   * has been taken, or the script was deleted), and with a `JournalFullError` where the script's journal would
   * become too large.
   */
  append(scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions): void | Promise<void>;
  /** Every line in order, without an append that was cut off; undefined where there is none. */
  read(scriptId: string): Promise<readonly string[] | undefined>;
  /** What is kept, oldest change first; also scripts that were claimed and never wrote. */
  list(): Promise<readonly JournalSummary[]>;
  /** Idempotent. The script's claim is forgotten with it. */
  delete(scriptId: string): Promise<void>;
}

export interface AppendOptions {
  /** Default false. */
  readonly flush?: boolean;
}

export interface JournalSummary {
  readonly scriptId: string;
  /** In ms since 1970. */
  readonly updatedAtMs: number;
  readonly bytes: number;
  /** The last whole line; empty where there is none. */
  readonly lastLine: string;
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
